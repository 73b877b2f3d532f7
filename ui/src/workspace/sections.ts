/** Metrics in sections by what stands before the first slash, losses first in each, those of the machine last. */
import { isLoss } from "../metrics";
import { ordered } from "./order";

export interface Section {
  name: string;
  /** Metrics, and ids of panels of other kinds, in the order that people gave them, as far as the search finds them. */
  metrics: string[];
  /** All of them, as they are by themselves. */
  all: string[];
  /** Metrics that are not charted, as they only count. */
  counters: string[];
  /** Those that people hid. */
  hidden: string[];
}

/** A panel that is no chart of a metric. It stands in a section as if its id were one. */
export interface Panel {
  /** Begins with `panel:`, which no metric does. */
  id: string;
  title: string;
  section: string;
}

/** What people chose of charts: which come first of all, which first in their section, which are looked for. */
export interface Choice {
  pinned: string[];
  order: string[];
  matches: (key: string) => boolean;
  /** The section of each that was moved out of its own. */
  placed?: ReadonlyMap<string, string>;
  panels?: Panel[];
  /** Metrics that only count, such as `epoch`. */
  counters?: ReadonlySet<string>;
  /** Charts that were hidden, and counters that are shown all the same. */
  off?: ReadonlySet<string>;
  on?: ReadonlySet<string>;
}

export const SYSTEM = "system/";
export const PINNED = "Pinned";

export const PANEL = "panel:";

export function findSections(keys: string[], choice: Choice): Section[] {
  const { pinned, matches, placed, panels = [] } = choice;
  const byName = new Map<string, string[]>();
  const isPinned = new Set(pinned);
  const others = new Map(panels.map((panel) => [panel.id, panel]));
  const isFound = (key: string) => matches(others.get(key)?.title ?? key);
  for (const key of [...keys, ...others.keys()]) {
    if (isPinned.has(key)) continue;
    const name = placed?.get(key) ?? others.get(key)?.section ?? sectionOf(key);
    const found = byName.get(name);
    if (found) found.push(key);
    else byName.set(name, [key]);
  }
  const sections = [...byName]
    .map(([name, keys]) => made(name, keys, choice, isFound))
    .filter(({ metrics, counters, hidden }) => metrics.length + counters.length + hidden.length);
  sections.sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
  // A panel that was removed leaves its pin behind.
  const top = pinned.filter((key) => (!key.startsWith(PANEL) || others.has(key)) && isFound(key));
  return top.length ? [{ name: PINNED, metrics: top, all: pinned, counters: [], hidden: [] }, ...sections] : sections;
}

function made(name: string, keys: string[], { order, counters, off, on }: Choice, isFound: (key: string) => boolean): Section {
  const hidden = keys.filter((key) => off?.has(key));
  const counting = keys.filter((key) => counters?.has(key) && !on?.has(key) && !off?.has(key));
  const leftOut = new Set([...hidden, ...counting]);
  const all = lossesFirst(keys.filter((key) => !leftOut.has(key)));
  return { name, all, metrics: ordered(all, order).filter(isFound), counters: counting.filter(isFound), hidden: hidden.filter(isFound) };
}

/** All charts of metrics in their order. */
export function chartsOf(sections: Section[]): string[] {
  return sections.flatMap((section) => section.metrics).filter((name) => !name.startsWith(PANEL));
}

/** So many charts are open before people ask for more; a section shows as many at once. */
export const MOST_OPEN = 200;

/** The sections that are closed until people open them: what is measured of the machine, and all beyond the first charts. */
export function closedAtFirst(sections: Section[]): Set<string> {
  const closed = new Set<string>();
  let open = 0;
  for (const { name, metrics } of sections) {
    if (open >= MOST_OPEN || (name === "system" && sections.length > 1)) closed.add(name);
    else open += metrics.length;
  }
  return closed;
}

function lossesFirst(keys: string[]): string[] {
  return [...keys.filter((key) => isLoss(key)), ...keys.filter((key) => !isLoss(key))];
}

/** By itself. */
export function sectionOf(key: string): string {
  const slash = key.indexOf("/");
  return slash > 0 ? key.slice(0, slash) : "charts";
}

function rank({ name, metrics }: Section): number {
  // Panels of other kinds were put there on purpose: they come first. A section without charts is a line of words.
  const ranks: Record<string, number> = { Panels: -2, charts: -1, system: 2 };
  return ranks[name] === 2 || metrics.length ? (ranks[name] ?? 0) : 1;
}

/** How many columns of a row a section takes: those with few charts share one; one without any is a line of words. */
export function spanOf(charts: number, columns: number): number {
  return charts ? Math.min(columns, charts) : columns;
}

/** What a search finds: a regular expression, or the text itself where it is none. */
export function matcher(search: string): { matches: (key: string) => boolean; isWrong: boolean } {
  if (!search) return { matches: () => true, isWrong: false };
  try {
    const pattern = new RegExp(search, "i");
    return { matches: (key) => pattern.test(key), isWrong: false };
  } catch {
    const text = search.toLowerCase();
    return { matches: (key) => key.toLowerCase().includes(text), isWrong: true };
  }
}
