/**
 * The colour of a run. It comes from its id, so that it is the same everywhere; where another run of this browser has
 * that colour already, a free one is taken, and kept. When all are taken, the same ones come again.
 */
import { BASELINE, LIGHT, slotColour } from "../chart/palette";
import { view } from "../workspace/view.svelte";

const KEPT = "holter.colours";
const MOST_KEPT = 2000;

const slots = new Map<string, number>(readKept());
const GROUP = "group ";
/** How often each slot is taken; groups of runs have colours of their own, however many runs there are. */
const usedByRuns = new Array<number>(LIGHT.length).fill(0);
const usedByGroups = new Array<number>(LIGHT.length).fill(0);
for (const [id, slot] of slots) takenBy(id)[slot]!++;
let timer = 0;

function takenBy(id: string): number[] {
  return id.startsWith(GROUP) ? usedByGroups : usedByRuns;
}

/** The baseline is grey, for as long as it is the baseline. */
export function colourOf(id: string, isDark: boolean): string {
  if (id === view.baseline) return isDark ? BASELINE.dark : BASELINE.light;
  return slotColour(slots.get(id) ?? choose(id), isDark);
}

function choose(id: string): number {
  const many = LIGHT.length;
  const start = hash(id) % many;
  const order = Array.from({ length: many }, (_, at) => (start + at * 3) % many);
  const used = takenBy(id);
  const slot = order.reduce((best, each) => (used[each]! < used[best]! ? each : best));
  slots.set(id, slot);
  used[slot]!++;
  timer ||= window.setTimeout(keep, 1000);
  return slot;
}

function readKept(): [string, number][] {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) ?? "[]") as [string, number][];
    return kept.filter(([, slot]) => slot >= 0 && slot < LIGHT.length);
  } catch {
    return [];
  }
}

// Whoever leaves at once finds the same colours when they come back.
window.addEventListener("pagehide", () => timer && keep());

function keep(): void {
  clearTimeout(timer);
  timer = 0;
  localStorage.setItem(KEPT, JSON.stringify([...slots].slice(-MOST_KEPT)));
}

/** FNV-1a: short ids that differ in one letter land far apart. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  }
  return (found ^ (found >>> 15)) >>> 0;
}
