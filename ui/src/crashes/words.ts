/** What deaths come to, in words. Pure. */
import type { Deaths, DeathShare } from "../api/client";
import { count, grouped, hours } from "../format";
import { causeWords } from "../run/states";

export const BY = { cause: "By cause", project: "By project", host: "By host" } as const;
export type By = keyof typeof BY;
export const RANGES: [weeks: number, words: string][] = [[1, "This week"], [4, "Last 4 weeks"], [12, "Last 12 weeks"], [26, "Last 26 weeks"], [52, "Last 52 weeks"]];
/** Beyond these, causes share one grey. */
export const TOLD_APART = 7;

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

export interface Trend {
  words: string;
  isWorse: boolean;
}

/** The later half of the weeks against the half before it. */
export function trendOf(weeks: number[]): Trend | null {
  const half = Math.floor(weeks.length / 2);
  if (!half) return null;
  const [before, after] = [sum(weeks.slice(-2 * half, -half)), sum(weeks.slice(-half))];
  if (before <= 0) return after > 0 ? { words: "new", isWorse: true } : null;
  const ratio = after / before;
  if (ratio >= 2) return { words: `× ${ratio < 10 ? Number(ratio.toFixed(1)) : grouped(Math.round(ratio))}`, isWorse: true };
  const percent = Math.round((ratio - 1) * 100);
  return { words: percent === 0 ? "same" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`, isWorse: percent > 0 };
}

/** Those that are told apart, and all others as one. */
export function ranked(shares: DeathShare[]): { told: DeathShare[]; others: DeathShare | null } {
  const told = shares.slice(0, shares.length > TOLD_APART + 1 ? TOLD_APART : shares.length);
  const rest = shares.slice(told.length);
  if (!rest.length) return { told, others: null };
  const others = {
    name: `${grouped(rest.length)} others`,
    deaths: sum(rest.map((each) => each.deaths)),
    hours_lost: sum(rest.map((each) => each.hours_lost)),
    by_week: rest[0]!.by_week.map((_, week) => sum(rest.map((each) => each.by_week[week]!))),
  };
  return { told, others };
}

/** What a share is called: a cause in words, a project or a host as it is. */
export function nameOf(share: string, by: By): string {
  return by === "cause" ? causeWords(share) : share || "no name";
}

/** The one sentence: what costs the most, and which machine is to blame for what it had. */
export function headline(found: Deaths): { title: string; more: string } {
  const [first] = found.shares;
  if (!first) return { title: "No run has died in this time", more: "" };
  const title = `${causeWords(first.name)} costs the most: ${hours(first.hours_lost)} of ${hours(found.hours_lost)}`;
  const [host] = found.hosts;
  if (!host || host.faults < 2) return { title, more: "" };
  return { title, more: `${count(host.faults, "hardware fault")} on ${host.host}; without them, ${hours(host.hours_lost)} would have been kept.` };
}

/** Full marks of an axis from 0, about four of them, to above the highest value. */
export function axis(highest: number): number[] {
  if (!(highest > 0)) return [0];
  const raw = highest / 4;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= raw)!;
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, at) => at * step);
}
