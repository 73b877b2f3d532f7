/** The table of runs: the server sorts, filters and counts; here are only the parts that were looked at. */
import { api, Problem, type AskedTable, type RunBrief } from "../api/client";
import { live } from "../api/live.svelte";

const PART = 100;
const MOST_PARTS = 40;
const REFRESH_MS = 1500;

export class RunTableModel {
  total = $state<number | null>(null);
  error = $state.raw<Problem | null>(null);
  isLoading = $state(false);
  /** Grows whenever rows changed; read it to be told. */
  version = $state(0);
  #asked: AskedTable = {};
  #question = "";
  #parts = new Map<number, RunBrief[]>();
  #pending = new Map<number, AbortController>();
  #seen: [number, number] = [0, 0];
  #timer = 0;
  #refreshedAt = 0;

  /** Ask a question; what is shown stays until its answer comes. True where another one was asked before. */
  configure(asked: AskedTable): boolean {
    const question = JSON.stringify(asked);
    if (question === this.#question) return false;
    const isOther = this.#question !== "";
    this.#question = question;
    this.#asked = asked;
    this.error = null;
    for (const controller of this.#pending.values()) controller.abort();
    this.#pending.clear();
    this.#seen = [0, 0];
    void this.#load(0, 0, true);
    return isOther;
  }

  row(index: number): RunBrief | undefined {
    void this.version;
    return this.#parts.get(Math.floor(index / PART))?.[index % PART];
  }

  /** The first runs of the table, as far as they are known. */
  first(count: number): RunBrief[] {
    void this.version;
    const found: RunBrief[] = [];
    for (let part = 0; found.length < count; part++) {
      const rows = this.#parts.get(part);
      if (!rows) break;
      found.push(...rows);
      if (rows.length < PART) break;
    }
    return found.slice(0, count);
  }

  find(id: string): RunBrief | undefined {
    void this.version;
    for (const rows of this.#parts.values()) {
      const found = rows.find((run) => run.id === id);
      if (found) return found;
    }
    return undefined;
  }

  /** Make sure that rows are here, from the first to before the last. Nothing is asked before there is a question. */
  look(first: number, last: number): void {
    if (!this.#question) return;
    this.#seen = [Math.floor(first / PART), Math.floor(Math.max(first, last - 1) / PART)];
    const missing = range(...this.#seen).filter((part) => !this.#parts.has(part) && !this.#pending.has(part));
    if (!missing.length) return;
    // What people have scrolled past is of no interest any more, and the server shall not answer it first.
    for (const [part, controller] of this.#pending) {
      if (part !== 0 && (part < this.#seen[0] || part > this.#seen[1])) controller.abort();
    }
    void this.#load(missing[0]!, missing.at(-1)!);
  }

  /** Follow the live changes until the returned function is called. */
  follow(project: string): () => void {
    const ends = [
      live.on("run", (run) => run.project === project && this.#patch(run)),
      live.on("rows", () => this.refreshSoon()),
      live.on("removed", () => this.refreshSoon()),
      live.on("reset", () => this.refreshSoon()),
    ];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      this.#timer = 0;
    };
  }

  refreshSoon(): void {
    // A filter that is wrong stays wrong until it is changed.
    if (!this.#question || this.#timer || this.error?.status === 400) return;
    const pause = Math.max(150, this.#refreshedAt + REFRESH_MS - Date.now());
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      void this.refresh();
    }, pause);
  }

  async refresh(): Promise<void> {
    this.#refreshedAt = Date.now();
    const [first, last] = this.#seen;
    for (const part of this.#parts.keys()) if (part !== 0 && (part < first || part > last)) this.#parts.delete(part);
    if (first <= 1) await this.#load(0, last);
    else await Promise.all([this.#load(0), this.#load(first, last)]);
  }

  /** Ask for some parts that follow each other, in one question. */
  async #load(part: number, last = part, isFirst = false): Promise<void> {
    const parts = range(part, last);
    if (parts.some((each) => this.#pending.has(each))) return;
    const controller = new AbortController();
    for (const each of parts) this.#pending.set(each, controller);
    this.isLoading = true;
    const question = this.#question;
    try {
      const found = await api.runs({ ...this.#asked, offset: part * PART, limit: PART * parts.length }, controller.signal);
      if (question !== this.#question) return;
      if (isFirst) this.#parts.clear();
      for (const [at, each] of parts.entries()) {
        this.#parts.delete(each);
        this.#parts.set(each, found.runs.slice(at * PART, (at + 1) * PART));
      }
      while (this.#parts.size > MOST_PARTS) this.#parts.delete([...this.#parts.keys()].find((each) => each !== 0)!);
      this.total = found.total;
      this.error = null;
      this.version++;
    } catch (error) {
      if (!controller.signal.aborted && error instanceof Problem) this.error = error;
    } finally {
      for (const each of parts) if (this.#pending.get(each) === controller) this.#pending.delete(each);
      this.isLoading = this.#pending.size > 0;
    }
  }

  #patch(run: RunBrief): void {
    for (const rows of this.#parts.values()) {
      const at = rows.findIndex((each) => each.id === run.id);
      if (at < 0) continue;
      const isSame = rows[at]!.state === run.state;
      rows[at] = { ...run, values: rows[at]!.values };
      this.version++;
      if (isSame) return;
    }
    this.refreshSoon();
  }
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}
