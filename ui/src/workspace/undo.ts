/** Steps back and forward through changes of settings. */
import type { Settings } from "./settings";

interface Step {
  before: Record<string, string | null>;
  after: Record<string, string | null>;
  at: number;
}

const MOST_STEPS = 100;
/** What follows so soon and changes the same again is one step: a name that is typed, a slider that is dragged. */
const SAME_STEP_MS = 1000;

export class Undo {
  #done: Step[] = [];
  #undone: Step[] = [];

  note(before: Settings, changes: Record<string, string | null>, now: number): void {
    const names = Object.keys(changes);
    const last = this.#done.at(-1);
    this.#undone = [];
    if (last && now - last.at < SAME_STEP_MS && Object.keys(last.after).join() === names.join()) {
      last.after = changes;
      last.at = now;
      return;
    }
    const previous = Object.fromEntries(names.map((name) => [name, before[name] ?? null]));
    this.#done = [...this.#done.slice(1 - MOST_STEPS), { before: previous, after: changes, at: now }];
  }

  /** The changes that take the newest step back; null where there is none. */
  back(): Record<string, string | null> | null {
    const step = this.#done.pop();
    if (step) this.#undone.push(step);
    return step?.before ?? null;
  }

  forward(): Record<string, string | null> | null {
    const step = this.#undone.pop();
    if (step) this.#done.push({ ...step, at: 0 });
    return step?.after ?? null;
  }

  clear(): void {
    this.#done = [];
    this.#undone = [];
  }
}
