/** Marks on lines: where a run died or is alive, where a value was none, where a line leaves the range. */
import { count } from "../format";
import { lowerBound, nearest, type Line, type Resumed } from "./line";
import { scaleOf, strokeLine, write, type Drawing, type Frame, type Ink } from "./painter";
import { EARLY } from "./range";
import { placeOf, xText } from "./scales";

/** Something that says what it is to whoever points at it. */
export interface Mark {
  px: number;
  py: number;
  line: Line;
  tell: () => string;
  /** What stands beside it where there is room: what it is, and where. */
  label?: [string, string];
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
    const scale = scaleOf(frame, line);
    const first = lowerBound(x, from);
    for (let at = first; at < x.length && x[at]! <= frame.x.high; at++) {
      const isAbove = y[at]! > scale.high && y[at]! < Infinity;
      if (!isAbove && !(y[at]! < scale.low && y[at]! > -Infinity)) continue;
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

/** Values that were none so near each other, in px, are one stretch. */
const STRETCH_PX = 9;

/** Where values were none: a wedge hangs from the upper edge, with a line along it as far as that went on. */
function paintOdd(context: CanvasRenderingContext2D, frame: Frame, line: Line, xKind: Drawing["xKind"]): void {
  const { x, marks } = line;
  if (!marks) return;
  const top = frame.top - 4;
  for (let at = 0; at < marks.length; at++) {
    if (!marks[at] || x[at]! < frame.x.low || x[at]! > frame.x.high) continue;
    let [last, bits] = [at, marks[at]!];
    for (let next = at + 1; next < marks.length && x[next]! <= frame.x.high && placeOf(frame.x, x[next]!) - placeOf(frame.x, x[last]!) < STRETCH_PX; next++) {
      if (!marks[next]) continue;
      last = next;
      bits |= marks[next]!;
    }
    const [from, to] = [placeOf(frame.x, x[at]!), placeOf(frame.x, x[last]!)];
    const where = last === at ? `at ${xText(x[at]!, xKind)}` : `from ${xText(x[at]!, xKind)} to ${xText(x[last]!, xKind)}`;
    for (let px = from; px <= to; px += NEAR_PX) frame.marks.push({ px, py: frame.top, line, tell: () => `${oddWords(bits)} ${where}` });
    context.moveTo(from - 4, top);
    context.lineTo(from + 4, top);
    context.lineTo(from, frame.top + 3);
    if (to > from) context.rect(from, top, to - from, 2);
    at = last;
  }
}

/** A dead run's line ends in a ✕. */
export function paintMarks(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, ink: Ink): void {
  context.fillStyle = ink.death;
  context.beginPath();
  for (const line of drawing.lines) paintOdd(context, frame, line, drawing.xKind);
  context.fill();
  for (const line of drawing.lines) {
    for (const resumed of line.resumes ?? []) paintRing(context, frame, line, resumed, drawing, ink);
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
  const [px, py] = [placeOf(frame.x, line.x[at]!), placeOf(scaleOf(frame, line), values[at]!)];
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
  const [what, where = ""] = (line.end ?? "").split(", ended at ");
  frame.marks.push({ px, py, line, tell: () => line.end || "It died here", ...(what && { label: [what, where] as [string, string] }) });
  cross(context, px, py, ink);
}

function cross(context: CanvasRenderingContext2D, px: number, py: number, ink: Ink): void {
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

const RING_PX = 3.2;

/** Where a run went on: a ring on its line. */
function paintRing(context: CanvasRenderingContext2D, frame: Frame, line: Line, { x, attempt, steps, isRewind }: Resumed, { xKind }: Drawing, ink: Ink): void {
  const at = nearest(line.x, x);
  if (at < 0 || x < frame.x.low || x > frame.x.high) return;
  const [px, py] = [placeOf(frame.x, x), placeOf(scaleOf(frame, line), line.y[at]!)];
  if (!Number.isFinite(py) || py < frame.top - 2 || py > frame.bottom + 2) return;
  const [word, gone] = isRewind ? ["Went back to", "abandoned"] : ["Resumed at", "lost"];
  const lost = steps > 0 ? `${count(steps, "step")} ${gone}` : `nothing ${gone}`;
  frame.marks.push({ px, py, line, tell: () => `${word} ${xText(x, xKind)}: attempt ${attempt}, ${lost}`, ...(!line.shape && { label: [`${word} ${xText(x, xKind).replace("step ", "")}`, lost] as [string, string] }) });
  context.beginPath();
  context.arc(px, py, RING_PX, 0, 2 * Math.PI);
  context.fillStyle = ink.ground;
  context.fill();
  context.strokeStyle = line.colour;
  context.lineWidth = 1.6;
  context.stroke();
}

/** What was done before a resume and is lost: pale, up to a paler cross. */
export function paintLost(context: CanvasRenderingContext2D, frame: Frame, line: Line, width: number, ink: Ink): void {
  const before = context.globalAlpha;
  for (const { lostX, lostY } of line.resumes ?? []) {
    if (!lostX.length) continue;
    context.globalAlpha = 0.38;
    context.lineWidth = width;
    strokeLine(context, frame, { ...line, x: lostX }, lostY);
    const last = lostX.length - 1;
    const [px, py] = [placeOf(frame.x, lostX[last]!), placeOf(scaleOf(frame, line), lostY[last]!)];
    context.globalAlpha = 0.7;
    if (lostX[last]! <= frame.x.high && py >= frame.top && py <= frame.bottom) cross(context, px, py, ink);
  }
  context.globalAlpha = before;
}

const [MOST_LABELS, LABEL_ROW, LABEL_GAP] = [8, 15, 14];

/** Words beside the marks that have some, none over another: those that find no room are told to whoever points at them. */
export function paintLabels(context: CanvasRenderingContext2D, frame: Frame, ink: Ink): void {
  const taken: { left: number; right: number; top: number; bottom: number }[] = [];
  context.font = ink.font;
  context.lineWidth = 1;
  for (const { px, py, label } of frame.marks.filter((mark) => mark.label).slice(0, MOST_LABELS)) {
    const rows = label!.filter(Boolean);
    const width = Math.max(...rows.map((text) => context.measureText(text).width)) + 8;
    const isLeft = px + width > frame.right;
    const [left, right] = isLeft ? [px - width, px] : [px, px + width];
    const height = rows.length * LABEL_ROW;
    const tops = [py - LABEL_GAP - height, py - 5 * LABEL_GAP - height, py + LABEL_GAP, py + 5 * LABEL_GAP, frame.top];
    const isFree = (top: number) => top >= frame.top - 2 && top + height <= frame.bottom && !taken.some((each) => left < each.right && right > each.left && top < each.bottom && top + height > each.top);
    const top = tops.find(isFree);
    if (top === undefined) continue;
    taken.push({ left, right, top, bottom: top + height });
    context.strokeStyle = ink.grid;
    context.beginPath();
    context.moveTo(px, top < py ? top : top + height);
    context.lineTo(px, top < py ? py - 6 : py + 6);
    context.stroke();
    context.textAlign = isLeft ? "right" : "left";
    context.fillStyle = label![0].startsWith("Resumed") ? ink.text : ink.death;
    for (const [at, text] of rows.entries()) {
      if (at) context.fillStyle = ink.text;
      write(context, text, px + (isLeft ? -5 : 5), top + 11 + at * LABEL_ROW, ink.ground);
    }
  }
}
