/** All kinds of panels: a file in kinds/ is one, and its name is the kind's id. */
import type { KindFile } from "./kind";

const files = import.meta.glob<KindFile>("./kinds/*.svelte", { eager: true });

export const KINDS = new Map(
  Object.entries(files)
    .map(([path, file]) => [path.slice("./kinds/".length, -".svelte".length).toLowerCase(), file] as const)
    .sort(([, one], [, other]) => one.kind.rank - other.kind.rank),
);
