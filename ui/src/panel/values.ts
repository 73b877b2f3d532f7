/** The legend of an open chart in numbers: what each line has where the crosshair is. Pure. */
import { nearest, type Line } from "../chart/line";
import { betterOf } from "../metrics";

export interface Best {
  value: number;
  at: number;
  /** The place is that of a bucket with several points. */
  isAbout: boolean;
}

export interface ValueRow {
  id: string;
  name: string;
  colour: string;
  isBaseline: boolean;
  /** One for each metric; undefined where the line has nothing there. */
  values: (number | undefined)[];
  /** Half the width of a group's band, or the ends of it. */
  lines: (Line | undefined)[];
  toBaseline: number | undefined;
  /** Undefined also where nobody can tell which way the metric is better. */
  best: Best | undefined;
  /** Why there are no values: the run ended before, or is not there yet. */
  end: string;
}

/** The number of the point that a line has at a place; -1 where it has ended before, or begins behind. */
export function pointAt({ x }: Line, place: number): number {
  const last = x.length - 1;
  if (last < 0) return -1;
  const gap = last > 0 ? Math.max(x[last]! - x[last - 1]!, (x[last]! - x[0]!) / last) : Infinity;
  if (place > x[last]! + gap || place < x[0]! - gap) return -1;
  return nearest(x, place);
}

function bestOf(line: Line, metric: string): Best | undefined {
  const better = betterOf(metric);
  if (better === null) return undefined;
  const isMore = better === "high";
  const values = line.isBanded ? line.y : ((isMore ? line.high : line.low) ?? line.y);
  let found = -1;
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (Number.isFinite(value) && (found < 0 || (isMore ? value > values[found]! : value < values[found]!))) found = at;
  }
  if (found < 0) return undefined;
  return { value: values[found]!, at: line.x[found]!, isAbout: !line.isBanded && line.low?.[found] !== line.high?.[found] };
}

/** A row for each run or group. `of` is the metric that differences and best values are of. */
export function valueRows(lines: Line[], metrics: string[], place: number, of: number): ValueRow[] {
  const byId = new Map<string, (Line | undefined)[]>();
  for (const line of lines) {
    const own = byId.get(line.id) ?? new Array<Line | undefined>(metrics.length).fill(undefined);
    own[line.shape ?? 0] = line;
    byId.set(line.id, own);
  }
  const rows = [...byId].map(([id, own]) => {
    const any = own.find((line) => line !== undefined)!;
    const values = own.map((line) => {
      const at = line ? pointAt(line, place) : -1;
      return at < 0 ? undefined : line!.y[at]!;
    });
    const best = own[of] && bestOf(own[of], metrics[of]!);
    const end = values.every((value) => value === undefined) ? any.end || (any.isLive ? "Running, not yet there" : "") : "";
    return { id, name: any.name, colour: any.colour, isBaseline: any.isBaseline ?? false, values, lines: own, toBaseline: undefined, best, end } as ValueRow;
  });
  const base = rows.find((row) => row.isBaseline)?.values[of];
  for (const row of rows) {
    const value = row.values[of];
    if (base !== undefined && value !== undefined && !row.isBaseline) row.toBaseline = value - base;
  }
  return rows;
}

/** `name`, a number of a metric, `baseline`, `best` or `at`. */
export type Column = "name" | "baseline" | "best" | "at" | number;

/** What is missing or no number comes last, whichever way it is sorted. */
export function sortRows(rows: ValueRow[], by: Column, isDown: boolean): ValueRow[] {
  const way = isDown ? -1 : 1;
  if (by === "name") return rows.toSorted((one, other) => way * one.name.localeCompare(other.name, undefined, { numeric: true }));
  const keyOf = ({ values, toBaseline, best }: ValueRow) => (typeof by === "number" ? values[by] : by === "baseline" ? toBaseline : by === "best" ? best?.value : best?.at);
  return rows.toSorted((one, other) => {
    const [first, second] = [keyOf(one) ?? NaN, keyOf(other) ?? NaN];
    if (Number.isNaN(first) || Number.isNaN(second)) return Number(Number.isNaN(first)) - Number(Number.isNaN(second));
    return way * (first - second);
  });
}

/** The next place on the axis at which some line has a point. */
export function nextPlace(lines: Line[], place: number, way: 1 | -1): number {
  let found = way > 0 ? Infinity : -Infinity;
  for (const { x } of lines) {
    let at = nearest(x, place);
    while (at >= 0 && at < x.length && (x[at]! - place) * way <= 1e-9 * Math.abs(place)) at += way;
    if (at >= 0 && at < x.length) found = way > 0 ? Math.min(found, x[at]!) : Math.max(found, x[at]!);
  }
  return Number.isFinite(found) ? found : place;
}
