/** How one chart is set up, apart from the others: one parameter of the address for each chart that is. Pure. */
import { xKindOf, type XKind } from "../chart/line";
import type { Span } from "../chart/scales";
import { joinNames, splitNames } from "../api/names";
import { SYSTEM } from "./sections";

/** What a group's line is, and the band around it. */
export type Band = "std" | "range" | "quartiles";
export const BANDS: Record<Band, string> = { std: "Mean ± std", range: "Mean, min – max", quartiles: "Median, quartiles" };

/** Null and "" are as all charts have it. */
export interface ChartSettings {
  /** Metrics that are drawn with its own. */
  metrics: string[];
  x: string;
  /** A part of the x axis. */
  zoom: Span | null;
  low: number | null;
  high: number | null;
  isLog: boolean | null;
  smoothing: number | null;
  hasRaw: boolean;
  /** All values are shown, also those of outliers. */
  isWhole: boolean | null;
  /** A field of runs, or `run` for a line for each. */
  by: string;
  band: Band;
  /** Its other metrics have an axis of their own, at the right. */
  hasSecond: boolean;
  /** What marks say does not stand beside them where a chart is large; nor is work shown that was lost before a resume. */
  isQuiet: boolean;
  hidesLost: boolean;
}

export const USUAL: ChartSettings = { metrics: [], x: "", zoom: null, low: null, high: null, isLog: null, smoothing: null, hasRaw: true, isWhole: null, by: "", band: "std", hasSecond: false, isQuiet: false, hidesLost: false };

export function readSettings(text: string): ChartSettings {
  const found: ChartSettings = { ...USUAL, metrics: [] };
  for (const word of splitNames(text)) {
    const colon = word.indexOf(":");
    const [name, value] = colon < 0 ? [word, ""] : [word.slice(0, colon), word.slice(colon + 1)];
    if (name === "m" && value && !found.metrics.includes(value)) found.metrics.push(value);
    else if (name === "x") found.x = value;
    else if (name === "zoom") found.zoom = zoomOf(value);
    else if (name === "y") [found.low, found.high] = edgesOf(value);
    else if (word === "log" || word === "lin") found.isLog = word === "log";
    else if (name === "s") found.smoothing = within(numberOf(value));
    else if (word === "bare") found.hasRaw = false;
    else if (word === "all" || word === "most") found.isWhole = word === "all";
    else if (word === "two") found.hasSecond = true;
    else if (word === "quiet") found.isQuiet = true;
    else if (word === "newest") found.hidesLost = true;
    else if (name === "by") found.by = value;
    else if (name === "band" && value in BANDS) found.band = value as Band;
  }
  return found;
}

/** Empty where all is as usual. */
export function writeSettings(settings: ChartSettings): string {
  const { metrics, x, zoom, low, high, isLog, smoothing, hasRaw, isWhole, by, band, hasSecond, isQuiet, hidesLost } = settings;
  const words = [
    ...metrics.map((metric) => `m:${metric}`),
    x && `x:${x}`,
    zoom && `zoom:${zoom.low}..${zoom.high}`,
    (low !== null || high !== null) && `y:${low ?? ""}..${high ?? ""}`,
    isLog !== null && (isLog ? "log" : "lin"),
    smoothing !== null && `s:${smoothing}`,
    !hasRaw && "bare",
    isWhole !== null && (isWhole ? "all" : "most"),
    by && `by:${by}`,
    band !== USUAL.band && `band:${band}`,
    hasSecond && "two",
    isQuiet && "quiet",
    hidesLost && "newest",
  ];
  return joinNames(words.filter((word) => typeof word === "string" && word !== "") as string[]);
}

function numberOf(text: string | undefined): number | null {
  const value = text ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
}

function within(smoothing: number | null): number | null {
  return smoothing === null ? null : Math.min(0.999, Math.max(0, smoothing));
}

function edgesOf(text: string): [number | null, number | null] {
  const [low, high] = text.split("..").map(numberOf);
  return low != null && high != null && low >= high ? [null, null] : [low ?? null, high ?? null];
}

function zoomOf(text: string): Span | null {
  const [low, high] = edgesOf(text);
  return low !== null && high !== null ? { low, high } : null;
}

/** What all charts of a view share. */
export interface Shared {
  x: string;
  zoom: Span | null;
  isLog: boolean;
  smoothing: number;
  group: string;
  isWhole?: boolean;
  /** Metrics that have another one as their x axis, as the program said. */
  axes?: Record<string, string>;
}

/** One chart as it is drawn. */
export interface Look {
  metrics: string[];
  x: string;
  xKind: XKind;
  zoom: Span | null;
  /** Fixed ends of the y axis. */
  low: number | null;
  high: number | null;
  isLog: boolean;
  smoothing: number;
  hasRaw: boolean;
  isRobust: boolean;
  /** Empty for a line for each run. */
  group: string;
  band: Band;
  hasSecond: boolean;
  hasLabels: boolean;
  hasLost: boolean;
}

export function lookOf(metric: string, own: ChartSettings, shared: Shared): Look {
  // What was measured of the machine has no steps.
  const usual = metric.startsWith(SYSTEM) && shared.x !== "time" ? "relative" : shared.x === "step" ? (shared.axes?.[metric] ?? "step") : shared.x;
  const x = own.x || usual;
  return {
    metrics: [metric, ...own.metrics.filter((each) => each !== metric)],
    x,
    xKind: xKindOf(x),
    zoom: own.zoom ?? (x === shared.x ? shared.zoom : null),
    low: own.low,
    high: own.high,
    isLog: own.isLog ?? shared.isLog,
    smoothing: own.smoothing ?? shared.smoothing,
    hasRaw: own.hasRaw,
    isRobust: !(own.isWhole ?? isUsuallyWhole(metric, shared.isWhole)),
    group: own.by === "run" ? "" : own.by || shared.group,
    band: own.band,
    hasSecond: own.hasSecond && own.metrics.some((each) => each !== metric),
    hasLabels: !own.isQuiet,
    hasLost: !own.hidesLost,
  };
}

/** What was measured of the machine has no outliers unless people say so. */
export function isUsuallyWhole(metric: string, areAll = false): boolean {
  return areAll || metric.startsWith(SYSTEM);
}

/** What is along an axis, in words. */
export function axisName(x: string): string {
  const words: Record<string, string> = { step: "step", time: "time", relative: "seconds since start" };
  return words[x] ?? x.replace(/^=\s*/, "");
}
