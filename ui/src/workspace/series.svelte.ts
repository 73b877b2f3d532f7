/**
 * The lines of the charts that are in sight. Charts say what they want; questions go out together, the answers come as
 * columns, and while runs go on only what is new of them is asked for.
 */
import { api, Problem, type AskedSeries } from "../api/client";
import type { ColumnTable } from "../api/columns";
import { live } from "../api/live.svelte";
import type { Span } from "../chart/scales";
import { MOST_LINES } from "./crowd";
import type { Band, Look } from "./look";

/** The runs that all charts show. */
export interface Wish {
  runs: string[];
  /** By which most charts draw them; its groups are told. */
  group: string;
  buckets: number;
}

/** What one chart wants: a metric along an axis, or a part of it; each run by itself, or in groups. */
export interface Curve {
  key: string;
  x: string;
  zoom: Span | null;
  group: string;
  band: Band;
}

/** The curves of a chart. */
export function curvesOf({ metrics, x, zoom, group, band }: Look): Curve[] {
  return metrics.map((key) => ({ key, x, zoom, group, band }));
}

/** One line: its buckets as far as charts need them. */
export interface Buckets {
  id: string;
  group?: unknown;
  runs: string[];
  x: Float64Array;
  y: Float64Array;
  low: Float64Array;
  high: Float64Array;
  marks: Uint8Array;
  points: number;
  /** Of a group: how many runs each bucket has. */
  counts?: Uint32Array;
  room?: Room;
}

interface Entry extends Curve {
  lines: Map<string, Buckets>;
  /** With what, but for its runs, the lines were asked for: another frame makes all of them void. */
  frame: string;
  /** The runs that were asked for; of some there is no line. */
  runs: Set<string>;
  users: Set<() => void>;
  problem: Problem | null;
}

/** The smallest way from one place on an axis to the next; along a metric there is none. */
const NEXT: Record<string, number> = { step: 1, time: 1e-6, relative: 1e-6 };
const TICK_MS = 1000;
/** A mean over many runs is made anew from all of them. */
const CROWD_TICK_MS = 10_000;
const FEW_IN_GROUPS = 20;
const LINES_AT_ONCE = 400;
const AT_ONCE = 3;
const MOST_KEPT = 80;

/** A line that is a mean: the value that its runs share. */
export interface Group {
  id: string;
  value: unknown;
  runs: number;
}

export class SeriesFeed {
  error = $state.raw<Problem | null>(null);
  /** Those of all charts, the largest first; empty where lines are runs. */
  groups = $state.raw<Group[]>([]);
  #wish: Wish = { runs: [], group: "", buckets: 300 };
  #group = $state("");
  #reset = 0;
  #wishText = "";
  #entries = new Map<string, Entry>();
  #dirty = new Set<string>();
  #asked = 0;
  #timer = 0;
  #tickedAt = 0;
  #isBusy = false;

  /** By which charts can be drawn in groups. */
  get group(): string {
    return this.#group;
  }

  configure(wish: Wish): void {
    const text = JSON.stringify(wish);
    if (text === this.#wishText) return;
    this.#wish = wish;
    this.#group = wish.group;
    this.#wishText = text;
    for (const entry of this.#entries.values()) this.#leaveOut(entry, new Set(wish.runs));
    this.groups = [];
    this.#askSoon();
  }

  /** A mean is of all of its runs, so that other runs are another frame. */
  #frameOf({ x, zoom, group, band }: Curve): string {
    const { runs, buckets } = this.#wish;
    return JSON.stringify([x, zoom, group, group && band, buckets, group && runs, this.#reset]);
  }

  /** What is not wished for any more is not kept up to date, so it is not kept. */
  #leaveOut(entry: Entry, runs: Set<string>): void {
    if (entry.group) return;
    const gone = [...entry.runs].filter((run) => !runs.has(run));
    for (const run of gone) {
      entry.runs.delete(run);
      entry.lines.delete(run);
    }
    if (gone.length) for (const tell of entry.users) tell();
  }

  /** Want a curve until the returned function is called; `tell` is called when its lines changed. */
  want(curve: Curve, tell: () => void): () => void {
    const name = nameOf(curve);
    let entry = this.#entries.get(name);
    if (!entry) {
      entry = { ...curve, lines: new Map(), frame: "", runs: new Set(), users: new Set(), problem: null };
      this.#entries.set(name, entry);
      this.#forgetSome();
    }
    entry.users.add(tell);
    const known = entry;
    if (known.lines.size) tell();
    this.#askSoon();
    return () => known.users.delete(tell);
  }

  linesOf(curve: Curve): Map<string, Buckets> {
    return this.#entries.get(nameOf(curve))?.lines ?? new Map();
  }

  problemOf(curve: Curve): Problem | null {
    return this.#entries.get(nameOf(curve))?.problem ?? null;
  }

  follow(): () => void {
    const ends = [
      live.on("rows", ({ run }) => this.#note(run)),
      live.on("run", ({ id }) => this.#note(id)),
      live.on("reset", () => this.#startOver()),
    ];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      clearTimeout(this.#asked);
      this.#timer = this.#asked = 0;
    };
  }

  #note(run: string): void {
    if (!this.#wish.runs.includes(run)) return;
    this.#dirty.add(run);
    // The first change is fetched at once, those that follow it together.
    const every = this.#wish.runs.length > (this.#wish.group ? FEW_IN_GROUPS : MOST_LINES) ? CROWD_TICK_MS : TICK_MS;
    this.#timer ||= window.setTimeout(() => void this.#tick(), Math.max(0, this.#tickedAt + every - Date.now()));
  }

  #startOver(): void {
    this.#reset++;
    this.#askSoon();
  }

  #forgetSome(): void {
    for (const [name, entry] of this.#entries) {
      if (this.#entries.size <= MOST_KEPT) return;
      if (!entry.users.size) this.#entries.delete(name);
    }
  }

  #askSoon(): void {
    this.#asked ||= window.setTimeout(() => {
      this.#asked = 0;
      void this.#askForAll();
    }, 15);
  }

  async #askForAll(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      for (;;) {
        const stale = [...this.#entries.values()].filter((each) => each.users.size && this.#missing(each).length);
        if (!stale.length) return;
        // The first answer shall be small: it is the first chart that people see.
        const batches = this.#split(stale, (each) => this.#missing(each).length, LINES_AT_ONCE).slice(0, AT_ONCE);
        await Promise.all(batches.map((batch) => this.#askFor(batch)));
      }
    } catch (error) {
      if (error instanceof Problem) this.error = error;
      else throw error;
    } finally {
      this.#isBusy = false;
    }
  }

  /** Those with one frame together, as long as that is few lines. */
  #split(entries: Entry[], runsOf: (entry: Entry) => number, most: number): Entry[][] {
    const batches: Entry[][] = [];
    const last = new Map<string, Entry[]>();
    for (const entry of entries) {
      const frame = this.#frameOf(entry);
      const batch = last.get(frame);
      if (batch && (batch.length + 1) * Math.max(1, runsOf(entry)) <= most) batch.push(entry);
      else {
        batches.push([entry]);
        last.set(frame, batches.at(-1)!);
      }
    }
    return batches;
  }

  /** More runs than can be told apart are only drawn in groups. */
  #wantedOf(entry: Entry): string[] {
    return entry.group ? this.#wish.runs : this.#wish.runs.slice(0, MOST_LINES);
  }

  /** Runs that are wished for and were not asked for yet. */
  #missing(entry: Entry): string[] {
    const wanted = this.#wantedOf(entry);
    return entry.frame === this.#frameOf(entry) ? wanted.filter((run) => !entry.runs.has(run)) : wanted;
  }

  async #askFor(batch: Entry[]): Promise<void> {
    const frame = this.#frameOf(batch[0]!);
    const runs = [...new Set(batch.flatMap((each) => this.#missing(each)))];
    const [tables, problem] = await this.#answer(batch, runs);
    if (frame !== this.#frameOf(batch[0]!)) return;
    this.error = null;
    for (const entry of batch) {
      entry.problem = problem;
      if (entry.frame !== frame) {
        entry.lines = new Map();
        entry.runs = new Set();
        entry.frame = frame;
      }
      for (const run of runs) entry.runs.add(run);
    }
    this.#put(batch, tables, null);
    for (const entry of batch) for (const tell of entry.users) tell();
  }

  /** A question that can't be answered, as one along an axis that is none, is a problem of its own chart alone. */
  async #answer(batch: Entry[], runs: string[]): Promise<[ColumnTable[], Problem | null]> {
    try {
      return [await api.series(this.#question(batch, runs)), null];
    } catch (error) {
      if (error instanceof Problem && error.status === 400) return [[], error];
      throw error;
    }
  }

  #question(batch: Entry[], runs: string[], from?: number): AskedSeries {
    const { x, zoom, group, band } = batch[0]!;
    const asked: AskedSeries = { runs, keys: batch.map((each) => each.key), x, buckets: this.#wish.buckets };
    const first = from ?? zoom?.low;
    if (first !== undefined) asked.from = first;
    if (zoom) asked.to = zoom.high;
    return group ? { ...asked, group, band } : asked;
  }

  /** What is new, of the runs that have something new. */
  async #tick(): Promise<void> {
    this.#timer = 0;
    if (this.#isBusy) {
      this.#timer = window.setTimeout(() => void this.#tick(), 200);
      return;
    }
    this.#tickedAt = Date.now();
    const changed = new Set(this.#dirty);
    this.#dirty.clear();
    const entries = [...this.#entries.values()].filter((each) => each.users.size && each.frame === this.#frameOf(each));
    for (const entry of this.#entries.values()) if (!entry.users.size) entry.frame = "";
    const asked = (entry: Entry) => (entry.group ? this.#wish.runs : this.#wantedOf(entry).filter((run) => changed.has(run)));
    try {
      const batches = this.#split(entries, (each) => asked(each).length, 4 * LINES_AT_ONCE);
      await Promise.all(batches.map((batch) => this.#tickFor(batch, asked(batch[0]!))));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      for (const run of changed) this.#dirty.add(run);
    }
  }

  async #tickFor(batch: Entry[], runs: string[]): Promise<void> {
    const { x, zoom, group } = batch[0]!;
    const frame = this.#frameOf(batch[0]!);
    const isWhole = group !== "" || zoom !== null || !(x in NEXT);
    const from = isWhole ? null : lastPlace(batch, runs, this.#wish.buckets);
    const tables = await api.series(this.#question(batch, runs, from ?? undefined));
    if (frame !== this.#frameOf(batch[0]!)) return;
    this.#put(batch, tables, from);
    for (const entry of batch) for (const tell of entry.users) tell();
  }

  #put(batch: Entry[], tables: ColumnTable[], from: number | null): void {
    const byKey = new Map(batch.map((each) => [each.key, each]));
    for (const table of tables) {
      const entry = byKey.get(table.about.key);
      if (!entry) continue;
      const found = bucketsOf(table);
      const before = entry.lines.get(found.id);
      const joined = from !== null && before ? join(before, found, from) : found;
      if (joined.x.length) entry.lines.set(found.id, joined);
    }
    if (this.#wish.group && batch[0]!.group === this.#wish.group) this.groups = gathered(this.groups, tables);
  }
}

/** Not every run has every metric: a group is as large as where most of it is. */
function gathered(before: Group[], tables: ColumnTable[]): Group[] {
  const found = new Map(before.map((each) => [each.id, each]));
  for (const { id, group, runs } of tables.map(bucketsOf)) {
    if (runs.length > (found.get(id)?.runs ?? 0)) found.set(id, { id, value: group, runs: runs.length });
  }
  return [...found.values()].sort((one, other) => other.runs - one.runs || one.id.localeCompare(other.id));
}

function nameOf({ key, x, zoom, group, band }: Curve): string {
  return [x, zoom?.low, zoom?.high, group, band, key].join("\n");
}

function bucketsOf({ about, columns }: ColumnTable): Buckets {
  return {
    id: about.runs ? `group ${JSON.stringify(about.group)}` : about.run!,
    group: about.group,
    runs: about.runs ?? [about.run!],
    x: columns.last as Float64Array,
    y: columns.mean as Float64Array,
    low: columns.min as Float64Array,
    high: columns.max as Float64Array,
    marks: columns.marks as Uint8Array,
    points: about.points,
    ...(columns.runs && { counts: columns.runs as Uint32Array }),
  };
}

/**
 * From where to ask for the new part of some lines: behind the last bucket but one, as the last may have grown. Null
 * where all of a line must be asked for again.
 */
function lastPlace(batch: Entry[], runs: string[], buckets: number): number | null {
  let place = Infinity;
  for (const { lines } of batch) {
    for (const run of runs) {
      const line = lines.get(run);
      if (!line) continue;
      if (line.x.length > buckets * 1.5) return null;
      if (line.x.length < 2) return null;
      place = Math.min(place, line.x[line.x.length - 2]!);
    }
  }
  return Number.isFinite(place) ? place + NEXT[batch[0]!.x]! : null;
}

/** Room for the columns of a line that grows: a hundred lines a second shall not be a thousand new arrays. */
type Room = Pick<Buckets, "x" | "y" | "low" | "high" | "marks">;
const GROWTH = 1.5;

function makeRoom(before: Buckets, count: number): Room {
  const floats = (column: Float64Array) => {
    const room = new Float64Array(count);
    room.set(column);
    return room;
  };
  const marks = new Uint8Array(count);
  marks.set(before.marks);
  return { x: floats(before.x), y: floats(before.y), low: floats(before.low), high: floats(before.high), marks };
}

/** The line with its new end. What it had before is overwritten where the new part begins. */
function join(before: Buckets, found: Buckets, from: number): Buckets {
  let kept = before.x.length;
  while (kept > 0 && before.x[kept - 1]! >= from) kept--;
  const count = kept + found.x.length;
  let room = before.room;
  if (!room || room.x.length < count) room = makeRoom(before, Math.ceil(Math.max(count, before.x.length) * GROWTH));
  room.x.set(found.x, kept);
  room.y.set(found.y, kept);
  room.low.set(found.low, kept);
  room.high.set(found.high, kept);
  room.marks.set(found.marks, kept);
  return {
    ...found,
    x: room.x.subarray(0, count),
    y: room.y.subarray(0, count),
    low: room.low.subarray(0, count),
    high: room.high.subarray(0, count),
    marks: room.marks.subarray(0, count),
    points: Math.max(before.points, found.points),
    room,
  };
}

/** The lines of one chart while it is there; null before the first came. To be made where a component is. */
export class CurveLines {
  found = $state.raw<Buckets[][] | null>(null);
  /** Why there are none. */
  problem = $state.raw<Problem | null>(null);

  constructor(feed: () => SeriesFeed, look: () => Look) {
    // As text first: another look that wants the same lines is no reason to ask.
    const text = $derived(JSON.stringify(curvesOf(look())));
    $effect(() => {
      const [from, curves] = [feed(), JSON.parse(text) as Curve[]];
      const tell = () => {
        this.problem = curves.map((curve) => from.problemOf(curve)).find((problem) => problem !== null) ?? null;
        this.found = curves.map((curve) => [...from.linesOf(curve).values()]);
      };
      const ends = curves.map((curve) => from.want(curve, tell));
      return () => {
        for (const end of ends) end();
      };
    });
  }
}
