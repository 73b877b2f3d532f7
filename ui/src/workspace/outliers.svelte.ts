/** Which lines leave the range of which chart, of all charts that were drawn as they are now. */
import { SvelteMap } from "svelte/reactivity";
import type { Line } from "../chart/line";

/** Lines by their ids, with their names. */
export type Names = ReadonlyMap<string, string>;
const NONE: Names = new Map();

export class HiddenOutliers {
  #found = new SvelteMap<string, Names>();
  #drawn = new Set<string>();

  of(chart: string): Names {
    return this.#found.get(chart) ?? NONE;
  }

  note(chart: string, lines: Line[]): void {
    const names = new Map(lines.map((line) => [line.id, line.name]));
    if (String([...names]) === String([...this.of(chart)])) return;
    if (names.size) this.#found.set(chart, names);
    else this.#found.delete(chart);
  }

  /** A chart is drawn until the returned function is called: what it says is never out of date. */
  begin(chart: string): () => void {
    this.#drawn.add(chart);
    return () => void this.#drawn.delete(chart);
  }

  /** What is true of a chart that is not drawn may have changed. */
  forget(): void {
    for (const chart of [...this.#found.keys()]) if (!this.#drawn.has(chart)) this.#found.delete(chart);
  }

  /** Of some charts: all lines that leave one, and how many charts they leave. */
  within(charts: Iterable<string>): { names: Names; charts: number } {
    const found = [...new Set(charts)].map((chart) => this.of(chart)).filter((names) => names.size);
    return { names: new Map(found.flatMap((names) => [...names])), charts: found.length };
  }
}
