/** Where the shown runs made sure of their rows: the moments of `flush()`, asked for while people want to see them. */
import { api, type FlushesOfRun } from "../api/client";
import { live } from "../api/live.svelte";

const REFRESH_MS = 5000;
const RUNS_AT_ONCE = 100;

export class FlushMarks {
  byRun = $state.raw<Map<string, FlushesOfRun>>(new Map());
  /** Null until it is known. */
  total = $derived.by(() => (this.#isKnown ? [...this.byRun.values()].reduce((sum, each) => sum + each.total, 0) : null));
  #isKnown = $state(false);
  #runs: string[] = [];

  /** Show those of some runs until the returned function is called. */
  follow(runs: string[]): () => void {
    this.#runs = runs.slice(0, RUNS_AT_ONCE);
    void this.#load();
    let timer = 0;
    const end = live.on("rows", ({ run }) => {
      if (this.#runs.includes(run)) timer ||= window.setTimeout(() => { timer = 0; void this.#load(); }, REFRESH_MS);
    });
    return () => {
      end();
      clearTimeout(timer);
      this.#runs = [];
      this.byRun = new Map();
      this.#isKnown = false;
    };
  }

  async #load(): Promise<void> {
    const runs = this.#runs;
    if (!runs.length) return;
    const found = await api.flushes(runs).catch(() => null);
    if (!found || runs !== this.#runs) return;
    this.byRun = new Map(found.map((each) => [each.run, each]));
    this.#isKnown = true;
  }
}
