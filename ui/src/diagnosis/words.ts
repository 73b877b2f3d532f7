/** How sure, and what is worth saying, in words. */
import type { Verdict } from "../api/client";

export function confidenceWords(confidence: number): string {
  if (confidence >= 0.97) return "Almost certain";
  if (confidence >= 0.85) return "Very likely";
  if (confidence >= 0.6) return "Likely";
  if (confidence >= 0.35) return "Possible";
  return "A guess among others";
}

export type Kind = "dead" | "unknown" | "well" | "alive" | "stuck";

/** Which of the five things the page has to say. */
export function kindOf(verdict: Verdict): Kind {
  if (verdict.state === "running") return verdict.cause ? "stuck" : "alive";
  if (verdict.state === "finished" && !verdict.cause) return "well";
  return !verdict.cause || verdict.cause === "unknown" ? "unknown" : "dead";
}

const READER = / \(read by [\w-]+\)$/;
const CLOSEST = /^closest call:\s*/i;

export function closestCall(verdict: Verdict): string | null {
  const found = verdict.evidence.find((fact) => CLOSEST.test(fact.text));
  return found ? found.text.replace(CLOSEST, "") : null;
}

/** Which probe read it is for those who ask why. */
export function withoutReader(text: string): string {
  return text.replace(READER, "");
}

/** With a capital; the name of a metric or a counter stays as it is. */
export function begun(text: string): string {
  const words = withoutReader(text);
  return /^[a-z]+[\s,;:]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
}

export function sentence(text: string): string {
  const words = begun(text);
  return /[.!?…]$/.test(words) ? words : `${words}.`;
}

/** The moment a program's last words are said in: how it went. */
export function ending(verdict: Verdict): { at: number; text: string } | null {
  const found = verdict.evidence.find((fact) => /exit status|signal witness/.test(fact.source));
  return found ? { at: found.at, text: withoutReader(found.text) } : null;
}

/** "SIGKILL", "exit code 1": for the mark on the curve. */
export function deathWord(verdict: Verdict): string {
  const text = verdict.evidence.map((fact) => fact.text).join(" ");
  return /\bSIG[A-Z0-9]+\b/.exec(text)?.[0] ?? /exit code \d+/.exec(text)?.[0] ?? "end";
}

export function isFromKernel(source: string): boolean {
  return /kernel log|dmesg|journald/.test(source);
}
