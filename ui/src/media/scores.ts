/** How sure a model was of the boxes of a picture, class by class. Pure. */
import { count } from "../format";
import type { Box } from "./about";

/** So many steps at least lead from one end of the scores to the other. */
const STEPS = 100;
const DIGITS = 2;

/** The boxes of one class. */
export interface Tally {
  boxes: number;
  /** Those whose score is high enough, and those that have none. */
  shown: number;
  /** Null where none of them has a score. */
  scores: { low: number; high: number } | null;
}

export interface Ends {
  low: number;
  high: number;
  step: number;
}

export function isSure(box: Box, least: number): boolean {
  return box.score === null || box.score >= least;
}

export function talliesOf(boxes: Box[], least: number): Map<string, Tally> {
  const found = new Map<string, Tally>();
  for (const box of boxes) {
    const { boxes: many, shown, scores } = found.get(box.of.id) ?? { boxes: 0, shown: 0, scores: null };
    found.set(box.of.id, {
      boxes: many + 1,
      shown: shown + Number(isSure(box, least)),
      scores: box.score === null ? scores : { low: Math.min(box.score, scores?.low ?? Infinity), high: Math.max(box.score, scores?.high ?? -Infinity) },
    });
  }
  return found;
}

/** From 0 to 1 unless some lie beyond, as percent or logarithms do; null where there are none. */
export function scoreEnds(boxes: Box[]): Ends | null {
  const scores = boxes.map((box) => box.score).filter((score) => score !== null);
  if (!scores.length) return null;
  const [low, high] = [Math.min(0, ...scores), Math.max(1, ...scores)];
  const step = 10 ** Math.floor(Math.log10((high - low) / STEPS) + 1e-9);
  return { low: rounded(Math.floor(low / step) * step), high: rounded(Math.ceil(high / step) * step), step };
}

/** `0.91`, or of several `2 · 0.58 – 0.97`; `1 of 2` where a score hides one. */
export function tallyText({ boxes, shown, scores }: Tally): string {
  const many = shown < boxes ? `${shown} of ${boxes}` : boxes > 1 || !scores ? String(boxes) : "";
  return [many, scores ? rangeText(scores, "–") : ""].filter(Boolean).join(" · ");
}

/** The same for who hears it. */
export function tallyWords({ boxes, shown, scores }: Tally): string {
  const many = shown < boxes ? `${shown} of ${count(boxes, "box", "boxes")}` : count(boxes, "box", "boxes");
  return scores ? `${many}, score ${rangeText(scores, "to")}` : many;
}

export function scoreText(score: number): string {
  return score.toFixed(DIGITS).replace(/^-/, "−");
}

function rangeText({ low, high }: { low: number; high: number }, to: string): string {
  const [from, until] = [scoreText(low), scoreText(high)];
  return from === until ? from : `${from} ${to} ${until}`;
}

function rounded(value: number): number {
  return Number(value.toPrecision(12));
}
