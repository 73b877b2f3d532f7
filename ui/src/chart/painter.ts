/** Draws lines on a canvas. */
import { lowerBound, type Limit, type Line, type Moment, type Ticks, type XKind, type YKind } from "./line";
import { paintExits, paintLabels, paintLost, paintMarks, type Mark } from "./marks";
import { robustRange } from "./range";
import { makeScale, padded, placeOf, valueAt, xTicks, yTicks, type Scale, type Span, type Tick } from "./scales";

export interface Drawing {
  lines: Line[];
  xKind: XKind;
  yKind: YKind;
  isLog: boolean;
  zoom: Span | null;
  /** Fixed ends of the y axis; null where they go by the lines. */
  low?: number | null;
  high?: number | null;
  /** Only the range in which most lines lie, and who must be in it; null for all values. */
  robust: ReadonlySet<string> | null;
  /** What marks say stands beside them. */
  hasLabels?: boolean;
  /** As thin as can be: software rendering is ten times faster then, and machines without a graphics card are common. */
  isQuick?: boolean;
  limits: Limit[];
  moments: Moment[];
  ticks: Ticks[];
  /** How far below the upper edge the range ends, where something stands above it. */
  top?: number;
}

export interface Ink {
  text: string;
  grid: string;
  death: string;
  warn: string;
  ground: string;
  /** How much of its colour a band has. */
  band: number;
  font: string;
}

/** Where things are on the canvas, in CSS pixels. */
export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  x: Scale;
  y: Scale;
  /** Of the lines that have an axis at the right. */
  y2: Scale | null;
  /** The lines that lie outside, of those that could lie inside. */
  outliers: Line[];
  /** What can be pointed at. */
  marks: Mark[];
}

/** The axis that a line is held against. */
export function scaleOf(frame: Frame, line: Pick<Line, "isRight">): Scale {
  return (line.isRight && frame.y2) || frame.y;
}

const CORNER = { width: 150, height: 26 };

/** Whether fewer points lie in the lower right corner than in the upper one. */
export function isLowerFree(frame: Frame, lines: Line[]): boolean {
  let balance = 0;
  for (const line of lines) {
    const { x, y } = line;
    for (let at = lowerBound(x, valueAt(frame.x, frame.right - CORNER.width)); at < x.length && x[at]! <= frame.x.high; at++) {
      const py = placeOf(scaleOf(frame, line), y[at]!);
      if (py >= frame.top && py < frame.top + CORNER.height) balance++;
      else if (py > frame.bottom - CORNER.height && py <= frame.bottom) balance--;
    }
  }
  return balance > 0;
}

const MOST_BANDS = 3;
/** More lines than this are no clearer for what lies behind them, nor for where each leaves the chart. */
const MOST_RAW = 8;
/** Up to so many lines, so wide. */
const WIDTHS: [number, number][] = [[5, 2], [20, 1.5], [50, 1.25]];
const TICK_PX = 7;
const LEAST_BYTES_SHARE = 0.1;
const BOTTOM = 20;
const RIGHT = 12;
const TOP = 8;

export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: token("--text-soft"),
    grid: token("--line"),
    death: token("--death"),
    warn: token("--warn"),
    ground: token("--surface"),
    band: Number(token("--band")),
    font: `11px ${token("--sans")}`,
  };
}

/** The values that are shown on each axis: all of them, or those inside the zoom; and which lines they leave out. */
export function findSpans(drawing: Drawing): { x: Span; y: Span; y2: Span | null; outliers: Line[] } {
  const right = drawing.lines.filter((line) => line.isRight);
  if (right.length && right.length < drawing.lines.length) {
    // Fixed ends are those of the axis at the left.
    const own = findSpans({ ...drawing, lines: drawing.lines.filter((line) => !line.isRight) });
    const other = findSpans({ ...drawing, lines: right.map((line) => ({ ...line, isRight: false })), low: null, high: null, limits: [], moments: [] });
    const x = { low: Math.min(own.x.low, other.x.low), high: Math.max(own.x.high, other.x.high) };
    return { x, y: own.y, y2: other.y, outliers: [...own.outliers, ...right.filter((line) => other.outliers.some((each) => each.x === line.x && each.y === line.y))] };
  }
  const x = { low: Infinity, high: -Infinity };
  const y = { low: Infinity, high: -Infinity };
  for (const line of drawing.lines) {
    const count = line.x.length;
    if (!count) continue;
    x.low = Math.min(x.low, line.x[0]!);
    x.high = Math.max(x.high, line.x[count - 1]!);
    widen(y, line, drawing);
  }
  const { span, outliers } = drawing.robust ? robustRange(drawing.lines, { ...drawing, kept: drawing.robust }) : { span: null, outliers: [] };
  if (span) [y.low, y.high] = [span.low, span.high];
  for (const moment of drawing.moments) if (!drawing.zoom) x.high = Math.max(x.high, moment.x);
  for (const limit of drawing.limits) {
    // A limit far above the values would flatten them.
    if (limit.y <= y.high * 1.6 && limit.y >= y.low) y.high = Math.max(y.high, limit.y);
  }
  if (drawing.yKind === "percent" && !drawing.isLog && y.low > 0) y.low = 0;
  // Memory that moves by a page or two is memory that does not move.
  if (drawing.yKind === "bytes" && !drawing.isLog && y.high > 0) y.low = Math.max(0, Math.min(y.low, y.high * (1 - LEAST_BYTES_SHARE)));
  return { x: drawing.zoom ?? wide(x), y: fixed(padded(y, drawing.isLog), drawing), y2: null, outliers };
}

/** Where people said so, an axis ends there, however the lines lie. */
function fixed(span: Span, { low, high, isLog }: Drawing): Span {
  const found = { ...span };
  if (low != null && (!isLog || low > 0)) found.low = low;
  if (high != null && (!isLog || high > 0)) found.high = high;
  if (found.low < found.high) return found;
  // One end lies beyond all lines: the other one is as far away as it was.
  const room = isLog ? 10 : span.high - span.low;
  if (low != null) return { low, high: isLog ? low * room : low + room };
  return { low: isLog ? found.high / room : found.high - room, high: found.high };
}

function wide(span: Span): Span {
  if (!(span.low <= span.high)) return { low: 0, high: 1 };
  return span.low === span.high ? { low: span.low - 0.5, high: span.high + 0.5 } : span;
}

function widen(span: Span, line: Line, drawing: Drawing): void {
  const { zoom, isLog } = drawing;
  const first = zoom ? Math.max(0, lowerBound(line.x, zoom.low) - 1) : 0;
  const last = zoom ? Math.min(line.x.length, lowerBound(line.x, zoom.high) + 1) : line.x.length;
  const hasBand = isBanded(line, drawing);
  const lows = hasBand ? line.low! : line.y;
  const highs = hasBand ? line.high! : line.y;
  for (let at = first; at < last; at++) {
    const low = lows[at]!;
    const high = highs[at]!;
    if (low < span.low && (!isLog || low > 0) && low > -Infinity) span.low = low;
    if (high > span.high && high < Infinity && (!isLog || high > 0)) span.high = high;
  }
}

function isBanded(line: Line, drawing: Drawing): boolean {
  return !!line.low && !!line.high && (line.isBanded || drawing.lines.length <= MOST_BANDS);
}

/** Draw everything, and say where it went. */
export function paint(canvas: HTMLCanvasElement, drawing: Drawing, ink: Ink, size: Size): Frame {
  const ratio = window.devicePixelRatio || 1;
  return paintOn(prepare(canvas, size, ratio), drawing, ink, size, Math.max(1, Math.round(ratio)) / ratio);
}

export interface Size {
  width: number;
  height: number;
}

/** On any ground that takes the orders of a canvas; `thin` is how wide the thinnest line is. */
export function paintOn(context: CanvasRenderingContext2D, drawing: Drawing, ink: Ink, size: Size, thin = 1): Frame {
  const spans = findSpans(drawing);
  context.font = ink.font;
  const [top, bottom] = [drawing.top ?? TOP, size.height - BOTTOM];
  const ticks = yTicks(spans.y, Math.max(2, Math.floor((bottom - top) / 34)), drawing.yKind, drawing.isLog);
  const ticks2 = spans.y2 ? yTicks(spans.y2, Math.max(2, Math.floor((bottom - top) / 34)), drawing.yKind, drawing.isLog) : [];
  const roomFor = (texts: Tick[]) => Math.ceil(Math.max(26, ...texts.map((tick) => context.measureText(tick.text).width + 10)));
  const left = roomFor(ticks);
  const right = size.width - (spans.y2 ? roomFor(ticks2) : RIGHT);
  const frame: Frame = {
    ...size,
    left,
    right,
    top,
    bottom,
    x: makeScale(spans.x, left, right),
    y: makeScale(spans.y, bottom, top, drawing.isLog),
    y2: spans.y2 && makeScale(spans.y2, bottom, top, drawing.isLog),
    outliers: spans.outliers,
    marks: [],
  };
  paintAxes(context, frame, ticks, xTicks(spans.x, Math.max(2, Math.floor((frame.right - left) / 56)), drawing.xKind), ink);
  paintRightAxis(context, frame, ticks2, ink);
  context.save();
  context.beginPath();
  context.rect(left, top - 4, frame.right - left + (frame.y2 ? 4 : RIGHT), bottom - top + 5);
  context.clip();
  paintLines(context, frame, drawing, ink, thin);
  paintMarks(context, frame, drawing, ink);
  paintLimits(context, frame, drawing, ink);
  paintTicks(context, frame, drawing.ticks);
  if (drawing.hasLabels) paintLabels(context, frame, ink);
  context.restore();
  if (drawing.robust) paintExits(context, frame, drawing.lines.length <= MOST_RAW ? drawing.lines : frame.outliers);
  return frame;
}

function prepare(canvas: HTMLCanvasElement, size: Size, ratio: number): CanvasRenderingContext2D {
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  return context;
}

function paintAxes(context: CanvasRenderingContext2D, frame: Frame, ys: Tick[], xs: Tick[], ink: Ink): void {
  context.strokeStyle = ink.grid;
  context.fillStyle = ink.text;
  context.lineWidth = 1;
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.beginPath();
  for (const tick of ys) {
    const place = Math.round(placeOf(frame.y, tick.value)) + 0.5;
    if (place < frame.top - 1 || place > frame.bottom + 1) continue;
    context.moveTo(frame.left, place);
    context.lineTo(frame.right, place);
    context.fillText(tick.text, frame.left - 7, place);
  }
  context.stroke();
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  let free = 0;
  for (const tick of xs) {
    const half = context.measureText(tick.text).width / 2;
    const place = Math.min(placeOf(frame.x, tick.value), frame.width - half - 1);
    if (place - half < free) continue;
    context.fillText(tick.text, place, frame.height - 5);
    free = place + half + 6;
  }
}

/** Without lines of its own: two grids over each other are none. */
function paintRightAxis(context: CanvasRenderingContext2D, frame: Frame, ticks: Tick[], ink: Ink): void {
  if (!frame.y2) return;
  context.fillStyle = ink.text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const tick of ticks) {
    const place = placeOf(frame.y2, tick.value);
    if (place >= frame.top - 1 && place <= frame.bottom + 1) context.fillText(tick.text, frame.right + 7, place);
  }
  context.textBaseline = "alphabetic";
}

export function widthOf(lines: number): number {
  return WIDTHS.find(([many]) => lines <= many)?.[1] ?? 1;
}

/** A baseline is wider than what is compared with it, a mean than its band; further metrics of a chart are thin. */
function lineWidthOf(line: Line, lines: number, thin: number): number {
  if (line.isSparse || line.shape) return thin;
  return Math.max(thin, line.isBaseline ? 2.75 : line.isBanded ? 2 : widthOf(lines));
}

function paintLines(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, ink: Ink, thin: number): void {
  context.lineJoin = "bevel";
  const { lines } = drawing;
  for (const line of lines) {
    if (isBanded(line, drawing)) paintBand(context, frame, line, ink.band);
    if (line.isFilled) paintGround(context, frame, line);
  }
  context.lineWidth = thin;
  context.globalAlpha = 0.22;
  if (lines.length <= MOST_RAW) for (const line of lines) if (line.raw && line.hasRaw !== false && !line.isBanded) strokeLine(context, frame, line, line.raw);
  for (const line of lines) if (line.resumes) paintLost(context, frame, line, lineWidthOf(line, lines.length, thin), ink);
  context.globalAlpha = lines.length > WIDTHS.at(-1)![0] ? 0.7 : 1;
  for (const line of lines) {
    context.lineWidth = drawing.isQuick ? thin : lineWidthOf(line, lines.length, thin);
    strokeLine(context, frame, line, line.y);
    if (line.isSparse || line.shape) paintDots(context, frame, line);
  }
  context.globalAlpha = 1;
}

const [DOT_PX, DOTS_EVERY_PX] = [2, 40];

/** Each point of a sparse metric; of others some, in a shape for each metric of the chart. */
function paintDots(context: CanvasRenderingContext2D, frame: Frame, line: Line): void {
  const { x, y, colour, shape = 0, isSparse } = line;
  const scale = scaleOf(frame, line);
  context.fillStyle = colour;
  context.beginPath();
  const last = Math.min(x.length, lowerBound(x, frame.x.high) + 1);
  let free = -Infinity;
  for (let at = lowerBound(x, frame.x.low); at < last; at++) {
    const [px, py] = [placeOf(frame.x, x[at]!), placeOf(scale, y[at]!)];
    if (!Number.isFinite(py) || (!isSparse && px < free)) continue;
    free = px + DOTS_EVERY_PX;
    dot(context, px, py, shape);
  }
  context.fill();
}

/** A disc, a square, a triangle. */
export function dot(context: CanvasRenderingContext2D, px: number, py: number, shape: number): void {
  if (shape % 3 === 2) context.rect(px - DOT_PX, py - DOT_PX, 2 * DOT_PX, 2 * DOT_PX);
  else if (shape > 0 && shape % 3 === 0) {
    context.moveTo(px - 3, py + DOT_PX);
    context.lineTo(px + 3, py + DOT_PX);
    context.lineTo(px, py - 3);
  } else {
    context.moveTo(px + DOT_PX, py);
    context.arc(px, py, DOT_PX, 0, 2 * Math.PI);
  }
}

/** Small marks that stand on the axis. */
function paintTicks(context: CanvasRenderingContext2D, frame: Frame, ticks: Ticks[]): void {
  context.lineWidth = 1;
  for (const { colour, x } of ticks) {
    context.strokeStyle = colour;
    context.beginPath();
    for (const value of x) {
      const place = Math.round(placeOf(frame.x, value)) + 0.5;
      if (place < frame.left || place > frame.right + 1) continue;
      context.moveTo(place, frame.bottom);
      context.lineTo(place, frame.bottom - TICK_PX);
    }
    context.stroke();
  }
}

function paintGround(context: CanvasRenderingContext2D, frame: Frame, { x, y, colour }: Line): void {
  context.fillStyle = colour;
  context.globalAlpha = 0.14;
  context.beginPath();
  let last = NaN;
  for (let at = 0; at < x.length; at++) {
    if (!Number.isFinite(y[at]!)) continue;
    if (Number.isNaN(last)) context.moveTo(placeOf(frame.x, x[at]!), frame.bottom);
    last = placeOf(frame.x, x[at]!);
    context.lineTo(last, placeOf(frame.y, y[at]!));
  }
  if (!Number.isNaN(last)) context.lineTo(last, frame.bottom);
  context.fill();
  context.globalAlpha = 1;
}

function paintBand(context: CanvasRenderingContext2D, frame: Frame, line: Line, alpha: number): void {
  const { x, low, high } = line as Required<Line>;
  const scale = scaleOf(frame, line);
  const floor = scale.isLog ? scale.low : -Infinity;
  context.fillStyle = line.colour;
  context.globalAlpha = alpha;
  context.beginPath();
  const count = x.length;
  for (let at = 0; at < count; at++) {
    if (high[at]! >= low[at]!) context.lineTo(placeOf(frame.x, x[at]!), placeOf(scale, Math.max(floor, high[at]!)));
  }
  for (let at = count - 1; at >= 0; at--) {
    if (high[at]! >= low[at]!) context.lineTo(placeOf(frame.x, x[at]!), placeOf(scale, Math.max(floor, low[at]!)));
  }
  context.fill();
  context.globalAlpha = 1;
}

/** One line in its colour, with the width that is set. A gap stays a gap; a point alone becomes a dot. */
export function strokeLine(context: CanvasRenderingContext2D, frame: Frame, line: Pick<Line, "x" | "colour" | "isRight">, values: Float64Array): void {
  const { x } = line;
  const first = Math.max(0, lowerBound(x, frame.x.low) - 1);
  const last = Math.min(x.length, lowerBound(x, frame.x.high) + 2);
  const { factor: xFactor, offset: xOffset } = frame.x;
  const { factor: yFactor, offset: yOffset, isLog } = scaleOf(frame, line);
  context.strokeStyle = line.colour;
  context.beginPath();
  let drawn = 0;
  for (let at = first; at < last; at++) {
    const value = isLog ? Math.log10(values[at]!) : values[at]!;
    if (value - value !== 0) {
      drawn = 0;
      continue;
    }
    const px = x[at]! * xFactor + xOffset;
    const py = value * yFactor + yOffset;
    if (drawn++ === 0) {
      context.moveTo(px, py);
      const next = values[at + 1];
      if (at + 1 >= last || next === undefined || next - next !== 0) context.rect(px - 1, py - 1, 2, 2);
    } else context.lineTo(px, py);
  }
  context.stroke();
}

/** Words that stay legible on whatever line runs through them. */
export function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, ground: string): void {
  const ink = context.fillStyle;
  const width = context.measureText(text).width + 6;
  context.fillStyle = ground;
  context.globalAlpha = 0.8;
  context.fillRect(context.textAlign === "right" ? x - width + 3 : x - 3, y - 11, width, 15);
  context.globalAlpha = 1;
  context.fillStyle = ink;
  context.fillText(text, x, y);
}

function paintLimits(context: CanvasRenderingContext2D, frame: Frame, drawing: Drawing, ink: Ink): void {
  context.lineWidth = 1.4;
  context.font = ink.font;
  for (const limit of drawing.limits) {
    const place = placeOf(frame.y, limit.y);
    if (!(place >= frame.top - 2 && place <= frame.bottom)) continue;
    context.strokeStyle = context.fillStyle = limit.isDeadly === false ? ink.warn : ink.death;
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(frame.left, place);
    context.lineTo(frame.right, place);
    context.stroke();
    context.textAlign = "left";
    write(context, limit.label, frame.left + 6, place < frame.top + 14 ? place + 13 : place - 5, ink.ground);
  }
  context.setLineDash([]);
  for (const moment of drawing.moments) {
    const place = placeOf(frame.x, moment.x);
    if (!(place >= frame.left && place <= frame.right + 1)) continue;
    context.strokeStyle = context.fillStyle = moment.isDeadly === false ? ink.warn : ink.death;
    context.beginPath();
    context.moveTo(place, frame.top - 4);
    context.lineTo(place, frame.bottom);
    context.stroke();
    const texts = moment.label.split("\n");
    const isRight = place + Math.max(...texts.map((text) => context.measureText(text).width)) + 8 > frame.width;
    context.textAlign = isRight ? "right" : "left";
    // Below a limit that runs through where it would stand.
    const crossed = drawing.limits.map((limit) => placeOf(frame.y, limit.y)).find((y) => y > frame.top - 4 && y < frame.top + 12 + texts.length * 15);
    const top = crossed === undefined ? frame.top + 10 : crossed + 15;
    for (const [at, text] of texts.entries()) {
      if (at) context.fillStyle = ink.text;
      write(context, text, place + (isRight ? -6 : 6), top + at * 15, ink.ground);
    }
  }
}
