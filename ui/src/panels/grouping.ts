/** Runs that share a value, and what is said of each such group. Pure. */
import type { RunBrief } from "../api/client";
import { value as asText } from "../format";
import { FIELDS } from "../workspace/columns";
import { isFinite, valueOf } from "./values";

export interface Gathered {
  /** The same as that of its line in a chart, so that it has that colour. */
  id: string;
  name: string;
  runs: RunBrief[];
}

export function groupId(run: RunBrief, column: string): string {
  const found: unknown = column in FIELDS ? run[column as keyof RunBrief] : run.values[column];
  return `group ${JSON.stringify(found ?? null)}`;
}

export function gather(runs: RunBrief[], column: string): Gathered[] {
  const found = new Map<string, Gathered>();
  for (const run of runs) {
    const id = groupId(run, column);
    const group = found.get(id);
    if (group) group.runs.push(run);
    else found.set(id, { id, name: asText(valueOf(run, column)) || "none", runs: [run] });
  }
  return [...found.values()];
}

export interface Figures {
  /** Runs that have a number. */
  count: number;
  mean: number;
  std: number;
  median: number;
  least: RunBrief | null;
  most: RunBrief | null;
  newest: RunBrief | null;
  /** Runs that have nothing, and those with NaN, an infinity or a word. */
  missing: number;
  odd: number;
}

export function figuresOf(runs: RunBrief[], column: string): Figures {
  const all = runs.map((run) => ({ run, value: valueOf(run, column) }));
  const found = all.filter((each): each is { run: RunBrief; value: number } => isFinite(each.value));
  const values = found.map((each) => each.value).sort((one, other) => one - other);
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const spread = values.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  const best = (isBetter: (one: typeof found[number], other: typeof found[number]) => boolean) =>
    found.reduce<typeof found[number] | null>((kept, each) => (kept === null || isBetter(each, kept) ? each : kept), null)?.run ?? null;
  const middle = (values.length - 1) / 2;
  return {
    count: values.length,
    mean,
    std: values.length > 1 ? Math.sqrt(spread / (values.length - 1)) : 0,
    median: values.length ? (values[Math.floor(middle)]! + values[Math.ceil(middle)]!) / 2 : NaN,
    least: best((one, other) => one.value < other.value),
    most: best((one, other) => one.value > other.value),
    newest: best((one, other) => one.run.started_at > other.run.started_at),
    missing: all.filter((each) => each.value === undefined).length,
    odd: all.filter((each) => each.value !== undefined && !isFinite(each.value)).length,
  };
}
