/** The settings that make up a view: the parameters of the address that outlive the moment. Pure. */
export type Settings = Record<string, string>;

/** These are of the moment, or of this browser. Whatever else the address has is part of the view. */
const OF_THE_MOMENT = new Set(["view", "chart", "at", "row", "select", "from", "to", "table", "metrics"]);

export function settingsOf(query: URLSearchParams): Settings {
  const found: Settings = {};
  for (const name of new Set(query.keys())) {
    if (!OF_THE_MOMENT.has(name)) found[name] = query.getAll(name).join(",");
  }
  return found;
}

/** What leads from one to the other; null for what goes. */
export function changesBetween(before: Settings, after: Settings): Record<string, string | null> {
  const changes: Record<string, string | null> = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[name] !== after[name]) changes[name] = after[name] ?? null;
  }
  return changes;
}

export function withChanges(settings: Settings, changes: Record<string, string | null>): Settings {
  const found: Settings = { ...settings };
  for (const [name, value] of Object.entries(changes)) {
    if (value) found[name] = value;
    else delete found[name];
  }
  return found;
}

/** Changes of a view as they are kept: an empty text takes a setting of the view away, null is as the view has it. */
export function asEdits(changes: Record<string, string | null>, view: Settings): Record<string, string | null> {
  return Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, (value ?? "") === (view[name] ?? "") ? null : (value ?? "")]));
}

export function isEmpty(settings: object): boolean {
  return Object.keys(settings).length === 0;
}

const WORDS: Record<string, string> = {
  q: "filter", cols: "columns", x: "x axis", smooth: "smoothing", log: "log scale", hide: "hidden runs", show: "shown runs",
  pin: "pinned charts", order: "order of charts", closed: "closed sections", more: "opened sections", lines: "number of lines",
  size: "size of charts", tall: "height of charts", sizes: "size of sections", in: "sections of charts", off: "hidden charts", on: "charted counters", flushes: "flush marks", outliers: "outliers", group: "grouping",
};

/** "smoothing and columns", for people. */
export function inWords(names: string[]): string {
  const words = names.map((name) => WORDS[name] ?? name.replace(/^c\./, "chart ")).sort();
  return words.length > 3 ? `${words.slice(0, 2).join(", ")} and ${words.length - 2} more` : words.join(" and ");
}
