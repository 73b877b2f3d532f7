/** Changes of settings on their way to the server: one message after the other, and none is dropped while it is away. */
import { api, Problem, type Views } from "../api/client";

/** By setting: empty takes away what the view has, null is as the view has it. */
export type Edits = Record<string, string | null>;

export class Outbox {
  #edits = new Map<string, Edits>();
  #view: string | null = null;
  #isSending = false;

  constructor(
    readonly project: string,
    private readonly onanswer: (data: Views) => void,
    private readonly onrefusal: (problem: Problem) => void,
  ) {}

  /** What was not sent yet of a view, or is on its way. */
  waiting = new Map<string, Edits>();

  put(view: string, edits: Edits): Promise<void> {
    this.#edits.set(view, { ...this.#edits.get(view), ...edits });
    this.waiting.set(view, { ...this.waiting.get(view), ...edits });
    return this.send();
  }

  choose(view: string): Promise<void> {
    this.#view = view;
    return this.send();
  }

  /** Send what there is; also after the server was away. */
  async send(): Promise<void> {
    while (!this.#isSending && (this.#edits.size || this.#view !== null)) {
      this.#isSending = true;
      const [edits, view] = [this.#edits, this.#view];
      this.#edits = new Map();
      this.#view = null;
      try {
        const data = await api.keepViews({ project: this.project, edits: Object.fromEntries(edits), ...(view !== null && { view }) });
        this.#settle();
        this.onanswer(data);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (error.status === 0 || error.status >= 500) return this.#takeBack(edits, view);
        this.#settle();
        this.onrefusal(error);
      } finally {
        this.#isSending = false;
      }
    }
  }

  #settle(): void {
    this.waiting = new Map(this.#edits);
  }

  #takeBack(edits: Map<string, Edits>, view: string | null): void {
    for (const [name, before] of edits) this.#edits.set(name, { ...before, ...this.#edits.get(name) });
    this.#view ??= view;
  }
}
