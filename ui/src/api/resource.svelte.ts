/**
 * Answers kept by key: a page that is opened again shows at once what it showed before, and asks anew behind that.
 *
 *   const projects = $derived(resource("projects", api.projects));
 *   {#if projects.data} … {:else if projects.error} …
 */
import { Problem } from "./client";

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  error = $state.raw<Problem | undefined>(undefined);
  isLoading = $state(true);
  /** When the data came, in ms since 1970. */
  at = $state(0);
  /** Nobody asks while it is. */
  isHeld = false;
  #load: () => Promise<T>;
  #asked: Promise<void> | null = null;
  #isAskedAgain = false;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get isAsking(): boolean {
    return this.#asked !== null;
  }

  /** Ask again. Several wishes while one is under way are one more question. */
  refresh(): Promise<void> {
    if (this.isHeld) return Promise.resolve();
    if (this.#asked) {
      this.#isAskedAgain = true;
      return this.#asked;
    }
    this.#asked = this.#ask().finally(() => {
      this.#asked = null;
      if (this.#isAskedAgain) {
        this.#isAskedAgain = false;
        void this.refresh();
      }
    });
    return this.#asked;
  }

  async #ask(): Promise<void> {
    try {
      this.data = await this.#load();
      this.at = Date.now();
      this.error = undefined;
    } catch (error) {
      this.error = error instanceof Problem ? error : new Problem(-1, String(error));
    } finally {
      this.isLoading = false;
    }
  }
}

const MOST_KEPT = 200;
const kept = new Map<string, Resource<unknown>>();

/** The answer under a key; asking for it starts the question, and again when it is older than `freshMs`. */
export function resource<T>(key: string, load: () => Promise<T>, freshMs = 2000): Resource<T> {
  let found = kept.get(key) as Resource<T> | undefined;
  if (!found) {
    found = new Resource(load);
    kept.set(key, found as Resource<unknown>);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
  }
  const known = found;
  // Not now: a derived value may not change others while it is computed.
  queueMicrotask(() => {
    if (!known.isAsking && Date.now() - known.at > freshMs) void known.refresh();
  });
  return known;
}

/** Ask again for everything whose key begins so, as after a change. */
export function refreshAll(prefix = ""): void {
  for (const [key, found] of kept) {
    if (key.startsWith(prefix)) void found.refresh();
  }
}

/** While something is deleted nobody asks for what begins so: the answer could only be that it is gone. Returns the way back. */
export function hold(prefix: string): () => void {
  const held = [...kept].filter(([key]) => key.startsWith(prefix)).map(([, found]) => found);
  for (const found of held) found.isHeld = true;
  return () => {
    for (const found of held) found.isHeld = false;
  };
}

export function forgetAll(prefix = ""): void {
  for (const key of [...kept.keys()]) {
    if (key.startsWith(prefix)) kept.delete(key);
  }
}
