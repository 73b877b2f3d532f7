/** Figures drawn from a table: what lies where, from columns that were named. Pure. */
import { quantile } from "../chart/range";

export type Shape = "line" | "scatter" | "bar" | "histogram" | "confusion";
export const SHAPES: string[] = ["line", "scatter", "bar", "histogram", "confusion"] satisfies Shape[];

export interface Series {
  name: string;
  points: [number, number][];
}

export interface Bar {
  name: string;
  value: number;
}

export interface Matrix {
  rows: string[];
  columns: string[];
  counts: number[][];
}

type Rows = unknown[][];
type Columns = string[];

function at(columns: Columns, name: unknown): number {
  return columns.indexOf(String(name));
}

/** Points by series; a row without two numbers has no place. */
export function seriesOf(rows: Rows, columns: Columns, fields: Record<string, unknown>): Series[] {
  const [x, y, by] = [at(columns, fields.x), at(columns, fields.y), fields.series === undefined ? -1 : at(columns, fields.series)];
  const found = new Map<string, Series>();
  for (const row of rows) {
    const [px, py] = [row[x], row[y]];
    if (typeof px !== "number" || typeof py !== "number") continue;
    const name = by < 0 ? "" : String(row[by] ?? "");
    let series = found.get(name);
    if (!series) found.set(name, (series = { name, points: [] }));
    series.points.push([px, py]);
  }
  return [...found.values()];
}

export function barsOf(rows: Rows, columns: Columns, fields: Record<string, unknown>): Bar[] {
  const [label, value] = [at(columns, fields.label), at(columns, fields.value)];
  return rows.flatMap((row) => (typeof row[value] === "number" ? [{ name: String(row[label] ?? ""), value: row[value] }] : []));
}

/** As many bins as Freedman and Diaconis would take, within reason. */
export function binsOf(rows: Rows, columns: Columns, fields: Record<string, unknown>): { low: number; high: number; counts: number[] } | null {
  const place = at(columns, fields.value);
  const values = rows.map((row) => row[place]).filter((value): value is number => typeof value === "number").sort((one, other) => one - other);
  if (!values.length) return null;
  const [low, high] = [values[0]!, values.at(-1)!];
  const width = (2 * (quantile(values, 0.75) - quantile(values, 0.25))) / Math.cbrt(values.length);
  const many = width > 0 ? Math.max(5, Math.min(60, Math.ceil((high - low) / width))) : 10;
  const counts = new Array<number>(many).fill(0);
  for (const value of values) counts[Math.min(many - 1, Math.floor(((value - low) / (high - low || 1)) * many))]!++;
  return { low, high: high > low ? high : low + 1, counts };
}

export function matrixOf(rows: Rows, columns: Columns, fields: Record<string, unknown>): Matrix {
  const [actual, predicted, count] = [at(columns, fields.actual), at(columns, fields.predicted), at(columns, fields.count)];
  const names = (place: number) => [...new Set(rows.map((row) => String(row[place] ?? "")))];
  const [down, across] = [names(actual), names(predicted)];
  const counts = down.map(() => new Array<number>(across.length).fill(0));
  for (const row of rows) {
    const cell = row[count];
    if (typeof cell === "number") counts[down.indexOf(String(row[actual] ?? ""))]![across.indexOf(String(row[predicted] ?? ""))]! += cell;
  }
  return { rows: down, columns: across, counts };
}
