/** The few figures of a run that people look for first. Pure. */
import { betterOf, isHeldOut, isLoss } from "../metrics";

/** What only counts. */
const COUNTER = /(^|[/_.])(epoch|step|global_step|iteration|lr|learning_rate)s?$/i;

/** Metrics with a last value, the most telling first: held-out ones before others, losses before scores before the rest. */
export function tellingMetrics(summary: Record<string, unknown>, keys: string[], many: number): string[] {
  const rank = (key: string) => (isHeldOut(key) ? 0 : 4) + (isLoss(key) ? 0 : betterOf(key) ? 1 : 2);
  return keys
    .filter((key) => !key.startsWith("system/") && !COUNTER.test(key) && typeof summary[key] === "number")
    .toSorted((one, other) => rank(one) - rank(other) || one.localeCompare(other))
    .slice(0, many);
}

/** The path of a small line through values, from the left to the right; gaps where there is no number. */
export function sparkline(values: ArrayLike<number>, width: number, height: number): string {
  const known = Array.from(values).filter(Number.isFinite);
  if (known.length < 2) return "";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let isDrawing = false;
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (Number.isFinite(value)) {
      const y = high > low ? 1 + ((high - value) / (high - low)) * (height - 2) : height / 2;
      path += `${isDrawing ? "L" : "M"}${(at * step).toFixed(1)} ${y.toFixed(1)}`;
    }
    isDrawing = Number.isFinite(value);
  }
  return path;
}
