/** What belongs to a step, asked for once; and before it is needed, for the steps beside the one that is shown. */
import { api, type MediaEntry } from "../api/client";
import { thumbUrl } from "./files";

const MOST_KEPT = 12;
const MOST_PICTURES = 300;

export class Upcoming {
  #kept = new Map<number | null, Promise<MediaEntry[]>>();
  #pictures = new Map<number | null, HTMLImageElement[]>();

  constructor(private readonly runs: string[], private readonly key: string) {}

  has(step: number | null): boolean {
    return this.#kept.has(step);
  }

  /** Null for the newest. */
  at(step: number | null): Promise<MediaEntry[]> {
    let found = this.#kept.get(step);
    if (!found) {
      found = api.media(this.runs, [this.key], step);
      this.#kept.set(step, found);
      found.catch(() => this.#kept.delete(step));
      for (const old of [...this.#kept.keys()].slice(0, -MOST_KEPT)) {
        this.#kept.delete(old);
        this.#pictures.delete(old);
      }
    }
    return found;
  }

  /** Have the next and the previous one, with their small pictures; what is not there is said when it is asked for. */
  async lookAhead(steps: number[], step: number | null): Promise<void> {
    const at = step === null ? steps.length - 1 : steps.findLastIndex((each) => each <= step);
    for (const place of [at + 1, at - 1]) {
      const next = place === steps.length - 1 ? null : steps[place];
      if (next === undefined || this.has(next)) continue;
      const entries = await this.at(next).catch(() => []);
      const items = entries.flatMap((entry) => (entry.type === "image" ? entry.items.map((item) => thumbUrl(entry.run, item)) : []));
      // As long as they are held, the browser keeps them.
      this.#pictures.set(next, items.slice(0, MOST_PICTURES).map((src) => Object.assign(new Image(), { fetchPriority: "low", decoding: "async", src })));
    }
  }
}
