/** Where runs differ: a row for each name, a value for each run. Pure. */
import { number } from "../format";
import { flatEntries } from "../run/values";

export interface DiffRow {
  name: string;
  values: unknown[];
  isSame: boolean;
}

export function findDifferences(all: Record<string, unknown>[]): DiffRow[] {
  const flat = all.map((each) => new Map(flatEntries(each)));
  const names = [...new Set(flat.flatMap((each) => [...each.keys()]))].sort((one, other) => one.localeCompare(other));
  return names.map((name) => {
    const values = flat.map((each) => each.get(name));
    const texts = new Set(values.map((value) => JSON.stringify(value) ?? "nothing"));
    return { name, values, isSame: texts.size === 1 };
  });
}

/** What differs first. */
export function differingFirst(rows: DiffRow[]): DiffRow[] {
  return [...rows.filter((row) => !row.isSame), ...rows.filter((row) => row.isSame)];
}

/** `numpy==2.1.0` and the like, by name. */
export function packagesOf(facts: Record<string, unknown>): Record<string, string> {
  const listed = Array.isArray(facts.packages) ? facts.packages.map(String) : [];
  return Object.fromEntries(listed.map((each) => each.split("==", 2)).map(([name, version]) => [name!, version ?? ""]));
}

/** "−0.041 (−12 %)": from the first run to another. */
export function deltaWords(first: unknown, other: unknown, format: (value: number) => string): string {
  if (typeof first !== "number" || typeof other !== "number" || !Number.isFinite(first) || !Number.isFinite(other)) return "";
  const delta = other - first;
  if (delta === 0) return "±0";
  const sign = delta > 0 ? "+" : "−";
  const share = first === 0 ? "" : shareWords(sign, delta / first);
  return `${sign}${format(Math.abs(delta))}${share && ` (${share})`}`;
}

/** Ten times as much and more is a factor, and nothing where the sign is another. */
function shareWords(sign: string, share: number): string {
  const percent = Math.abs(share) * 100;
  if (percent >= 1000) return share > 0 ? `× ${number(Number((share + 1).toPrecision(3)))}` : "";
  if (percent < 0.05) return "< 0.1 %";
  return `${sign}${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}
