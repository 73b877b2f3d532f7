/**
 * The colour of a run is told by the server, or chosen by people, and so the same for everybody. A group of runs takes the
 * one that its name leads to; where another group of this browser has that already, a free one, which is kept.
 */
import { BASELINE, LIGHT, slotColour } from "../chart/palette";
import { view } from "../workspace/view.svelte";
import { slots } from "./slots.svelte";

const KEPT = "holter.colours";
const MOST_KEPT = 2000;
const GROUP = "group ";

const groups = new Map<string, number>(readKept());
const used = new Array<number>(LIGHT.length).fill(0);
for (const slot of groups.values()) used[slot]!++;
let timer = 0;

/** The baseline is grey, for as long as it is the baseline. */
export function colourOf(id: string, isDark: boolean): string {
  if (id === view.baseline) return isDark ? BASELINE.dark : BASELINE.light;
  return slotColour(id.startsWith(GROUP) ? (groups.get(id) ?? choose(id)) : (slots.get(id) ?? hash(id)), isDark);
}

function choose(id: string): number {
  const many = LIGHT.length;
  const start = hash(id) % many;
  const order = Array.from({ length: many }, (_, at) => (start + at * 3) % many);
  const slot = order.reduce((best, each) => (used[each]! < used[best]! ? each : best));
  groups.set(id, slot);
  used[slot]!++;
  timer ||= window.setTimeout(keep, 1000);
  return slot;
}

function readKept(): [string, number][] {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]") as [string, number][];
    return kept.filter(([id, slot]) => id.startsWith(GROUP) && slot >= 0 && slot < LIGHT.length);
  } catch {
    return [];
  }
}

// Whoever leaves at once finds the same colours when they come back.
window.addEventListener("pagehide", () => timer && keep());

function keep(): void {
  clearTimeout(timer);
  timer = 0;
  localStorage.setItem(KEPT, JSON.stringify([...groups].slice(-MOST_KEPT)));
}

/** FNV-1a: short ids that differ in one letter land far apart. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  }
  return (found ^ (found >>> 15)) >>> 0;
}
