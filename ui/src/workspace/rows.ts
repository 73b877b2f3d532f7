/** The rows of the table below those on top: which there are, and what is in each. */
import type { GroupBrief, RunBrief } from "../api/client";

/** How high each is, in px. */
export const ROW = 44;

/** A run at its place of the whole table, or a group of runs. */
export type Item = { run: RunBrief; index: number } | { group: GroupBrief; isOpen: boolean };

export interface Rows {
  readonly count: number;
  /** What is in a row, as far as it is known. */
  item(at: number): Item | undefined;
  /** Make sure that rows are known soon. */
  look(first: number, last: number): void;
}

interface Table {
  row(index: number): RunBrief | undefined;
  look(first: number, last: number): void;
}

/** Runs one after the other. */
export class PlainRows implements Rows {
  constructor(
    readonly table: Table,
    /** Runs that stand above. */
    readonly above: number,
    readonly count: number,
  ) {}

  item(at: number): Item | undefined {
    const run = this.table.row(at + this.above);
    return run && { run, index: at + this.above };
  }

  look(first: number, last: number): void {
    this.table.look(first + this.above, last + this.above);
  }
}

/** Groups, each with its runs below it where it is open. */
export class GroupRows implements Rows {
  readonly count: number;
  readonly #starts: number[] = [];

  constructor(
    readonly groups: GroupBrief[],
    /** The runs of a group that is open. */
    readonly tableOf: (group: GroupBrief) => Table | undefined,
    /** The place of a run in the whole table. */
    readonly placeOf: (id: string) => number,
  ) {
    let at = 0;
    for (const group of groups) {
      this.#starts.push(at);
      at += 1 + (tableOf(group) ? group.runs : 0);
    }
    this.count = at;
  }

  item(at: number): Item | undefined {
    const block = this.#blockOf(at);
    const group = this.groups[block];
    if (!group) return undefined;
    const table = this.tableOf(group);
    const inside = at - this.#starts[block]! - 1;
    if (inside < 0) return { group, isOpen: table !== undefined };
    const run = table?.row(inside);
    return run && { run, index: this.placeOf(run.id) };
  }

  look(first: number, last: number): void {
    for (let block = this.#blockOf(first); block < this.groups.length && this.#starts[block]! < last; block++) {
      const group = this.groups[block]!;
      const from = this.#starts[block]! + 1;
      if (last > from) this.tableOf(group)?.look(Math.max(0, first - from), Math.min(group.runs, last - from));
    }
  }

  /** The last group that begins at a row or above it. */
  #blockOf(at: number): number {
    let [low, high] = [0, this.#starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
