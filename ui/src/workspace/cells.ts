/** What a cell of the table says of a run. Pure. */
import type { RunBrief } from "../api/client";
import { ago, dateTime, duration, grouped, isOdd, shortNumber, value } from "../format";
import { causeWords, lookOf, runningFor } from "../run/states";
import { betterOf } from "../metrics";

const COUNTS = ["last_step", "steps", "rows", "attempt"] as const;
const NUMBERS: string[] = ["duration_s", "started_at", ...COUNTS];

export function cellText(run: RunBrief, column: string, nowMs: number, digits: number | null = null): string {
  switch (column) {
    case "state": return lookOf(run).word;
    case "duration_s": return lasted(run, nowMs);
    case "started_at": return ago(run.started_at, nowMs);
    case "ended_at": return dateTime(run.ended_at);
    case "cause": return causeWords(run.cause);
    case "tags": return run.tags.join(", ");
    case "last_step":
    case "steps":
    case "rows":
    case "attempt": return run[column] === null || run[column] === undefined ? "" : grouped(run[column]);
    case "host":
    case "group":
    case "job_type":
    case "id": return run[column];
    default: return column.startsWith("config.") ? setting(run.values[column]) : figure(run.values[column], digits);
  }
}

/** A setting in few characters; all of them are in its tooltip. */
function setting(found: unknown): string {
  return typeof found === "number" ? shortNumber(found) : value(found);
}

export function isNumber(run: RunBrief, column: string): boolean {
  return typeof run.values[column] === "number" || isOdd(run.values[column]) || NUMBERS.includes(column);
}

export function lasted(run: RunBrief, nowMs: number): string {
  return duration(run.ended_at ? run.duration_s : runningFor(run, nowMs));
}

/** How it ended, or how it is: "GPU out of memory", where only the state would say "Crashed". */
export function endWords(run: RunBrief): string {
  const isExplained = run.cause && (run.state === "crashed" || run.state === "failed");
  return isExplained ? causeWords(run.cause) : lookOf(run).word;
}

/** How far it came, and how long that took. */
export function progressWords(run: RunBrief, nowMs: number): string {
  const step = run.last_step === null || run.last_step === undefined ? [] : [`step ${grouped(run.last_step)}`];
  const resumed = run.attempt === 2 ? ["resumed once"] : run.attempt > 2 ? [`resumed ${run.attempt - 1} times`] : [];
  if (run.state === "finished") return [lasted(run, nowMs), ...resumed].join(" · ");
  if (run.state === "running") return [...step, lasted(run, nowMs), ...resumed].join(" · ");
  return [...(step.length ? step : [lasted(run, nowMs)]), ...resumed].join(" · ");
}

/** Behind the point, so that the numbers of a column end alike; null where they are whole, very large or very small. Runs that diverged do not count. */
export function digitsOf(values: unknown[]): number | null {
  const sizes = values.filter((each): each is number => typeof each === "number" && Number.isFinite(each)).map(Math.abs).sort((one, other) => one - other);
  const usual = sizes[Math.ceil((sizes.length - 1) / 2)] ?? 0;
  if (sizes.every(Number.isInteger) || usual >= 1e5 || usual < 1e-2) return null;
  return Math.max(1, Math.min(4, 4 - Math.floor(Math.log10(usual))));
}

export function figure(found: unknown, digits: number | null): string {
  const isPlain = digits !== null && typeof found === "number" && Number.isFinite(found) && Math.abs(found) < 10 ** (6 - digits);
  return isPlain && (found === 0 || Math.abs(found) >= 10 ** -digits) ? minus(found.toFixed(digits)) : value(found);
}

interface Moments {
  count: number;
  mean: number;
  std: number;
}

/** What a group says of a column: the mean of a metric; of a setting only what all of its runs share. */
export function meanText(column: string, found: Moments | undefined, digits: number | null): { mean: string; std: string } {
  if (!found) return { mean: "–", std: "" };
  if (column.startsWith("config.") && found.std > 0) return { mean: "varies", std: "" };
  const isOne = found.count === 1 || column.startsWith("config.");
  return { mean: figure(found.mean, digits), std: isOne ? "" : figure(found.std, digits) };
}

export interface Difference {
  text: string;
  isBetter: boolean;
}

/** A metric beside that of the baseline: "−0.0186", and whether that is better. Null where there is nothing to compare. */
export function differenceOf(column: string, found: unknown, base: unknown, digits: number | null): Difference | null {
  if (!column.startsWith("summary.") || typeof found !== "number" || typeof base !== "number") return null;
  const away = found - base;
  if (!Number.isFinite(away)) return null;
  if (away === 0) return { text: "±0", isBetter: false };
  const better = betterOf(column);
  const text = figure(Math.abs(away), digits);
  return { text: (away > 0 ? "+" : "−") + text, isBetter: better !== null && (better === "low") === away < 0 };
}

function minus(text: string): string {
  return text.replace("-", "−");
}
