/** A range that one value far off does not flatten, and that has the best one in it. Pure. */
import { quantile } from "../chart/range";

export function robustRange(values: number[], best?: number): { low: number; high: number } {
  const sorted = Float64Array.from(values).sort();
  if (!sorted.length) return { low: 0, high: 1 };
  const [first, third] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  const fence = 3 * (third - first || Math.abs(third) * 0.1 || 1);
  let [low, high] = [Math.max(sorted[0]!, first - fence), Math.min(sorted.at(-1)!, third + fence)];
  if (best !== undefined) [low, high] = [Math.min(low, best), Math.max(high, best)];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return { low: low - room, high: high + room };
}
