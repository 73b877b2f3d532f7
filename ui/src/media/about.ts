/** What is known of media. What a run says of them is checked: it may say anything. Pure. */
import type { MediaItem } from "../api/client";
import { hasDied } from "../run/states";

export interface Shown {
  id: string;
  name: string;
  colour: string;
  /** Whether it goes on: what it has is not its last. */
  isAlive: boolean;
  /** The step that it came to, where it died. */
  diedAt: number | null;
}

/** A run as its media show it. */
export function shownRun(run: { id: string; name: string; state: string; last_step?: number | null }, colour: string): Shown {
  return { id: run.id, name: run.name || run.id, colour, isAlive: run.state === "running", diedAt: hasDied(run) ? (run.last_step ?? null) : null };
}

export function captionOf(item: MediaItem): string {
  return typeof item.meta.caption === "string" ? item.meta.caption : "";
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** How loud each part of a sound is, up to 100; empty where that is not known. */
export function waveOf(item: MediaItem): number[] {
  const wave: unknown = item.meta.wave;
  return Array.isArray(wave) ? wave.slice(0, 400).map((each: unknown) => Math.max(0, Math.min(100, numberOf(each) ?? 0))) : [];
}

/** A class that boxes or masks of one name have. */
export interface PictureClass {
  /** Unique: the name of the set, and the class in it. */
  id: string;
  set: string;
  number: number;
  name: string;
}

export interface Box {
  of: PictureClass;
  /** Parts of the picture's size. */
  left: number;
  top: number;
  width: number;
  height: number;
  words: string;
  score: number | null;
}

export interface Mask {
  set: string;
  path: string;
  classes: PictureClass[];
}

type Dict = Record<string, unknown>;

function dict(value: unknown): Dict {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Dict) : {};
}

function classOf(set: string, number: number, labels: Dict): PictureClass {
  const name = labels[String(number)];
  return { id: `${set}/${number}`, set, number, name: typeof name === "string" ? name : `class ${number}` };
}

export function boxesOf(item: MediaItem): Box[] {
  const [width, height] = [numberOf(item.meta.width) ?? 1, numberOf(item.meta.height) ?? 1];
  return Object.entries(dict(item.meta.boxes)).flatMap(([set, given]) => {
    const labels = dict(dict(given).class_labels);
    const data = dict(given).box_data;
    return (Array.isArray(data) ? data : []).flatMap((each: unknown): Box[] => {
      const box = dict(each);
      const place = placeOf(dict(box.position));
      if (!place) return [];
      const isPixel = box.domain === "pixel";
      const [across, down] = isPixel ? [width, height] : [1, 1];
      const of = classOf(set, numberOf(box.class_id) ?? -1, labels);
      const scores = Object.values(dict(box.scores)).map(numberOf).filter((score) => score !== null);
      const words = typeof box.box_caption === "string" ? box.box_caption : of.number < 0 ? "" : of.name + (scores.length ? ` ${scores[0]!.toFixed(2)}` : "");
      return [{ of: of.number < 0 ? { ...of, name: set } : of, left: place[0] / across, top: place[1] / down, width: place[2] / across, height: place[3] / down, words, score: scores[0] ?? null }];
    });
  });
}

function placeOf(position: Dict): [number, number, number, number] | null {
  const middle = Array.isArray(position.middle) ? position.middle.map(numberOf) : null;
  const [x0, x1, y0, y1] = [position.minX, position.maxX, position.minY, position.maxY].map(numberOf);
  const [width, height] = [numberOf(position.width), numberOf(position.height)];
  if (middle && middle[0] != null && middle[1] != null && width !== null && height !== null) return [middle[0] - width / 2, middle[1] - height / 2, width, height];
  return x0 != null && x1 != null && y0 != null && y1 != null ? [x0, y0, x1 - x0, y1 - y0] : null;
}

export function masksOf(item: MediaItem): Mask[] {
  return Object.entries(dict(item.meta.masks)).flatMap(([set, given]) => {
    const { path, class_labels } = dict(given);
    if (typeof path !== "string" || !/^media\/[0-9a-f]{64}\.[a-z0-9.]{1,25}$/.test(path)) return [];
    const labels = dict(class_labels);
    const classes = Object.keys(labels).map(Number).filter((number) => Number.isInteger(number) && number > 0 && number < 256);
    return [{ set, path, classes: classes.map((number) => classOf(set, number, labels)) }];
  });
}

/** All classes of some pictures, each once. */
export function classesOf(...items: MediaItem[]): PictureClass[] {
  const all = [...items.flatMap(boxesOf).map((box) => box.of), ...items.flatMap(masksOf).flatMap((mask) => mask.classes)];
  return [...new Map(all.map((each) => [each.id, each])).values()];
}

/** The slot of the palette that a class has: the same for its boxes and its masks. */
export function slotOf(of: PictureClass): number {
  return of.number < 0 ? 0 : (of.number * 3) % 8;
}
