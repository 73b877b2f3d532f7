/** Which values a chart shows: those in which most of its lines lie, and who is left out of that. Pure. */
import { lowerBound, type Line } from "./line";
import type { Span } from "./scales";

/** The first steps of a training are far from all that follows. */
export const EARLY = 0.05;
/** With fewer points than this, each of them counts. */
const FEW_POINTS = 20;
const [LOW, HIGH] = [0.02, 0.98];
/** With fewer lines nobody can say which one is strange. */
const LEAST_LINES = 4;
const FENCE = 3;
const LEAST_FENCE = 0.25;
/** So many values of a line say where it lies. */
const SAMPLES = 256;

export interface Robust {
  /** Null where no line has a value. */
  span: Span | null;
  outliers: Line[];
}

export interface Asked {
  zoom: Span | null;
  isLog: boolean;
  /** Lines that people chose: they are never outliers. */
  kept: ReadonlySet<string>;
}

interface Extent extends Span {
  line: Line;
}

/** On a log scale the range is found among logarithms, and given as values again. */
export function robustRange(lines: Line[], { zoom, isLog, kept }: Asked): Robust {
  const from = zoom ? zoom.low : lateFrom(lines);
  const extents = lines.map((line) => extentOf(line, from, zoom?.high ?? Infinity, isLog)).filter((each) => each !== null);
  if (!extents.length) return { span: null, outliers: [] };
  const isOut = extents.length >= LEAST_LINES ? fences(extents) : () => false;
  const suspects = extents.filter((each) => isOut(each) && !kept.has(each.line.id));
  const inside = extents.filter((each) => !suspects.includes(each));
  const [low, high] = [Math.min(...inside.map((each) => each.low)), Math.max(...inside.map((each) => each.high))];
  const ends = Math.max(...inside.map(({ line }) => line.x.at(-1)!));
  const outliers = suspects.filter((each) => each.low > high || each.high < low || !isOnlyShort(each, inside, { from, ends, isLog }));
  return { span: isLog ? { low: 10 ** low, high: 10 ** high } : { low, high }, outliers: outliers.map((each) => each.line) };
}

/** Whether a line lies where the others lay until it ended: most values of one that ended early are early values. It sets no range. */
function isOnlyShort(suspect: Extent, inside: Extent[], { from, ends, isLog }: { from: number; ends: number; isLog: boolean }): boolean {
  const end = suspect.line.x.at(-1)!;
  if (end >= ends) return false;
  const until = [...inside, suspect].map(({ line }) => extentOf(line, from, end, isLog, false)).filter((each) => each !== null);
  return until.length >= LEAST_LINES && !fences(until)(until.at(-1)!);
}

function lateFrom(lines: Line[]): number {
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    if (!x.length) continue;
    low = Math.min(low, x[0]!);
    high = Math.max(high, x[x.length - 1]!);
  }
  return low + EARLY * (high - low);
}

function extentOf(line: Line, from: number, to: number, isLog: boolean, isFew = line.x.length < FEW_POINTS): Extent | null {
  // A line that ended early has nothing but early values.
  const isEarly = line.x.length > 0 && line.x[line.x.length - 1]! < from;
  const first = isFew || isEarly ? 0 : Math.max(0, lowerBound(line.x, from) - 1);
  const last = Math.min(line.x.length, lowerBound(line.x, to) + 1);
  const step = isFew ? 1 : Math.max(1, Math.floor((last - first) / SAMPLES));
  const [lows, highs] = line.isBanded && line.low && line.high ? [line.low, line.high] : [line.y, line.y];
  const [below, above] = [sorted(lows, first, last, step, isLog), lows === highs ? null : sorted(highs, first, last, step, isLog)];
  if (!below.length || above?.length === 0) return null;
  return isFew
    ? { line, low: below[0]!, high: (above ?? below).at(-1)! }
    : { line, low: quantile(below, LOW), high: quantile(above ?? below, HIGH) };
}

function sorted(values: Float64Array, first: number, last: number, step: number, isLog: boolean): Float64Array {
  const found = new Float64Array(Math.max(0, Math.ceil((last - first) / step)));
  let many = 0;
  for (let at = first; at < last; at += step) {
    const value = isLog ? Math.log10(values[at]!) : values[at]!;
    if (Number.isFinite(value)) found[many++] = value;
  }
  return found.subarray(0, many).sort();
}

/** From the lowest to the highest of values, without those that lie far from most of the others. */
export function robustSpan(values: Iterable<number>): Span {
  const all = Float64Array.from(values).sort();
  if (!all.length) return { low: Infinity, high: -Infinity };
  const [first, third] = [quantile(all, 0.25), quantile(all, 0.75)];
  const width = all.length < LEAST_LINES ? Infinity : Math.max(FENCE * (third - first), LEAST_FENCE * Math.abs(quantile(all, 0.5)));
  const inside = all.filter((value) => value >= first - width && value <= third + width);
  return { low: inside[0]!, high: inside.at(-1)! };
}

export function quantile(values: ArrayLike<number>, share: number): number {
  const place = (values.length - 1) * share;
  const [below, above] = [values[Math.floor(place)]!, values[Math.ceil(place)]!];
  return below + (above - below) * (place - Math.floor(place));
}

/** Tukey's fences, wide ones, around where the lines begin and end; lines that all lie close together have some room. */
function fences(extents: Extent[]): (extent: Extent) => boolean {
  const ordered = (of: (each: Extent) => number) => Float64Array.from(extents, of).sort();
  const least = LEAST_FENCE * quantile(ordered((each) => each.high - each.low), 0.5);
  const [lows, highs] = [ordered((each) => each.low), ordered((each) => each.high)];
  const widthOf = (values: Float64Array) => Math.max(FENCE * (quantile(values, 0.75) - quantile(values, 0.25)), least);
  const bottom = quantile(lows, 0.25) - widthOf(lows);
  const top = quantile(highs, 0.75) + widthOf(highs);
  return (each) => each.high > top || each.low < bottom;
}
