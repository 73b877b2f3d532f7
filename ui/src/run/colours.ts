/**
 * The colour of a run. It comes from its id, so that it is the same everywhere; where another run of this browser has
 * that colour already, a free one is taken, and kept. Each stands out against its background at 3:1 or more.
 */
const LIGHT = [
  "#3b62cc", "#b07900", "#e0452c", "#1f8a78", "#2f8f42", "#d2468a", "#8a45dd", "#2b8cc4", "#8b5a3c", "#6e737c",
  "#1f3f94", "#7d5f00", "#a02a17", "#0d6456", "#1d6a2f", "#9c2562", "#5f22a8", "#12648f", "#5f3a22", "#454a52",
];
const DARK = [
  "#6f93f7", "#efb118", "#ff725c", "#6cc5b0", "#4fc064", "#ff8ab7", "#b07cff", "#5cb8ec", "#c08a68", "#a5a9b2",
  "#a9c0ff", "#ffd977", "#ffb3a3", "#b0eadd", "#a1e6ae", "#ffc4dc", "#d6bcff", "#b0defa", "#e2bfa6", "#d6d9df",
];
/** The first ones are told apart best; the rest are their darker or lighter sisters. */
const FIRST = 10;
const KEPT = "holter.colours";
const MOST_KEPT = 2000;

const slots = new Map<string, number>(readKept());
const used = new Array<number>(LIGHT.length).fill(0);
for (const slot of slots.values()) used[slot]!++;
let timer = 0;

export function colourOf(id: string, isDark: boolean): string {
  return (isDark ? DARK : LIGHT)[slots.get(id) ?? choose(id)]!;
}

function choose(id: string): number {
  const start = hash(id) % FIRST;
  const order = Array.from({ length: FIRST }, (_, at) => (start + at * 3) % FIRST);
  const all = [...order, ...order.map((slot) => slot + FIRST)];
  const slot = all.reduce((best, each) => (used[each]! < used[best]! ? each : best));
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

function keep(): void {
  timer = 0;
  localStorage.setItem(KEPT, JSON.stringify([...slots].slice(-MOST_KEPT)));
}

/** Of the first, second, … line of a chart whose lines are no runs. */
export function colourAt(index: number, isDark: boolean): string {
  const palette = isDark ? DARK : LIGHT;
  return palette[index % palette.length]!;
}

/** FNV-1a: short ids that differ in one letter land far apart. */
function hash(text: string): number {
  let found = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    found = Math.imul(found ^ text.charCodeAt(at), 0x01000193);
  }
  return (found ^ (found >>> 15)) >>> 0;
}
