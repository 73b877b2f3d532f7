/** The lines of one transcript, of which only those near the window are here. Numbers count from 0 and never change. */
import { getJson, part, Problem } from "../api/client";
import type { components } from "../api/schema";
import type { Gap } from "./gaps";

export type LogLine = components["schemas"]["LineJson"];
type Answer = components["schemas"]["ConsoleJson"];

const PAGE = 400;
const MOST_KEPT = 12_000;
const MOST_HITS = 1000;
/** A hit comes with the lines around it, so that it is in sight with one answer. */
const AROUND = 60;

/** The line that `#L120` in an address names, counted from 0. */
export function lineOfHash(hash: string): number | null {
  const found = /^#L(\d+)$/.exec(hash);
  return found ? Number(found[1]) - 1 : null;
}

export interface Hits {
  search: string;
  lines: number[];
  /** There are more behind the last. */
  hasMore: boolean;
}

export class Transcript {
  /** How many lines were printed, those in the gaps too. */
  total = $state(0);
  gaps = $state.raw<Gap[]>([]);
  /** Of a log without lines: how each stream was kept. */
  streams = $state.raw<Record<string, string>>({});
  names = $state.raw<string[]>([]);
  problem = $state.raw<Problem | null>(null);
  isKnown = $state(false);
  /** Grows with every change of the lines: what reads them follows it. */
  version = $state(0);
  #lines = new Map<number, LogLine>();
  #asked = new Set<number>();
  #isFollowing = false;

  constructor(
    readonly run: string,
    readonly name: string,
  ) {}

  /** Learn how long it is, with its end. */
  async open(): Promise<void> {
    await this.#ask({ tail: PAGE });
  }

  /** What came since; the line that was not ended may have grown. */
  async follow(): Promise<void> {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    await this.#ask({ first: Math.max(0, this.total - 1), count: PAGE * 5 });
    this.#isFollowing = false;
  }

  line(number: number): LogLine | undefined {
    void this.version;
    return this.#lines.get(number);
  }

  /** Ask for what is missing of a stretch. */
  want(first: number, last: number): void {
    for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) {
      const start = page * PAGE;
      const until = Math.min(this.total, start + PAGE) - 1;
      const isHere = this.#lines.has(Math.max(first, start)) && this.#lines.has(Math.min(last, until));
      if (isHere || start >= this.total || this.#asked.has(page)) continue;
      this.#asked.add(page);
      void this.#ask({ first: start, count: PAGE }).finally(() => this.#asked.delete(page));
    }
  }

  /** The next line with a text, from a line on; behind the last one the first. Null where there is none. */
  async next(search: string, after: number): Promise<number | null> {
    const found = await this.#get({ search, after, around: AROUND });
    this.#take(found);
    return found.hit ?? null;
  }

  /** All lines with a text, from a line on, as far as they are not too many. */
  async find(search: string, after = 0): Promise<Hits> {
    const found = await this.#get({ search, after, count: MOST_HITS });
    return { search, lines: found.lines.map((line) => line.n), hasMore: found.lines.length === MOST_HITS };
  }

  /** The number of the last line that was printed before a moment, by halving. */
  async findTime(at: number): Promise<number> {
    let low = 0;
    let high = this.total - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const [line] = (await this.#get({ first: middle, count: 1 })).lines;
      // A line that is not ended yet has no time.
      if (line && line.at > 0 && line.at <= at + 0.001) low = line.n;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  #get(query: Record<string, string | number>): Promise<Answer> {
    return getJson<Answer>(`runs/${part(this.run)}/console`, { transcript: this.name, colours: 1, ...query });
  }

  async #ask(query: Record<string, string | number>): Promise<void> {
    try {
      this.#take(await this.#get(query));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.problem = error;
    }
  }

  #take(found: Answer): void {
    for (const line of found.lines) this.#lines.set(line.n, line);
    if (found.lines.length) this.#forgetFarFrom(found.lines[0]!.n);
    this.total = found.total;
    if (JSON.stringify(found.gaps) !== JSON.stringify(this.gaps)) this.gaps = found.gaps ?? [];
    this.streams = found.streams ?? {};
    this.names = found.transcripts;
    this.problem = null;
    this.isKnown = true;
    this.version++;
  }

  #forgetFarFrom(number: number): void {
    if (this.#lines.size <= MOST_KEPT) return;
    for (const each of this.#lines.keys()) {
      if (Math.abs(each - number) > MOST_KEPT / 3) this.#lines.delete(each);
    }
  }
}
