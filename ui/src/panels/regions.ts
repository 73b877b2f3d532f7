/** Where runs do not fit, on the axes of panels. */
import type { RunBrief } from "../api/client";
import { hasDied } from "../run/states";
import { placeOf, type Axis } from "./axis";

export interface Bound {
  column: string;
  side: ">=" | "<=" | "=";
  value: number | string;
}

/** All its bounds together. */
export interface Region {
  bounds: Bound[];
  died: number;
}

/** What died without a result stands this much below its axis. */
const FALLEN = -0.035;
const [APART_PX, EDGE] = [6, 0.012];

/** The part of an axis beyond a bound; null where the axis has no such place. */
export function beyond(axis: Axis, { side, value }: Bound): { low: number; high: number } | null {
  if (axis.kind === "category") {
    const at = axis.words.indexOf(String(value));
    if (at < 0) return null;
    return { low: side === "<=" ? 0 : at / axis.words.length, high: side === ">=" ? 1 : (at + 1) / axis.words.length };
  }
  const place = placeOf(axis, Number(value));
  if (!Number.isFinite(place)) return null;
  return { low: side === "<=" ? 0 : Math.max(0, place - EDGE), high: side === ">=" ? 1 : Math.min(1, place + EDGE) };
}

/** `≥ 256`. */
export function boundText({ side, value }: Bound): string {
  return `${{ ">=": "≥", "<=": "≤", "=": "=" }[side]} ${value}`;
}

/** The same axis, where runs that died before they had a value stand below it; and how many these are. */
export function withFallen(axis: Axis, runs: RunBrief[]): Axis & { fallen: number } {
  const places = axis.places.map((place, at) => (Number.isNaN(place) && hasDied(runs[at]!) ? FALLEN : place));
  const fallen = places.filter((place) => place === FALLEN).length;
  return { ...axis, places, fallen, missing: Math.max(0, axis.missing - fallen) };
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A hatched box. */
export function hatch(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.fillStyle = context.strokeStyle = colour;
  context.globalAlpha = 0.08;
  context.fillRect(x, y, width, height);
  context.globalAlpha = 0.4;
  context.lineWidth = 1;
  context.beginPath();
  for (let from = x - height; from < x + width; from += APART_PX) {
    context.moveTo(from, y + height);
    context.lineTo(from + height, y);
  }
  context.stroke();
  context.globalAlpha = 0.8;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  context.restore();
}

/** Text with a halo of what is behind it, so that lines do not run through it. */
export function haloed(context: CanvasRenderingContext2D, lines: string[], x: number, y: number, { colour, ground }: { colour: string; ground: string }): void {
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = ground;
  context.fillStyle = colour;
  for (const [at, line] of lines.entries()) {
    context.strokeText(line, x, y + at * 14);
    context.fillText(line, x, y + at * 14);
  }
}
