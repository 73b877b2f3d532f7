/** A chart as a table: a row for each place on its axis, a column for each line. Pure. */
import type { Line } from "./line";

export interface ChartTable {
  names: string[];
  rows: { x: number; values: (number | undefined)[] }[];
}

export function tableOf(lines: Line[]): ChartTable {
  const byPlace = new Map<number, (number | undefined)[]>();
  for (const [column, line] of lines.entries()) {
    for (const [at, x] of line.x.entries()) {
      let row = byPlace.get(x);
      if (!row) byPlace.set(x, (row = new Array<number | undefined>(lines.length).fill(undefined)));
      row[column] = line.y[at]!;
    }
  }
  const rows = [...byPlace].map(([x, row]) => ({ x, values: row })).sort((one, other) => one.x - other.x);
  return { names: lines.map((line) => (line.metric ? `${line.metric} ${line.name}` : line.name)), rows };
}

/** For spreadsheets, with all digits. A name that a spreadsheet would take for a formula is made text. */
export function toCsv({ names, rows }: ChartTable, axis: string): string {
  const head = [axis, ...names].map(cell).join(",");
  const body = rows.map(({ x, values }) => [x, ...values.map((value) => value ?? "")].join(","));
  return [head, ...body].join("\n") + "\n";
}

export function cell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
