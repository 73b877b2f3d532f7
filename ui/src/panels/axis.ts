/** An axis of any column: numbers, their logarithms, or words in order. Places go from 0 (low) to 1. Pure. */
import { quantile, robustSpan } from "../chart/range";
import { yTicks, type Tick } from "../chart/scales";
import { number, tick } from "../format";
import { isFinite, textOf } from "./values";

type Value = number | string | undefined;

export interface Axis {
  column: string;
  kind: "number" | "log" | "category";
  low: number;
  high: number;
  /** Of an axis of words, in their order. */
  words: string[];
  /** Where each run is; NaN for one that can't be placed. */
  places: Float64Array;
  ticks: (Tick & { place: number })[];
  /** How many runs have nothing there, NaN or an infinity, or a value that a logarithm does not have. */
  missing: number;
  odd: number;
  below: number;
  /** How many lie so far from the others that they stand at an end of it, and the real ends. */
  beyond: number;
  least: number;
  most: number;
  isConstant: boolean;
}

export type Scaling = "" | "lin" | "log";

/** Where half of the values lie in so small a part of the axis, their logarithms are compared, unless people want otherwise. */
const CROWDED = 0.2;
const LOG_FROM = 10;
const ROOM = 0.04;
const MOST_TICKS = 12;
const HAIR = 0.001;

export function makeAxis(column: string, values: Value[], { scaling = "", ticks = 5 }: { scaling?: Scaling; ticks?: number } = {}): Axis {
  const hasWords = values.some((each) => typeof each === "string");
  return hasWords ? wordAxis(column, values) : numberAxis(column, values, scaling, ticks);
}

function wordAxis(column: string, values: Value[]): Axis {
  const texts = values.map((each) => (each === undefined ? undefined : textOf(column, each)));
  const words = [...new Set(texts.filter((each) => each !== undefined))];
  const isNumeric = words.every((each) => each.trim() && Number.isFinite(Number(each)));
  words.sort(isNumeric ? (one, other) => Number(one) - Number(other) : (one, other) => one.localeCompare(other, "en", { numeric: true }));
  const at = new Map(words.map((word, index) => [word, (index + 0.5) / words.length]));
  const every = Math.ceil(words.length / MOST_TICKS);
  return {
    column,
    kind: "category",
    low: 0,
    high: words.length - 1,
    words,
    places: Float64Array.from(texts, (text) => (text === undefined ? NaN : at.get(text)!)),
    ticks: words.flatMap((text, value) => (value % every ? [] : [{ value, text, place: at.get(text)! }])),
    missing: texts.filter((each) => each === undefined).length,
    odd: 0,
    below: 0,
    beyond: 0,
    least: 0,
    most: words.length - 1,
    isConstant: words.length < 2,
  };
}

function numberAxis(column: string, values: Value[], scaling: Scaling, many: number): Axis {
  const finite = values.filter(isFinite);
  const [least, most] = endsOf(finite);
  let isLog = scaling === "log" ? most > 0 : scaling === "" && isCrowded(finite, least, most);
  // What came out may lie far from all others, as of a run that diverged; what was set is wanted where it is.
  const near = scaling === "" && column.startsWith("summary.") ? nearest(finite, isLog) : finite;
  if (isLog && near.length < finite.length) isLog = isCrowded(near, ...endsOf(near));
  const fits = (each: number) => !isLog || each > 0;
  const [low, high] = endsOf(near.filter(fits));
  const axis: Axis = {
    column,
    kind: isLog ? "log" : "number",
    low,
    high,
    words: [],
    places: new Float64Array(values.length),
    ticks: [],
    missing: values.filter((each) => each === undefined).length,
    odd: values.filter((each) => each !== undefined && !isFinite(each)).length,
    below: finite.filter((each) => !fits(each)).length,
    beyond: finite.filter((each) => fits(each) && (each < low || each > high)).length,
    least,
    most,
    isConstant: !(low < high),
  };
  axis.places = Float64Array.from(values, (each) => (isFinite(each) && fits(each) ? placeOf(axis, each) : NaN));
  axis.ticks = ticksOf(axis, many);
  return axis;
}

function endsOf(values: number[]): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const each of values) {
    low = Math.min(low, each);
    high = Math.max(high, each);
  }
  return [low, high];
}

/** Those that do not lie far from most of the others. */
function nearest(values: number[], isLog: boolean): number[] {
  const on = (each: number) => (isLog ? Math.log(each) : each);
  const { low, high } = robustSpan(values.map(on));
  return values.filter((each) => on(each) >= low && on(each) <= high);
}

function isCrowded(values: number[], low: number, high: number): boolean {
  if (!(low > 0) || high / low < LOG_FROM) return false;
  return quantile(Float64Array.from(values).sort(), 0.5) - low < (high - low) * CROWDED;
}

function ticksOf(axis: Axis, many: number): Axis["ticks"] {
  if (!(axis.low <= axis.high)) return [];
  if (axis.isConstant) return [{ value: axis.low, text: textOf(axis.column, axis.low), place: 0.5 }];
  const found = axis.kind === "log" ? logTicks(axis, many) : yTicks(axis, many, "number", false);
  const isTime = ["started_at", "ended_at", "duration_s"].includes(axis.column);
  return found.map((tick) => ({ ...tick, text: isTime ? textOf(axis.column, tick.value) : tick.text, place: placeOf(axis, tick.value) }));
}

/** Powers of ten; where these are few, also 2 and 5 times them. */
function logTicks({ low, high }: Axis, many: number): Tick[] {
  const found: Tick[] = [];
  const [first, last] = [Math.floor(Math.log10(low)), Math.floor(Math.log10(high))];
  const every = Math.max(1, Math.ceil((last - first) / many));
  const steps = last - first <= 1 ? [1, 2, 5] : last - first <= 3 && many > 4 ? [1, 3] : [1];
  for (let power = first; power <= last; power += every) {
    for (const step of steps) {
      const value = Number(`${step}e${power}`);
      if (value >= low * 0.999 && value <= high * 1.001) found.push({ value, text: tick(value, value) });
    }
  }
  // Within one power of ten: round values of a linear axis say more.
  return found.length > 1 ? found : yTicks({ low, high }, many, "number", false);
}

export function placeOf(axis: Axis, value: number): number {
  if (axis.isConstant) return 0.5;
  const share = axis.kind === "log" ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
  return Math.max(0, Math.min(1, ROOM + share * (1 - 2 * ROOM)));
}

export function valueAt(axis: Axis, place: number): number {
  // An end stands for all that lies beyond it; a hair more, so that it is not lost where the value is rounded.
  if (place >= 1 && axis.most > axis.high) return axis.most + Math.abs(axis.most) * HAIR;
  if (place <= 0 && axis.least < axis.low) return axis.least - Math.abs(axis.least) * HAIR;
  const share = (place - ROOM) / (1 - 2 * ROOM);
  return axis.kind === "log" ? axis.low * (axis.high / axis.low) ** share : axis.low + share * (axis.high - axis.low);
}

/** How many runs stand at an end of an axis because they lie far beyond it, in words. */
export function beyondWords(axes: Axis[]): string {
  const found = axes.filter((axis) => axis.beyond);
  return [...new Set(found.map(({ column, beyond, low, high }) => `${beyond} beyond ${number(low)} – ${number(high)} in ${column.replace(/^summary\./, "")}, at the end of its axis`))].join(", ");
}

/** Why runs are not on an axis, in words; empty where all are. */
export function absence(axes: Axis[]): string {
  const parts = axes.flatMap(({ column, missing, odd, below }) => {
    const name = column.replace(/^(config|summary)\./, "");
    return [
      missing ? `${missing} without ${name}` : "",
      odd ? `${odd} with NaN or Inf in ${name}` : "",
      below ? `${below} with ${name} ≤ 0, which a log axis has no place for` : "",
    ];
  });
  return [...new Set(parts.filter(Boolean))].join(", ");
}
