/** What the page makes of a sweep as the server tells it. Pure. */
import type { RunBrief } from "../api/client";
import type { components } from "../api/schema";
import type { Region } from "../panels/regions";
import { figure } from "../workspace/cells";
import { joinNames } from "../api/names";

type Schemas = components["schemas"];
export type Sweep = Omit<Schemas["SweepJson"], "rows" | "counts" | "importance" | "quarantined" | "parameters" | "regions"> & {
  rows: Trial[];
  parameters: Parameter[];
  regions: Place[];
  counts: Record<string, number>;
  importance: Record<string, number>;
  quarantined: Record<string, string>;
};
export type Trial = Omit<Schemas["TrialJson"], "params" | "changed"> & { params: Record<string, unknown>; changed: Record<string, unknown> };
export interface Parameter {
  name: string;
  choices: unknown[];
  is_log: boolean;
  /** None of what is no number between two others. */
  low: number | null;
  high: number | null;
}
/** Where trials do not fit. */
export type Place = Omit<Schemas["RegionJson"], "bounds"> & { bounds: { name: string; side: ">=" | "<=" | "="; value: number | string }[] };
export type Agent = Schemas["AgentJson"];
export type SweepLine = Omit<Schemas["SweepLine"], "counts"> & { counts: Record<string, number> };

interface Look {
  word: string;
  glyph: string;
  tone: "alive" | "good" | "death" | "warn" | "quiet";
}

const LOOKS: Record<string, Look> = {
  waiting: { word: "Waiting", glyph: "○", tone: "quiet" },
  running: { word: "Running", glyph: "●", tone: "alive" },
  finished: { word: "Finished", glyph: "✓", tone: "good" },
  pruned: { word: "Ended early", glyph: "⏏", tone: "quiet" },
  infeasible: { word: "Does not fit", glyph: "✕", tone: "death" },
  failed: { word: "Failed", glyph: "!", tone: "death" },
  paused: { word: "Paused", glyph: "○", tone: "warn" },
  stopped: { word: "Stopped", glyph: "■", tone: "quiet" },
};

export function lookOf(state: string): Look {
  return LOOKS[state] ?? { word: state, glyph: "?", tone: "quiet" };
}

/** The parameters that are searched, by their names. */
export function searched(sweep: Sweep): string[] {
  return sweep.parameters.filter((each) => each.choices.length !== 1).map((each) => each.name);
}

/** The numbers whose bounds people may change. */
export function bounded(sweep: Sweep): Parameter[] {
  return sweep.method === "cmaes" ? [] : sweep.parameters.filter((each) => !each.choices.length && each.low !== null);
}

/** So few choices stand beside each other on an axis, also numbers. */
const MOST_WORDS = 12;
const SIDES = { ">=": "≥", "<=": "≤", "=": "=" };

/** `batch_size ≥ 256 and d_model ≥ 1024`. */
export function placeWords(place: Place): string {
  return place.bounds.map(({ name, side, value }) => `${name} ${SIDES[side]} ${value}`).join(" and ");
}

/** The same for panels. */
export function regionsOf(sweep: Sweep): Region[] {
  return sweep.regions.map(({ died, bounds }) => ({ died, bounds: bounds.map(({ name, side, value }) => ({ column: `config.${name}`, side, value })) }));
}

/** The newest trial that died there. */
export function diedAt(sweep: Sweep, place: Place): Trial | undefined {
  const order = (name: string, value: unknown) => (typeof value === "number" ? value : (sweep.parameters.find((each) => each.name === name)?.choices.indexOf(value) ?? -1));
  return sweep.rows.findLast((trial) => {
    if (trial.state !== "infeasible" || !trial.run || trial.device !== place.device) return false;
    return place.bounds.every(({ name, side, value }) => {
      const [mine, bound] = [order(name, trial.params[name]), order(name, value)];
      return side === ">=" ? mine >= bound : side === "<=" ? mine <= bound : mine === bound;
    });
  });
}

const LEAST_GOOD = 3;
const NO_EFFECT = 0.03;

/** Where the best tenth of the finished trials lies: `near 2e-4`, `swin-t`; nothing for what hardly matters. */
export function bestNear(sweep: Sweep, name: string): string {
  if ((sweep.importance[name] ?? 0) < NO_EFFECT) return "no clear effect";
  const sign = sweep.goal === "maximize" ? -1 : 1;
  const ended = sweep.rows.filter((each) => each.state === "finished" && each.value !== null).sort((one, other) => sign * (one.value! - other.value!));
  const good = ended.slice(0, Math.max(LEAST_GOOD, Math.ceil(ended.length / 10))).map((each) => each.params[name]);
  if (!good.length) return "";
  const isNumber = !sweep.parameters.find((each) => each.name === name)?.choices.length;
  if (isNumber) return `near ${Number((good as number[]).sort((one, other) => one - other)[Math.floor(good.length / 2)]!.toPrecision(2))}`;
  const often = new Map<string, number>();
  for (const word of good.map((each) => (typeof each === "number" ? figure(each, null) : String(each)))) often.set(word, (often.get(word) ?? 0) + 1);
  return [...often].sort((one, other) => other[1] - one[1])[0]![0];
}

/** Trials in the shape that panels draw. */
export function asRuns(sweep: Sweep): RunBrief[] {
  const words = new Set(sweep.parameters.filter((each) => each.choices.length > 1 && each.choices.length <= MOST_WORDS).map((each) => each.name));
  const state: Record<string, string> = { infeasible: "crashed", failed: "failed", running: "running" };
  return sweep.rows
    .filter((trial) => trial.attempts || trial.value !== null)
    .map((trial) => {
      const values: Record<string, unknown> = {};
      for (const [name, value] of Object.entries(trial.params)) values[`config.${name}`] = typeof value === "object" && value !== null ? JSON.stringify(value) : words.has(name) ? String(value) : value;
      const reached = trial.value ?? trial.now;
      if (reached !== null && sweep.metric) values[`summary.${sweep.metric}`] = reached;
      const brief = { id: String(trial.number), name: `trial ${trial.number}`, state: state[trial.state] ?? "finished", cause: trial.cause || null, values, started_at: trial.started_at ?? 0, tags: [] };
      return brief as unknown as RunBrief;
    });
}

export function parallelOf(sweep: Sweep): Record<string, string> {
  const names = searched(sweep).slice(0, 9).map((name) => `config.${name}`);
  const target = sweep.metric ? [`summary.${sweep.metric}`] : [];
  return { axes: joinNames([...names, ...target]), ...(target[0] && { colour: target[0] }) };
}

export interface BestPoint {
  number: number;
  value: number;
  isBetter: boolean;
}

/** The values of ended trials in their order, and which of them was the best so far. */
export function bestSoFar(sweep: Sweep): BestPoint[] {
  let best: number | null = null;
  return sweep.rows
    .filter((trial) => trial.state === "finished" && trial.value !== null)
    .map((trial) => {
      const value = trial.value!;
      const isBetter: boolean = best === null || (sweep.goal === "maximize" ? value > best : value < best);
      if (isBetter) best = value;
      return { number: trial.number, value, isBetter };
    });
}

export const died = (sweep: Sweep): Trial[] => sweep.rows.filter((trial) => trial.attempts > 0 && (trial.state === "failed" || trial.state === "infeasible"));

/** `unchanged for 23 trials`, of the best one. */
export function unchangedFor(points: BestPoint[]): number {
  const last = points.findLastIndex((each) => each.isBetter);
  return last < 0 ? 0 : points.length - 1 - last;
}
