/** From values to places on a chart, and the round values that its axes name. */
import * as format from "../format";
import type { XKind, YKind } from "./line";

export interface Span {
  low: number;
  high: number;
}

export interface Tick {
  value: number;
  text: string;
}

/** Maps values to pixels: place = value' * factor + offset, where value' is the logarithm on a log scale. */
export interface Scale extends Span {
  isLog: boolean;
  factor: number;
  offset: number;
}

export function makeScale(span: Span, start: number, end: number, isLog = false): Scale {
  const low = isLog ? Math.log10(span.low) : span.low;
  const high = isLog ? Math.log10(span.high) : span.high;
  const factor = (end - start) / (high - low || 1);
  return { ...span, isLog, factor, offset: start - low * factor };
}

export function placeOf(scale: Scale, value: number): number {
  return (scale.isLog ? Math.log10(value) : value) * scale.factor + scale.offset;
}

export function valueAt(scale: Scale, place: number): number {
  const value = (place - scale.offset) / scale.factor;
  return scale.isLog ? 10 ** value : value;
}

/** A little room around the values, so that no line runs along the edge. */
export function padded(span: Span, isLog: boolean): Span {
  if (!(span.low <= span.high)) return isLog ? { low: 0.1, high: 10 } : { low: 0, high: 1 };
  if (isLog) {
    const ratio = Math.max((span.high / span.low) ** 0.05, 1.05);
    return { low: span.low / ratio, high: span.high * ratio };
  }
  // A line that does not move lies in the middle, away from the values beside it.
  const room = (span.high - span.low) * 0.06 || Math.abs(span.high) * 0.25 || 1;
  const low = span.low - room;
  return { low: span.low >= 0 && low < 0 ? 0 : low, high: span.high + room };
}

function roundStep(rough: number, steps = [1, 2, 2.5, 5, 10]): number {
  const unit = 10 ** Math.floor(Math.log10(rough));
  return unit * (steps.find((each) => each * unit >= rough * 0.999) ?? 10);
}

function stepped(span: Span, step: number, text: (value: number) => string): Tick[] {
  const found: Tick[] = [];
  for (let at = Math.ceil(span.low / step - 1e-9); at * step <= span.high * (1 + 1e-12) + 1e-300; at++) {
    const value = at * step;
    found.push({ value, text: text(Math.abs(value) < step * 1e-9 ? 0 : value) });
    if (found.length > 50) break;
  }
  return found;
}

export function yTicks(span: Span, many: number, kind: YKind, isLog: boolean): Tick[] {
  if (isLog) return logTicks(span, many);
  const rough = (span.high - span.low) / Math.max(1, many);
  if (kind === "bytes") {
    const unit = 1024 ** Math.max(0, Math.floor(Math.log(Math.max(1, span.high)) / Math.log(1024)));
    const step = roundStep(rough / unit) * unit;
    return stepped(span, step, (value) => (value === 0 ? "0" : format.bytes(value, step)));
  }
  const step = roundStep(rough);
  const unit = kind === "percent" ? " %" : "";
  return stepped(span, step, (value) => format.tick(value, step) + unit);
}

function logTicks(span: Span, many: number): Tick[] {
  const first = Math.ceil(Math.log10(span.low) - 1e-9);
  const last = Math.floor(Math.log10(span.high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / many));
  const found: Tick[] = [];
  for (let power = first; power <= last; power += every) found.push(logTick(10 ** power));
  if (found.length >= 2) return found;
  // Within one power of ten: round values of a linear axis say more.
  const step = roundStep((span.high - span.low) / many);
  return stepped(span, step, (value) => format.tick(value, step)).filter((tick) => tick.value > 0);
}

function logTick(value: number): Tick {
  return { value, text: value >= 1e-3 && value < 1e4 ? String(Number(value.toPrecision(1))) : value.toExponential(0).replace("e+", "e") };
}

const TIME_STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600,
  2592000, 7776000, 31536000,
];

export function xTicks(span: Span, many: number, kind: XKind): Tick[] {
  const rough = (span.high - span.low) / Math.max(1, many);
  if (kind === "step" || kind === "metric") {
    const step = kind === "step" ? Math.max(1, roundStep(rough, [1, 2, 5, 10])) : roundStep(rough);
    return stepped(span, step, (value) => format.tick(value, step));
  }
  // A clock on the wall has no fractions of a second.
  const step = rough < 1 && kind === "relative" ? roundStep(rough) : (TIME_STEPS.find((each) => each >= rough) ?? roundStep(rough));
  if (kind === "relative") return stepped(span, step, (value) => relativeText(value, step));
  const shift = -new Date(span.low * 1000).getTimezoneOffset() * 60;
  const local = { low: span.low + shift, high: span.high + shift };
  return stepped(local, step, (value) => clockText(value - shift, step)).map((tick) => ({ ...tick, value: tick.value - shift }));
}

function relativeText(seconds: number, step: number): string {
  if (seconds === 0) return "0";
  if (step < 60 && Math.abs(seconds) < 600) return `${Number(seconds.toPrecision(4))}s`;
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (step >= 86400) return `${Math.round(seconds / 86400)}d`;
  if (hours === 0) return whole % 60 ? `${minutes}m${whole % 60}s` : `${minutes}m`;
  return minutes ? `${hours}h${minutes}m` : `${hours}h`;
}

function clockText(at: number, step: number): string {
  const date = new Date(at * 1000);
  if (step >= 86400) return format.date(at).slice(5);
  const text = format.time(at);
  if (date.getHours() === 0 && date.getMinutes() === 0 && step >= 3600) return format.date(at).slice(5);
  return step < 60 ? text : text.slice(0, 5);
}

export function xText(value: number, kind: XKind): string {
  if (kind === "time") return format.dateTime(value);
  if (kind === "relative") return format.duration(value);
  return kind === "step" ? `step ${format.grouped(Math.round(value))}` : format.number(value);
}

export function yText(value: number, kind: YKind): string {
  if (kind === "bytes") return format.bytes(value);
  return format.number(value) + (kind === "percent" ? " %" : "");
}
