/** The runs that panels show, with the columns that all of them need: one question, asked again when runs have changed. */
import { api, Problem, type RunBrief } from "../api/client";
import { live } from "../api/live.svelte";
import { extraColumns } from "../workspace/columns";
import { MOST_GATHERED } from "../workspace/crowd";

const REFRESH_MS = 4000;

interface Question {
  project: string;
  filter: string;
  sort: string;
}

class PanelFeed {
  runs = $state.raw<RunBrief[] | null>(null);
  total = $state(0);
  error = $state.raw<Problem | null>(null);
  /** What a panel has brushed; the newest brush counts. */
  brush = $state.raw<{ panel: string; runs: ReadonlySet<string> } | null>(null);
  #question: Question = { project: "", filter: "", sort: "" };
  #wanted = new Map<string, string[]>();
  #asked = "";
  #controller = new AbortController();
  #timer = 0;
  #ends: (() => void)[] = [];

  /** A panel needs these columns until the returned function is called. */
  want(panel: string, columns: string[], question: Question): () => void {
    if (question.project !== this.#question.project) this.runs = null;
    this.#question = question;
    if (!this.#ends.length) this.#follow();
    this.#wanted.set(panel, columns);
    // All panels of a page come at once: they are one question.
    queueMicrotask(() => void this.#ask());
    return () => {
      this.#wanted.delete(panel);
      queueMicrotask(() => !this.#wanted.size && this.#rest());
    };
  }

  brushFrom(panel: string, runs: ReadonlySet<string> | null): void {
    if (runs) this.brush = { panel, runs };
    else if (this.brush?.panel === panel) this.brush = null;
  }

  #follow(): void {
    const soon = () => {
      this.#timer ||= window.setTimeout(() => {
        this.#timer = 0;
        void this.#ask(true);
      }, REFRESH_MS);
    };
    this.#ends = [
      live.on("run", (run) => run.project === this.#question.project && soon()),
      live.on("rows", (rows) => rows.project === this.#question.project && soon()),
      live.on("removed", soon),
      live.on("reset", soon),
    ];
  }

  #rest(): void {
    for (const end of this.#ends.splice(0)) end();
    clearTimeout(this.#timer);
    this.#timer = 0;
    // What is kept may have changed by the time that somebody looks again.
    this.#asked = "";
  }

  async #ask(isAgain = false): Promise<void> {
    if (!this.#wanted.size) return;
    const columns = [...new Set(extraColumns([...this.#wanted.values()].flat()))].sort().join(",");
    const asked = { ...this.#question, columns, limit: MOST_GATHERED };
    const text = JSON.stringify(asked);
    if (text === this.#asked && !isAgain) return;
    if (text !== this.#asked) this.#controller.abort();
    this.#asked = text;
    const controller = (this.#controller = new AbortController());
    try {
      const found = await api.runs(asked, controller.signal);
      this.runs = found.runs;
      this.total = found.total;
      this.error = null;
    } catch (error) {
      if (controller.signal.aborted || !(error instanceof Problem)) return;
      this.error = error;
      this.#asked = "";
    }
  }
}

export const feed = new PanelFeed();
