/** Colours for points and lines: those of runs and groups, or a column's values from pale to strong. Pure. */
import type { RunBrief } from "../api/client";
import { slotColour } from "../chart/palette";
import { makeAxis, type Axis } from "./axis";
import { groupId } from "./grouping";
import { valueOf } from "./values";

/** From the least to the greatest; each stands out against its background, so the least is not the palest that there is. */
const LIGHT = ["#8fb0e8", "#6d92dc", "#4a72cc", "#2d53b3", "#1a3690", "#101f66"];
const DARK = ["#3f5a99", "#4f72bd", "#6a90dc", "#8db0f3", "#b4cdfb", "#dce8ff"];

export function rampOf(isDark: boolean): string[] {
  return isDark ? DARK : LIGHT;
}

export interface Colouring {
  colours: string[];
  /** Of the column that colours, where there is one. */
  axis: Axis | null;
}

/** Grey stands for a run that has no value there. */
export function colouring(
  runs: RunBrief[],
  { column, group, isDark, grey, colourOf }: { column: string; group: string; isDark: boolean; grey: string; colourOf: (id: string, isDark: boolean) => string },
): Colouring {
  if (!column) return { colours: runs.map((run) => colourOf(group ? groupId(run, group) : run.id, isDark)), axis: null };
  const axis = makeAxis(column, runs.map((run) => valueOf(run, column)));
  const ramp = rampOf(isDark);
  const colours = Array.from(axis.places, (place) => {
    if (Number.isNaN(place)) return grey;
    if (axis.kind === "category") return slotColour(Math.round(place * axis.words.length - 0.5), isDark);
    return ramp[Math.min(ramp.length - 1, Math.floor(place * ramp.length))]!;
  });
  return { colours, axis };
}
