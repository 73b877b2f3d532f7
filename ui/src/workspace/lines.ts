/** From what the server gave to what a chart draws. Pure. */
import type { FlushesOfRun, Resume } from "../api/client";
import { isSparse, smooth, smoothingUnit, type Line, type Resumed, type Ticks, type XKind } from "../chart/line";
import { count, value } from "../format";
import { colourOf } from "../run/colours";
import type { Look } from "./look";
import type { Buckets } from "./series.svelte";
import { endsWithin, endWords, type ShownRun } from "./shown";

export interface Of {
  runs: ReadonlyMap<string, ShownRun>;
  baseline: string;
  isDark: boolean;
  /** Where resumed runs went on, as far as it is known. */
  resumes?: ReadonlyMap<string, Resume[]> | null;
}

/** The unit of a sparse metric, which is not smoothed, is null. */
type Unit = number | null;

/** The lines of all metrics of a chart; of each metric those that came for it. */
export function linesOf(found: Buckets[][], look: Look, of: Of): Line[] {
  const unit = look.smoothing > 0 ? smoothingUnit(found.flat()) : 0;
  return found.flatMap((buckets, at) => {
    const own = isSparse(buckets.map((each) => each.points)) ? null : unit;
    const made = buckets.map((each) => lineOf(each, look, own, { ...of, metric: look.metrics[at]! }));
    return made.filter((line) => line !== null).map((line): Line => (look.metrics.length > 1 ? { ...line, metric: look.metrics[at]!, shape: at, hasDied: line.hasDied && at === 0, isRight: look.hasSecond && at > 0 } : line));
  });
}

function shapeOf({ x, y, low, high, marks, counts }: Buckets, look: Look, unit: Unit): Omit<Line, "id" | "name" | "colour"> {
  const shape = { x, low, high, marks, ...(counts && { counts }) };
  if (unit === null) return { ...shape, y, isSparse: true };
  return unit > 0 ? { ...shape, y: smooth(x, y, look.smoothing, unit), raw: y, hasRaw: look.hasRaw } : { ...shape, y };
}

function lineOf(each: Buckets, look: Look, unit: Unit, { runs, baseline, isDark, resumes, metric }: Of & { metric: string }): Line | null {
  const [shape, colour] = [shapeOf(each, look, unit), colourOf(each.id, isDark)];
  if (look.group) {
    const name = `${look.group.replace(/^config\./, "")} = ${value(each.group) || "none"} (${count(each.runs.length, "run")})`;
    return { id: each.id, name, colour, isBanded: true, band: look.band, ...shape };
  }
  const run = runs.get(each.id);
  if (!run) return null;
  const hasDied = run.hasDied && endsWithin(run, look.xKind, look.zoom);
  const resumed = resumes?.get(each.id);
  const marks = resumed && look.xKind !== "metric" && { resumes: resumed.map((resume) => resumedAs(resume, metric, look, run.startedAt, unit)) };
  return { id: each.id, name: run.name, colour, ...marks, hasDied, end: endWords(run), isBaseline: each.id === baseline, isLive: run.isLive && !look.zoom, ...shape };
}

/** Where a run went on, on the axis of the chart; what was lost is smoothed as what replaced it. */
function resumedAs({ attempt, step, at, steps_lost, lost, is_rewind }: Resume, metric: string, look: Look, startedAt: number, unit: Unit): Resumed {
  const curve = look.hasLost ? lost[metric] : undefined;
  const shift = look.xKind === "relative" ? startedAt : 0;
  const lostX = Float64Array.from(!curve ? [] : look.xKind === "step" ? curve.steps : curve.times.map((time) => time - shift));
  const values = Float64Array.from(curve?.values ?? []);
  return { x: look.xKind === "step" ? step : at - shift, attempt, steps: steps_lost, isRewind: is_rewind, lostX, lostY: unit ? smooth(lostX, values, look.smoothing, unit) : values };
}

/** Where runs made sure of their rows. */
export function flushTicks(flushes: Iterable<FlushesOfRun>, xKind: XKind, { runs, isDark }: Of): Ticks[] {
  const placesOf = ({ run, times, steps }: FlushesOfRun): number[] => {
    const startedAt = runs.get(run)?.startedAt ?? NaN;
    if (xKind === "step") return steps.filter((step) => step !== null);
    return xKind === "time" ? times : xKind === "relative" ? times.map((time) => time - startedAt) : [];
  };
  return [...flushes].map((each) => ({ colour: colourOf(each.run, isDark), x: placesOf(each) }));
}
