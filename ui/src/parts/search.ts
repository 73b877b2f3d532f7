/** What people look for, found by a few letters of it. Pure. */
export interface Findable {
  title: string;
  about: string;
}

/** Where people may want to go; `about` is which kind of place it is, or whose. */
export interface Target extends Findable {
  /** Where it leads, as a whole address of this site. */
  href: string;
}

/** Those that have all words in them; first those that have them in their title, and begin with what was typed. */
export function matching<T extends Findable>(targets: T[], typed: string): T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word));
  const rank = ({ title }: T) => (has(title) ? 0 : 2) + (title.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return targets.filter((target) => has(`${target.title} ${target.about}`)).toSorted((one, other) => rank(one) - rank(other));
}

/** A filter for runs whose name or id has a text in it; null where a run cannot have it. */
export function runFilter(typed: string): string | null {
  const text = typed.trim();
  if (!text) return null;
  const quoted = `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return `name ~ ${quoted} or id ~ ${quoted}`;
}
