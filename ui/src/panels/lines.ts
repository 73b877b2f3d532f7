/** Lines of runs through parallel axes: drawn, and found again under a pointer. */
import type { Axis } from "./axis";

export interface Shape {
  axes: Axis[];
  /** From the number of an axis, and from a place on it, to pixels. */
  x: (axis: number) => number;
  y: (place: number) => number;
  /** Curves are easier to follow through an axis; of very many lines nobody follows one, and straight ones cost less. */
  isCurved: boolean;
}

/** Strokes runs, those of one colour at once; a run without a place on an axis has a gap there. */
export function strokeLines(context: CanvasRenderingContext2D, shape: Shape, runs: number[], colourOf: (run: number) => string, isWide = false): void {
  // A line of one device pixel is many times cheaper where no graphics card draws it.
  if (!isWide) context.lineWidth = 1 / (devicePixelRatio || 1);
  const byColour = new Map<string, number[]>();
  for (const run of runs) {
    const colour = colourOf(run);
    const found = byColour.get(colour);
    if (found) found.push(run);
    else byColour.set(colour, [run]);
  }
  const xs = shape.axes.map((_, at) => shape.x(at));
  for (const [colour, members] of byColour) {
    context.strokeStyle = colour;
    context.beginPath();
    for (const run of members) trace(context, shape, xs, run);
    context.stroke();
  }
}

function trace(context: CanvasRenderingContext2D, { axes, y, isCurved }: Shape, xs: number[], run: number): void {
  let isDown = false;
  let last = 0;
  for (let at = 0; at < axes.length; at++) {
    const place = axes[at]!.places[run]!;
    if (Number.isNaN(place)) {
      isDown = false;
      continue;
    }
    const py = y(place);
    if (!isDown) context.moveTo(xs[at]!, py);
    else if (isCurved) {
      const middle = (xs[at - 1]! + xs[at]!) / 2;
      context.bezierCurveTo(middle, last, middle, py, xs[at]!, py);
    } else context.lineTo(xs[at]!, py);
    last = py;
    isDown = true;
  }
}

/** How much of the way up a curve between two axes has gone at a share of the way across. */
function risen(across: number): number {
  let [low, high] = [0, 1];
  for (let round = 0; round < 20; round++) {
    const middle = (low + high) / 2;
    if (1.5 * middle * (1 - middle) + middle ** 3 < across) low = middle;
    else high = middle;
  }
  return low * low * (3 - 2 * low);
}

/** The run whose line is nearest to a point, among those inside; -1 where none is near. */
export function nearestLine({ axes, x, y, isCurved }: Shape, inside: Uint8Array, px: number, py: number, within: number): number {
  let left = 0;
  while (left < axes.length - 2 && x(left + 1) < px) left++;
  const [from, to] = [x(left), x(left + 1)];
  const across = Math.max(0, Math.min(1, (px - from) / (to - from)));
  const share = isCurved ? risen(across) : across;
  const [one, other] = [axes[left]!.places, axes[left + 1]!.places];
  let [best, least] = [-1, within];
  for (let run = 0; run < inside.length; run++) {
    if (!inside[run]) continue;
    const distance = Math.abs(y(one[run]! + (other[run]! - one[run]!) * share) - py);
    if (distance < least) [best, least] = [run, distance];
  }
  return best;
}
