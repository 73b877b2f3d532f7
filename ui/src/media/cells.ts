/** Numbers in the cells of a table, as texts and as bars. Pure. */
import { number } from "../format";

/** As the server writes what JSON has no word for. */
const ODD = new Map<unknown, number>([["nan", NaN], ["inf", Infinity], ["-inf", -Infinity]]);

export function cellText(cell: unknown, type: string): string {
  if (cell === null || cell === undefined) return "–";
  if (typeof cell === "number") return number(cell);
  if (type === "number" && ODD.has(cell)) return number(ODD.get(cell));
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

/** How far a number lies from the least of its column to the largest; null where there is nothing to compare. */
export function shareOf(cell: unknown, range: readonly [number, number] | undefined): number | null {
  if (typeof cell !== "number" || Number.isNaN(cell) || !range || !(range[1] > range[0])) return null;
  // Halves first: the whole distance may be more than a number holds.
  const share = (cell / 2 - range[0] / 2) / (range[1] / 2 - range[0] / 2);
  return Math.max(0, Math.min(1, share));
}
