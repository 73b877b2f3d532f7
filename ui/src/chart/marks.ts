/** Marks on lines: where a run died or is alive, where a value was none, where a line leaves the range. */
import { lowerBound, type Line } from "./line";
import type { Drawing, Frame, Ink } from "./painter";
import { EARLY } from "./range";
import { placeOf, xText } from "./scales";

/** Something that says what it is to whoever points at it. */
export interface Mark {
  px: number;
  py: number;
  line: Line;
  tell: () => string;
}

const NEAR_PX = 7;

export function marksNear({ marks }: Frame, px: number, py: number): Mark[] {
  return marks.filter((mark) => Math.abs(mark.px - px) <= NEAR_PX && Math.abs(mark.py - py) <= NEAR_PX);
}

function oddWords(bits: number): string {
  return [bits & 1 && "NaN", bits & 2 && "Inf", bits & 4 && "−Inf"].filter(Boolean).join(", ");
}

/** A wedge in its colour where a line leaves the range, but for the first steps, which are seldom in it. */
export function paintExits(context: CanvasRenderingContext2D, frame: Frame, lines: Line[]): void {
  const from = frame.x.low + EARLY * (frame.x.high - frame.x.low);
  for (const line of lines) {
    const { x, y, colour } = line;
    const first = lowerBound(x, from);
    for (let at = first; at < x.length && x[at]! <= frame.x.high; at++) {
      const isAbove = y[at]! > frame.y.high && y[at]! < Infinity;
      if (!isAbove && !(y[at]! < frame.y.low && y[at]! > -Infinity)) continue;
      const [px, py, way] = [placeOf(frame.x, x[at]!), isAbove ? frame.top - 4 : frame.bottom + 1, isAbove ? 1 : -1];
      frame.marks.push({ px, py: py + 3 * way, line, tell: () => `Leaves the range ${isAbove ? "upwards" : "downwards"}` });
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(px - 4.5, py + 6 * way);
      context.lineTo(px, py);
      context.lineTo(px + 4.5, py + 6 * way);
      context.fill();
      break;
    }
  }
}

/** A dead run's line ends in a ✕; where a value was none, a small wedge hangs from the upper edge. */
export function paintMarks(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, ink: Ink): void {
  context.fillStyle = ink.death;
  context.beginPath();
  for (const line of drawing.lines) {
    const { x, marks } = line;
    if (!marks) continue;
    for (let at = 0; at < marks.length; at++) {
      if (!marks[at]) continue;
      const px = placeOf(frame.x, x[at]!);
      frame.marks.push({ px, py: frame.top, line, tell: () => `${oddWords(marks[at]!)} at ${xText(x[at]!, drawing.xKind)}` });
      context.moveTo(px - 4, frame.top - 4);
      context.lineTo(px + 4, frame.top - 4);
      context.lineTo(px, frame.top + 3);
    }
  }
  context.fill();
  for (const line of drawing.lines) {
    if (line.isLive) paintEnd(context, frame, line);
    if (line.hasDied) paintCross(context, frame, line, ink);
  }
}

/** The last value as it was logged, if it is in sight. */
function lastOf(line: Line, frame: Frame): [number, number] | null {
  const values = line.raw ?? line.y;
  let at = line.x.length - 1;
  while (at >= 0 && !Number.isFinite(values[at]!)) at--;
  if (at < 0 || line.x[at]! < frame.x.low || line.x[at]! > frame.x.high) return null;
  const [px, py] = [placeOf(frame.x, line.x[at]!), placeOf(frame.y, values[at]!)];
  return Number.isFinite(py) ? [px, py] : null;
}

/** A line whose run is alive ends in a dot that glows. */
function paintEnd(context: CanvasRenderingContext2D, frame: Frame, line: Line): void {
  const found = lastOf(line, frame);
  if (!found || found[1] < frame.top - 2 || found[1] > frame.bottom + 2) return;
  context.fillStyle = line.colour;
  for (const [radius, alpha] of [[5.5, 0.2], [2.6, 1]] as const) {
    context.globalAlpha = alpha;
    context.beginPath();
    context.arc(...found, radius, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}

/** On the value as it was logged; one out of range has its cross at the edge. */
function paintCross(context: CanvasRenderingContext2D, frame: Frame, line: Line, ink: Ink): void {
  const found = lastOf(line, frame);
  if (!found) return;
  const [px, py] = [found[0], Math.max(frame.top, Math.min(frame.bottom - 2, found[1]))];
  frame.marks.push({ px, py, line, tell: () => line.end || "It died here" });
  context.lineCap = "round";
  for (const [width, colour] of [[4.6, ink.ground], [1.8, ink.death]] as const) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(px - 3.5, py - 3.5);
    context.lineTo(px + 3.5, py + 3.5);
    context.moveTo(px - 3.5, py + 3.5);
    context.lineTo(px + 3.5, py - 3.5);
    context.stroke();
  }
  context.lineCap = "butt";
}
