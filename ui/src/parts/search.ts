/** Where people may want to go, found by a few letters of it. Pure. */
export interface Target {
  /** Where it leads, as a whole address of this site. */
  href: string;
  title: string;
  /** Which kind of place it is, or whose. */
  about: string;
}

/** Those that have all words in them, the ones that begin with what was typed first. */
export function matching(targets: Target[], typed: string): Target[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = targets.filter((target) => {
    const text = `${target.title} ${target.about}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const begins = (target: Target) => target.title.toLowerCase().startsWith(words[0] ?? "");
  return [...found.filter(begins), ...found.filter((target) => !begins(target))];
}

/** A filter for runs whose name or id has a text in it; null where a run cannot have it. */
export function runFilter(typed: string): string | null {
  const text = typed.trim();
  if (!text) return null;
  const quoted = `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return `name ~ ${quoted} or id ~ ${quoted}`;
}
