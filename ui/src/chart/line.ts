/** What a chart draws: a line with its own x, from server buckets or from anything else. */
export interface Line {
  /** The id of its run, or the name of its group. */
  id: string;
  name: string;
  colour: string;
  x: Float64Array;
  y: Float64Array;
  /** The least and the greatest value of each bucket; a band is drawn between them where there are few lines. */
  low?: Float64Array;
  high?: Float64Array;
  /** Bits of what cannot be drawn: 1 NaN, 2 +Inf, 4 -Inf. */
  marks?: Uint8Array;
  hasDied?: boolean;
  /** Another line has its colour; drawn so where lines are few enough to be told apart. */
  isDashed?: boolean;
  isBanded?: boolean;
  /** The ground below it is filled, as for the one line that matters. */
  isFilled?: boolean;
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

const smoothed = new WeakMap<Float64Array, { weight: number; values: Float64Array }>();

/** A debiased exponential mean: early points are not pulled to zero. What is no number stays out of it. */
export function smooth(values: Float64Array, weight: number): Float64Array {
  const known = smoothed.get(values);
  if (known?.weight === weight) return known.values;
  const found = new Float64Array(values.length);
  let mean = 0;
  let mass = 0;
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (Number.isFinite(value)) {
      mean = mean * weight + value * (1 - weight);
      mass = mass * weight + (1 - weight);
      found[at] = mean / mass;
    } else found[at] = NaN;
  }
  smoothed.set(values, { weight, values: found });
  return found;
}
