/** Ranges on axes: which runs are inside, and the filter that says the same. Pure. */
import { joinNames, splitNames } from "../api/names";
import { placeOf, valueAt, type Axis } from "./axis";
import { textOf } from "./values";

/** From a place to another on the axis of a column. */
export interface Brush {
  column: string;
  low: number;
  high: number;
}

/** As they stand in the settings: values, not places, so that they mean the same when runs are added. */
export function brushText(brushes: Brush[], axes: Axis[]): string {
  return joinNames(brushes.flatMap((brush) => {
    const axis = axes.find((each) => each.column === brush.column);
    const edges = axis ? edgesOf(brush, axis) : ["", ""];
    return edges[0] === "" ? [] : [brush.column, ...edges];
  }));
}

export function readBrushes(text: string, axes: Axis[]): Brush[] {
  const words = splitNames(text);
  return words.flatMap((column, at) => {
    const [first = "", last = ""] = words.slice(at + 1, at + 3);
    if (at % 3 || !first || !last) return [];
    const axis = axes.find((each) => each.column === column);
    if (!axis || axis.isConstant) return [];
    if (axis.kind === "category") {
      const [from, to] = [axis.words.indexOf(first), axis.words.indexOf(last)];
      return from < 0 || to < from ? [] : [{ column, low: from / axis.words.length, high: (to + 1) / axis.words.length }];
    }
    const [low, high] = [Number(first), Number(last)];
    if (!(low <= high) || (axis.kind === "log" && low <= 0)) return [];
    return [{ column, low: placeOf(axis, low), high: placeOf(axis, high) }];
  });
}

/** Words that a range touches, from the first to the last; for numbers its ends, with as many digits as a hand can aim at. */
function edgesOf({ low, high }: Brush, axis: Axis): [string, string] {
  if (axis.kind === "category") {
    const touched = wordsIn({ low, high }, axis);
    return [touched[0] ?? "", touched.at(-1) ?? ""];
  }
  return [String(rounded(valueAt(axis, low))), String(rounded(valueAt(axis, high)))];
}

function wordsIn({ low, high }: { low: number; high: number }, axis: Axis): string[] {
  return axis.words.filter((_, at) => {
    const place = (at + 0.5) / axis.words.length;
    return place >= low && place <= high;
  });
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** One for each run: 1 where it is inside all ranges. A run that is not on an axis is in none of its ranges. */
export function insideOf(axes: Axis[], brushes: Brush[], runs: number): Uint8Array {
  const inside = new Uint8Array(runs).fill(1);
  for (const { column, low, high } of brushes) {
    const places = axes.find((each) => each.column === column)?.places;
    if (!places) continue;
    // Rounded ends are a hair away from where a run stands that was aimed at.
    for (let at = 0; at < runs; at++) if (!(places[at]! >= low - 1e-9 && places[at]! <= high + 1e-9)) inside[at] = 0;
  }
  return inside;
}

/** A range in words, for a chip. */
export function rangeText(brush: Brush, axis: Axis): string {
  const [first, last] = edgesOf(brush, axis);
  if (axis.kind === "category") return first === last ? first : `${first} – ${last}`;
  return `${textOf(axis.column, Number(first))} – ${textOf(axis.column, Number(last))}`;
}

/** What finds the same runs in the table. */
export function filterText(brushes: Brush[], axes: Axis[]): string {
  const parts = brushes.flatMap((brush) => {
    const axis = axes.find((each) => each.column === brush.column);
    if (!axis) return [];
    const field = /^[^\s"'=!<>~(),]+$/.test(brush.column) ? brush.column : quoted(brush.column);
    if (axis.kind === "category") {
      const words = wordsIn(brush, axis).map((word) => (/^(true|false)$/.test(word) ? word : quoted(word)));
      return words.length === 1 ? [`${field} = ${words[0]}`] : [`${field} in (${words.join(", ")})`];
    }
    const [low, high] = edgesOf(brush, axis);
    return [`${field} >= ${low}`, `${field} <= ${high}`];
  });
  return parts.join(" and ");
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
