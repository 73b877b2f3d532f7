/** The table of runs: the server sorts, filters and counts; here are only the parts that were looked at. */
import { api, Problem, type AskedTable, type RunBrief } from "../api/client";
import { live } from "../api/live.svelte";

const PART = 100;
const MOST_PARTS = 40;
const REFRESH_MS = 1500;
/** So many runs can be taken together; more make an address too long. */
export const MOST_AT_ONCE = 1000;

export class RunTableModel {
  total = $state<number | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  /** Grows whenever rows changed; read it to be told. */
  version = $state(0);
  /** Stand above all others, whatever the filter says. */
  tops = $state.raw<RunBrief[]>([]);
  #asked: AskedTable = {};
  #wanted: string[] = [];
  #question = "";
  #parts = new Map<number, RunBrief[]>();
  #pending = new Map<number, AbortController>();
  #seen: [number, number] = [0, 0];
  #timer = 0;
  #refreshedAt = 0;

  /** Ask a question; what is shown stays until its answer comes. True where another one was asked before. */
  configure(asked: AskedTable, tops: string[] = []): boolean {
    const question = JSON.stringify([asked, tops]);
    if (question === this.#question) return false;
    const isOther = this.#question !== "";
    this.#question = question;
    this.#asked = { ...asked, without: tops.join(",") };
    this.#wanted = tops;
    this.error = null;
    for (const controller of this.#pending.values()) controller.abort();
    this.#pending.clear();
    this.#seen = [0, 0];
    void this.#load(0, 0, true);
    return isOther;
  }

  row(index: number): RunBrief | undefined {
    void this.version;
    const at = index - this.tops.length;
    return at < 0 ? this.tops[index] : this.#parts.get(Math.floor(at / PART))?.[at % PART];
  }

  /** The first runs of the table, as far as they are known. */
  first(count: number): RunBrief[] {
    void this.version;
    const found: RunBrief[] = [...this.tops];
    for (let part = 0; found.length < count; part++) {
      const rows = this.#parts.get(part);
      if (!rows) break;
      found.push(...rows);
      if (rows.length < PART) break;
    }
    return found.slice(0, count);
  }

  /** The runs from one place of the table to another, both included, wherever they are. */
  async between(first: number, last: number): Promise<RunBrief[]> {
    const known = range(first, last).map((index) => this.row(index));
    if (known.every((run) => run !== undefined)) return known;
    const from = Math.max(first, this.tops.length);
    const asked = { ...this.#asked, offset: from - this.tops.length, limit: Math.min(MOST_AT_ONCE, last - from + 1) };
    return [...this.tops.slice(first), ...(await api.runs(asked)).runs];
  }

  find(id: string): RunBrief | undefined {
    void this.version;
    for (const rows of [this.tops, ...this.#parts.values()]) {
      const found = rows.find((run) => run.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** Make sure that rows are here, from the first to before the last. Nothing is asked before there is a question. */
  look(first: number, last: number): void {
    if (!this.#question) return;
    const from = Math.max(0, first - this.tops.length);
    this.#seen = [Math.floor(from / PART), Math.floor(Math.max(from, last - this.tops.length - 1) / PART)];
    const missing = range(...this.#seen).filter((part) => !this.#parts.has(part) && !this.#pending.has(part));
    if (!missing.length) return;
    // What people have scrolled past is of no interest any more, and the server shall not answer it first.
    for (const [part, controller] of this.#pending) {
      if (part !== 0 && (part < this.#seen[0] || part > this.#seen[1])) controller.abort();
    }
    void this.#load(missing[0]!, missing.at(-1)!);
  }

  /** Follow the live changes until the returned function is called. */
  follow(project: string): () => void {
    const ends = [
      live.on("run", (run) => run.project === project && this.#patch(run)),
      live.on("rows", (rows) => rows.project === project && this.refreshSoon()),
      live.on("removed", () => this.refreshSoon()),
      live.on("reset", () => this.refreshSoon()),
    ];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      this.#timer = 0;
    };
  }

  refreshSoon(): void {
    // A filter that is wrong stays wrong until it is changed.
    if (!this.#question || this.#timer || this.error?.status === 400) return;
    const pause = Math.max(150, this.#refreshedAt + REFRESH_MS - Date.now());
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      void this.refresh();
    }, pause);
  }

  async refresh(): Promise<void> {
    this.#refreshedAt = Date.now();
    const [first, last] = this.#seen;
    for (const part of this.#parts.keys()) if (part !== 0 && (part < first || part > last)) this.#parts.delete(part);
    if (first <= 1) await this.#load(0, last);
    else await Promise.all([this.#load(0), this.#load(first, last)]);
  }

  /** Ask for some parts that follow each other, in one question. */
  async #load(part: number, last = part, isFirst = false): Promise<void> {
    const parts = range(part, last);
    if (parts.some((each) => this.#pending.has(each))) return;
    const controller = new AbortController();
    for (const each of parts) this.#pending.set(each, controller);
    this.isLoading = true;
    const question = this.#question;
    try {
      const asked = api.runs({ ...this.#asked, offset: part * PART, limit: PART * parts.length }, controller.signal);
      const [found, tops] = await Promise.all([asked, part === 0 ? this.#loadTops(controller.signal) : this.tops]);
      if (question !== this.#question) return;
      if (isFirst) this.#parts.clear();
      for (const [at, each] of parts.entries()) {
        this.#parts.delete(each);
        this.#parts.set(each, found.runs.slice(at * PART, (at + 1) * PART));
      }
      while (this.#parts.size > MOST_PARTS) this.#parts.delete([...this.#parts.keys()].find((each) => each !== 0)!);
      this.tops = tops;
      this.total = found.total + tops.length;
      this.error = null;
      this.version++;
    } catch (error) {
      if (!controller.signal.aborted && error instanceof Problem) this.error = error;
    } finally {
      for (const each of parts) if (this.#pending.get(each) === controller) this.#pending.delete(each);
      this.isLoading = this.#pending.size > 0;
    }
  }

  async #loadTops(signal: AbortSignal): Promise<RunBrief[]> {
    if (!this.#wanted.length) return [];
    const { project, columns } = this.#asked;
    const filter = `id in (${this.#wanted.map((id) => JSON.stringify(id)).join(", ")})`;
    const { runs } = await api.runs({ ...(project !== undefined && { project }), ...(columns && { columns }), filter, limit: this.#wanted.length }, signal);
    return this.#wanted.map((id) => runs.find((run) => run.id === id)).filter((run) => run !== undefined);
  }

  #patch(run: RunBrief): void {
    for (const rows of [this.tops, ...this.#parts.values()]) {
      const at = rows.findIndex((each) => each.id === run.id);
      if (at < 0) continue;
      const isSame = rows[at]!.state === run.state;
      rows[at] = { ...run, values: rows[at]!.values };
      this.version++;
      if (isSame) return;
    }
    this.refreshSoon();
  }
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
