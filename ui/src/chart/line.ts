/** What a chart draws: a line with its own x, from server buckets or from anything else. */
export interface Line {
  /** The id of its run, or the name of its group. */
  id: string;
  name: string;
  colour: string;
  x: Float64Array;
  y: Float64Array;
  /** The values as they were logged, where `y` are smoothed; they are drawn behind unless `hasRaw` is false. */
  raw?: Float64Array;
  hasRaw?: boolean;
  /** The metric, and its number, in a chart that has several. */
  metric?: string;
  shape?: number;
  /** So few points that each is drawn. */
  isSparse?: boolean;
  /** The least and the greatest value of each bucket; a band is drawn between them where there are few lines. */
  low?: Float64Array;
  high?: Float64Array;
  /** Bits of what cannot be drawn: 1 NaN, 2 +Inf, 4 -Inf. */
  marks?: Uint8Array;
  /** Of a group: how many runs each bucket has, and what lies between `low` and `high`. */
  counts?: Uint32Array;
  band?: "std" | "range" | "quartiles";
  hasDied?: boolean;
  /** It is held against the axis at the right. */
  isRight?: boolean;
  /** Where its run went on from a checkpoint, and what is to be said of that. */
  resumes?: Resumed[];
  /** How it ended, as "Out of memory, ended at step 120"; empty while it runs. */
  end?: string;
  /** All others are compared with it. */
  isBaseline?: boolean;
  /** Its run is alive: more will come. */
  isLive?: boolean;
  isBanded?: boolean;
  /** The ground below it is filled, as for the one line that matters. */
  isFilled?: boolean;
}

/** A run that went on: from where, and what had been done behind there is lost. */
export interface Resumed {
  x: number;
  attempt: number;
  /** So many steps were done again. */
  steps: number;
  /** It went back on purpose: those steps are abandoned. */
  isRewind?: boolean;
  lostX: Float64Array;
  lostY: Float64Array;
}

/** A value that the lines are held against, such as the memory of the container. */
export interface Limit {
  y: number;
  label: string;
  isDeadly?: boolean;
}

/** A moment that matters, such as that of death. */
export interface Moment {
  x: number;
  label: string;
  isDeadly?: boolean;
}

/** Places of a line that are worth a small tick on the axis, such as where its run made sure of its rows. */
export interface Ticks {
  colour: string;
  x: number[];
}

export type XKind = "step" | "time" | "relative" | "metric";
export type YKind = "number" | "bytes" | "percent";

export function xKindOf(x: string): XKind {
  return x === "step" || x === "time" || x === "relative" ? x : "metric";
}

/** The first place whose value is not below the one asked for. */
export function lowerBound(values: Float64Array, wanted: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The place whose value is nearest; -1 for an empty line. */
export function nearest(values: Float64Array, wanted: number): number {
  const at = lowerBound(values, wanted);
  if (at === 0) return values.length ? 0 : -1;
  if (at === values.length) return at - 1;
  return wanted - values[at - 1]! <= values[at]! - wanted ? at - 1 : at;
}

/** The range of a chart is so many units of smoothing wide: it means the same for points that are near and far. */
const UNITS = 500;

/** How far the lines of one chart reach, in units of smoothing. 0 where they have one place only. */
export function smoothingUnit(lines: { x: Float64Array }[]): number {
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    if (!x.length) continue;
    low = Math.min(low, x[0]!);
    high = Math.max(high, x[x.length - 1]!);
  }
  return high > low ? (high - low) / UNITS : 0;
}

const SPARSE = 200;

/** A metric of which no run has many points is a row of measurements, not a curve: each is shown as it is. */
export function isSparse(points: number[]): boolean {
  return Math.max(...points) < SPARSE;
}

/**
 * A debiased exponential mean over the x axis: what lies one unit back counts `weight` times as much. So points that are
 * far apart are hardly smoothed, and early ones are not pulled to zero. What is no number stays out of it.
 */
export function smooth(x: Float64Array, values: Float64Array, weight: number, unit: number): Float64Array {
  const found = new Float64Array(values.length);
  const rate = unit > 0 ? Math.log(weight) / unit : 0;
  let [sum, mass, last, way, kept] = [0, 0, NaN, NaN, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (!Number.isFinite(value)) {
      found[at] = NaN;
      continue;
    }
    const next = x[at]! - last;
    if (next !== way) {
      way = next;
      kept = Number.isNaN(way) ? 0 : Math.exp(rate * way);
    }
    last = x[at]!;
    sum = sum * kept + value;
    mass = mass * kept + 1;
    found[at] = sum / mass;
  }
  return found;
}
