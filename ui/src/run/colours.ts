/**
 * The colour of a run is told by the server, or chosen by people, and so the same for everybody. A group of runs takes the
 * one that its name leads to; where another group has that already, a free one. Whoever may change the project keeps it for
 * all; for others it is kept in their browser.
 */
import { BASELINE, LIGHT, slotColour } from "../chart/palette";
import { view } from "../workspace/view.svelte";
import { slots } from "./slots.svelte";

const KEPT = "holter.colours";
const MOST_KEPT = 2000;
const GROUP = "group ";
const SHARE_MS = 1000;
/** The longest name of a group that is shared. */
const MOST_LETTERS = 100;

/** As everybody sees them in this project, and as this browser chose them. */
let told = new Map<string, number>();
const own = new Map<string, number>(readKept());
let unshared = new Map<string, number>();
let share: ((colours: Record<string, number>) => void) | null = null;
let timer = 0;

/** Another project has groups of its own. */
export function forgetGroups(): void {
  [told, unshared, share] = [new Map(), new Map(), null];
}

/** What a project's groups look like to everybody; what is chosen from now on is handed to `onchosen`. */
export function tellGroups(colours: Record<string, number>, onchosen: ((colours: Record<string, number>) => void) | null): void {
  const isOther = told.size !== Object.keys(colours).length || Object.entries(colours).some(([id, slot]) => told.get(id) !== slot);
  told = new Map(Object.entries(colours));
  share = onchosen;
  if (share && [...unshared.keys()].some((id) => !told.has(id))) timer ||= window.setTimeout(keep, SHARE_MS);
  if (isOther) slots.version++;
}

/** The baseline is grey, for as long as it is the baseline. */
export function colourOf(id: string, isDark: boolean): string {
  if (id === view.baseline) return isDark ? BASELINE.dark : BASELINE.light;
  return slotColour(id.startsWith(GROUP) ? slotOfGroup(id) : (slots.get(id) ?? hash(id)), isDark);
}

function slotOfGroup(id: string): number {
  void slots.version;
  const known = told.get(id);
  if (known !== undefined) return known;
  const slot = unshared.get(id) ?? own.get(id) ?? choose(id);
  if (!unshared.has(id)) {
    unshared.set(id, slot);
    timer ||= window.setTimeout(keep, SHARE_MS);
  }
  return slot;
}

/** One that few groups of this project have. */
function choose(id: string): number {
  const many = LIGHT.length;
  const used = new Array<number>(many).fill(0);
  for (const slot of [...told.values(), ...unshared.values()]) used[slot]!++;
  const start = hash(id) % many;
  const order = Array.from({ length: many }, (_, at) => (start + at * 3) % many);
  return order.reduce((best, each) => (used[each]! < used[best]! ? each : best));
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
  for (const [id, slot] of unshared) own.set(id, slot);
  localStorage.setItem(KEPT, JSON.stringify([...own].slice(-MOST_KEPT)));
  const found = [...unshared].filter(([id]) => id.length <= MOST_LETTERS && !told.has(id)).slice(0, 500);
  if (share && found.length) share(Object.fromEntries(found));
}

/** FNV-1a: short ids that differ in one letter land far apart. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  }
  return (found ^ (found >>> 15)) >>> 0;
}
