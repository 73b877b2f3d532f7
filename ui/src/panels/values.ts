/** What runs have in a column, as numbers and words that can be placed on an axis. Pure. */
import type { RunBrief } from "../api/client";
import { dateTime, duration } from "../format";
import { figure } from "../workspace/cells";
import { columnTitle, FIELDS } from "../workspace/columns";

const ODD: Record<string, number> = { NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** A number (also NaN and the infinities), a word, or undefined where the run has nothing. */
export function valueOf(run: RunBrief, column: string): number | string | undefined {
  const found: unknown = column in FIELDS ? run[column as keyof RunBrief] : run.values[column];
  if (found === null || found === undefined || found === "") return undefined;
  if (typeof found === "number") return found;
  if (typeof found === "string") return ODD[found] ?? found;
  if (Array.isArray(found) && column === "tags") return found.length ? found.join(", ") : undefined;
  return typeof found === "object" ? JSON.stringify(found) : String(found);
}

export function isFinite(found: unknown): found is number {
  return typeof found === "number" && Number.isFinite(found);
}

/** A value of a column as people read it; numbers under each other end in the same number of digits. */
export function textOf(column: string, found: number | string | undefined, digits: number | null = null): string {
  if (found === undefined) return "–";
  if (typeof found === "string") return found;
  if (column === "duration_s") return duration(found);
  return column === "started_at" || column === "ended_at" ? dateTime(found) : figure(found, digits);
}

/** With what it is where two columns would be called the same. */
export function nameOf(column: string): string {
  return columnTitle(column);
}

/** The summary value that people look for first, and the settings that differ most likely. */
export function usualTarget(known: string[]): string {
  const summary = known.filter((name) => name.startsWith("summary.") && !/^summary\.(_|system\/|epoch$|step$)/.test(name));
  const wanted = [/(val|eval|test).*loss/, /loss/, /(acc|auc|f1|score|map|reward|win)/i];
  for (const pattern of wanted) {
    const found = summary.find((name) => pattern.test(name));
    if (found) return found;
  }
  return summary[0] ?? "duration_s";
}

export function usualSettings(known: string[], most: number): string[] {
  const config = known.filter((name) => name.startsWith("config."));
  const rank = (name: string) => (/(^|[._])(lr|learning_rate)$/.test(name) ? 0 : /batch/.test(name) ? 1 : /seed|name|path|dir|device/.test(name) ? 3 : 2);
  return [...config].sort((one, other) => rank(one) - rank(other) || config.indexOf(one) - config.indexOf(other)).slice(0, most);
}
