/** More runs than anybody can tell apart as lines: they are drawn in groups, by the setting that splits them best. Pure. */
import { flatten } from "./columns";

/** Beyond this, lines are a cloud. */
export const MOST_LINES = 100;
/** So many runs are read for one picture; what is left out is said. */
export const MOST_GATHERED = 1000;
const MOST_GROUPS = 8;
/** Runs that differ by their seed alone are what a mean is for. */
const SEED = /(^|[._])(random_?)?seed$/i;

/** The setting whose groups are most even, as `config.optimizer.name`; null where none has two to eight values that nearly all runs have. */
export function usefulSetting(configs: Record<string, unknown>[]): string | null {
  const counts = new Map<string, Map<string, number>>();
  for (const config of configs) {
    for (const name of flatten("", config)) {
      const values = counts.get(name) ?? new Map<string, number>();
      counts.set(name, values);
      if (values.size > MOST_GROUPS) continue;
      const text = JSON.stringify(at(config, name)) ?? "";
      values.set(text, (values.get(text) ?? 0) + 1);
    }
  }
  let best: { name: string; evenness: number } | null = null;
  for (const [name, values] of [...counts].sort(([one], [other]) => one.localeCompare(other))) {
    const evenness = evennessOf([...values.values()], configs.length);
    if (!SEED.test(name) && evenness > (best?.evenness ?? 0) + 1e-9) best = { name, evenness };
  }
  return best ? `config.${best.name}` : null;
}

/** In bits: how much is known of a run whose group is known. 0 where it cannot be used. */
function evennessOf(sizes: number[], runs: number): number {
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.length < 2 || sizes.length > MOST_GROUPS || all < runs * 0.9) return 0;
  return sizes.reduce((bits, size) => bits - (size / all) * Math.log2(size / all), 0);
}

function at(tree: Record<string, unknown>, path: string): unknown {
  if (path in tree) return tree[path];
  let found: unknown = tree;
  for (const part of path.split(".")) found = (found as Record<string, unknown> | undefined)?.[part];
  return found;
}
