/** What a guard's warning is drawn as. Pure. */
import type { components } from "../api/schema";
import type { Limit, Line } from "../chart/line";
import { bytes, grouped, number } from "../format";

export type GuardWarning = components["schemas"]["GuardWarning"];

const AMBER = "#c48000";

/** The key of the series in which a warning's memory is seen; of what is told as free, the whole it is taken from. */
export function curveOf(warning: GuardWarning): { key: string; of?: string } | null {
  const key = (warning.figures as Record<string, unknown>).series;
  if (typeof key !== "string") return null;
  if (key.endsWith("memory_available_bytes")) return { key, of: key.replace("available", "total") };
  if (key.endsWith("free_bytes")) return { key, of: key.replace("free", "total") };
  return { key };
}

function figure(warning: GuardWarning, name: string): number | null {
  const found = (warning.figures as Record<string, unknown>)[name];
  return typeof found === "number" && Number.isFinite(found) ? found : null;
}

export function limitOf(warning: GuardWarning): Limit[] {
  const limit = figure(warning, "limit_bytes");
  return limit === null ? [] : [{ y: limit, label: `limit ${bytes(limit)}`, isDeadly: true }];
}

/** Where it will go, with the range in which it may: a fan from the moment of the warning up to the limit. */
export function fanOf(warning: GuardWarning): Line | null {
  const [used, limit, eta] = [figure(warning, "used_bytes"), figure(warning, "limit_bytes"), warning.eta_s];
  if (used === null || limit === null || eta === null || eta <= 0) return null;
  const least = Math.max(1e-3, warning.eta_least_s ?? eta);
  const most = Math.max(eta, warning.eta_most_s ?? eta);
  const ahead = [0, least, eta, most].sort((one, other) => one - other);
  const at = (seconds: number, arrives: number): number => Math.min(limit, used + ((limit - used) * seconds) / arrives);
  return {
    id: "forecast",
    name: "forecast",
    colour: AMBER,
    x: Float64Array.from(ahead, (seconds) => warning.at + seconds),
    y: Float64Array.from(ahead, (seconds) => at(seconds, eta)),
    low: Float64Array.from(ahead, (seconds) => at(seconds, most)),
    high: Float64Array.from(ahead, (seconds) => at(seconds, least)),
    isBanded: true,
  };
}

/** What is to be seen: twice as much of the past as of what lies ahead, and ten minutes of it at least. */
export function spanOf(warning: GuardWarning, now: number): { low: number; high: number } {
  const ahead = warning.eta_most_s ?? warning.eta_s ?? 0;
  const high = Math.max(now, warning.at + Math.min(ahead, 3600));
  return { low: Math.min(warning.since ?? warning.at, high - Math.max(600, 2 * (high - warning.at))), high };
}

/** A guard's name for people. */
export function guardWord(id: string): string {
  const word = id.replaceAll("-", " ").replace(/^gpu\b/, "GPU").replace(/^cpu\b/, "CPU");
  return word.charAt(0).toUpperCase() + word.slice(1);
}

type Peak = components["schemas"]["PeakJson"];
const PHASES: Record<string, string> = { start: "before the first row", steps: "while steps were logged", pause: "in a pause between rows" };

/** When a peak was: its phase, and where in it. */
export function phaseWord(peak: Peak): string {
  const step = peak.step !== null && peak.phase !== "start" ? `, at step ${grouped(peak.step)}` : "";
  return `${PHASES[peak.phase] ?? peak.phase}${step}${peak.cell ? `, in cell [${peak.cell}]` : ""}`;
}

/** What holter took of the processors beside the program. */
export function costWord(cost: components["schemas"]["CostJson"]): string {
  // Of a short run the start of holter's processes is most: a share of it says nothing about a long one.
  if (cost.wall_s < 60) return `holter used ${number(Number(cost.cpu_s.toPrecision(2)))} s of a core beside the program`;
  const percent = (100 * cost.cpu_s) / cost.wall_s;
  return `holter used ${number(Number(percent.toPrecision(2)))} % of one core beside the program`;
}
