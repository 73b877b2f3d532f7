/** Metrics in sections by what stands before the first slash, those of the machine last. */
export interface Section {
  name: string;
  metrics: string[];
}

export const SYSTEM = "system/";

export function findSections(keys: string[], pinned: string[], matches: (key: string) => boolean): Section[] {
  const byName = new Map<string, string[]>();
  const isPinned = new Set(pinned);
  for (const key of keys) {
    if (isPinned.has(key) || !matches(key)) continue;
    const name = sectionOf(key);
    byName.set(name, [...(byName.get(name) ?? []), key]);
  }
  const sections = [...byName].map(([name, metrics]) => ({ name, metrics }));
  sections.sort((one, other) => rank(one.name) - rank(other.name) || one.name.localeCompare(other.name));
  const top = pinned.filter(matches);
  return top.length ? [{ name: "Pinned", metrics: top }, ...sections] : sections;
}

function sectionOf(key: string): string {
  const slash = key.indexOf("/");
  return slash > 0 ? key.slice(0, slash) : "charts";
}

function rank(name: string): number {
  const order = ["charts", "train", "val", "eval", "test"].indexOf(name);
  return name === "system" ? 100 : order < 0 ? 50 : order;
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
