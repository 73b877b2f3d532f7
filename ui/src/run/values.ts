/** Nested settings as a flat list: `optimizer.name` beside its value. */
export type Entry = [name: string, value: unknown];

export function flatEntries(found: Record<string, unknown>, before = ""): Entry[] {
  return Object.entries(found)
    .sort(([one], [other]) => one.localeCompare(other))
    .flatMap(([name, value]) => {
      const isNested = value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0;
      return isNested ? flatEntries(value as Record<string, unknown>, `${before}${name}.`) : [[before + name, value] as Entry];
    });
}
