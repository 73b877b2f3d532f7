/** What media some runs have: asked once for all of them, and again when one of them has new ones. */
import { api, Problem, type LostMedia, type RunMedia } from "../api/client";
import { live } from "../api/live.svelte";

const REFRESH_MS = 1200;
const WAITING_MS = 2000;

export interface KeyOfRuns {
  key: string;
  type: string;
  /** Those that have something under it, in the order of the runs. */
  runs: RunMedia[];
  /** Where it stands for the layers of a model: the key and the name of each. */
  layers?: { key: string; name: string }[];
}

const names = new Intl.Collator(undefined, { numeric: true });

/** `layers.3` stands before `layers.11`. */
export function byName(one: string, other: string): number {
  return names.compare(one, other);
}

const LAYER = /^((?:.*\/)?(?:gradients|parameters))\/(.+)\/log10$/;

/** What `watch()` tells of each layer is one panel. */
export function layered(keys: KeyOfRuns[]): KeyOfRuns[] {
  const found = new Map<string, KeyOfRuns>();
  for (const each of keys) {
    const [, group, name] = (each.type === "histogram" && LAYER.exec(each.key)) || [];
    const all = group === undefined ? undefined : found.get(group + "\n");
    if (!group || !name) found.set(each.key, each);
    else if (all) {
      all.layers!.push({ key: each.key, name });
      all.runs.push(...each.runs.filter(({ run }) => !all.runs.some((other) => other.run === run)));
    } else found.set(group + "\n", { key: `${group}/…`, type: each.type, runs: [...each.runs], layers: [{ key: each.key, name }] });
  }
  return [...found.values()];
}

export class MediaFeed {
  keys = $state.raw<KeyOfRuns[] | null>(null);
  /** The steps at which there is something, of all keys but those that are numbers at every step. */
  steps = $state.raw<number[]>([]);
  /** How many are still being made. */
  waiting = $state(0);
  /** What was logged and is not there. */
  lost = $state.raw<(LostMedia & { run: string })[]>([]);
  error = $state.raw<Problem | null>(null);
  /** Changes when something is there that was not before. */
  version = $state(0);
  #runs: string[] = [];
  #timer = 0;
  #known = "";

  /** Show the media of some runs until the returned function is called. */
  follow(runs: string[]): () => void {
    this.#runs = runs;
    void this.#load();
    const soon = (run: string) => {
      if (this.#runs.includes(run)) this.#soon(REFRESH_MS);
    };
    const ends = [live.on("rows", ({ run }) => soon(run)), live.on("run", ({ id }) => soon(id)), live.on("reset", () => this.#soon(0))];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      this.#timer = 0;
    };
  }

  #soon(pause: number): void {
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0;
      void this.#load();
    }, pause);
  }

  async #load(): Promise<void> {
    const runs = this.#runs;
    if (!runs.length) return void (this.keys = []);
    try {
      const { media, waiting, lost } = await api.mediaKeys(runs);
      const text = JSON.stringify(media);
      if (runs !== this.#runs) return;
      this.waiting = Object.values(waiting).reduce((sum, each) => sum + each, 0);
      this.lost = Object.entries(lost).flatMap(([run, all]) => all.map((each) => ({ ...each, run })));
      this.error = null;
      if (text !== this.#known) {
        const keys = gathered(media);
        const stepped = keys.filter((each) => each.type !== "histogram").map((each) => each.key);
        this.steps = stepped.length ? await api.mediaSteps(runs, stepped) : [];
        this.#known = text;
        this.keys = keys;
        this.version++;
      }
      // What is made now is heard of when it is there; of what is still in the spool nobody tells.
      if (this.waiting) this.#soon(WAITING_MS);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.error = error;
    }
  }
}

function gathered(media: RunMedia[]): KeyOfRuns[] {
  const found = new Map<string, KeyOfRuns>();
  for (const each of media) {
    const key = found.get(each.key);
    if (key) key.runs.push(each);
    else found.set(each.key, { key: each.key, type: each.type, runs: [each] });
  }
  return [...found.values()].sort((one, other) => byName(one.key, other.key));
}
