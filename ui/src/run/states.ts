/** The states of a run: colour, glyph and word, so that none of the three is needed alone. */
export interface StateLook {
  word: string;
  glyph: string;
  tone: "alive" | "good" | "death" | "warn" | "quiet";
  says: string;
}

const LOOKS: Record<string, StateLook> = {
  running: { word: "Running", glyph: "●", tone: "alive", says: "alive" },
  finished: { word: "Finished", glyph: "✓", tone: "good", says: "ended by itself, without an error" },
  failed: { word: "Failed", glyph: "!", tone: "death", says: "ended by itself, with an error" },
  crashed: { word: "Crashed", glyph: "✕", tone: "death", says: "was ended by a signal, by Linux, or with its machine" },
  preempted: { word: "Preempted", glyph: "⏏", tone: "warn", says: "a scheduler gave its place to another job" },
  unreadable: { word: "Unreadable", glyph: "?", tone: "warn", says: "holter can't show it" },
  stale: { word: "Stale", glyph: "◌", tone: "warn", says: "its heartbeats are late" },
};

export const DEAD_STATES = ["failed", "crashed", "preempted", "finished"];

export function lookOf(run: { state: string; is_stale?: boolean }): StateLook {
  const state = run.state === "running" && run.is_stale ? "stale" : run.state;
  return LOOKS[state] ?? { word: state, glyph: "?", tone: "quiet", says: "" };
}

/** How many seconds a run that has not ended has run, by the clock of its own machine. */
export function runningFor(run: { started_at: number; ahead_s: number }, nowMs: number): number {
  return Math.max(0, nowMs / 1000 - run.ahead_s - run.started_at);
}

/** Whether it ended other than well: its lines end in a ✕. */
export function hasDied(run: { state: string }): boolean {
  return run.state === "crashed" || run.state === "failed" || run.state === "preempted";
}

/** What a person says that a run died of, behind their name. */
export function saidWords(mark: { by: string; cause: string }): string {
  if (mark.cause === "none") return `${mark.by} says that it ended normally`;
  return `${mark.by} says: ${mark.cause === "other" ? "something else" : causeWords(mark.cause)}`;
}

/** Words in the middle of a sentence: small, but for names such as GPU. */
export function inText(words: string): string {
  return /^[A-Z]{2}/.test(words) ? words : words.charAt(0).toLowerCase() + words.slice(1);
}

/** Causes whose id is not what a reader would say. */
const SAID: Record<string, string> = {
  "cgroup-out-of-memory": "Container out of memory",
  "userspace-oom-killer": "Out-of-memory killer in user space",
  terminated: "Killed by SIGTERM",
  unknown: "Cause unknown",
};

/** `gpu-out-of-memory` as words. */
export function causeWords(cause: string | null | undefined): string {
  if (!cause) return "";
  if (SAID[cause]) return SAID[cause];
  const words = cause.replaceAll("-", " ").replace(/\b(gpu|cpu)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}
