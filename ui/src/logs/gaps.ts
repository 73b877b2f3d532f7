/** Lines that were not kept take one row, whatever their number: rows of the page and numbers of lines. Pure. */
import type { components } from "../api/schema";

export type Gap = components["schemas"]["Gap"];
export type Row = { number: number; gap?: undefined } | { number: number; gap: Gap };

/** How many rows it takes to show all lines. */
export function countRows(total: number, gaps: Gap[]): number {
  return gaps.reduce((rows, gap) => rows - gap.lines + 1, total);
}

/** What stands in a row. */
export function rowAt(row: number, gaps: Gap[]): Row {
  let number = row;
  for (const gap of gaps) {
    if (number < gap.first) break;
    if (number === gap.first) return { number, gap };
    number += gap.lines - 1;
  }
  return { number };
}

/** The row in which a line stands, or would. */
export function rowOf(number: number, gaps: Gap[]): number {
  let row = number;
  for (const gap of gaps) {
    if (number < gap.first) break;
    if (number < gap.first + gap.lines) return row - (number - gap.first);
    row -= gap.lines - 1;
  }
  return row;
}

/** Numbers of kept lines that follow each other, as pairs of the first and the last. */
export function stretches(rows: Row[]): [number, number][] {
  const found: [number, number][] = [];
  for (const { number, gap } of rows) {
    if (gap) continue;
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}
