/** What the attempts of a run did, in words. Pure. */
import type { Resume } from "../api/client";
import { count, duration, grouped } from "../format";

/** "Attempt 2 · from step 1,000 · 3 h 28 min"; an attempt that logged nothing went on from nowhere. */
export function attemptWords(attempt: number, ran: number, resumes: Resume[]): string {
  const resume = resumes.find((each) => each.attempt === attempt);
  return [`Attempt ${attempt}`, resume ? `from step ${grouped(resume.step)}` : "", duration(ran)].filter(Boolean).join(" · ");
}

/** "2 attempts · 190 steps trained twice · 8 min between them". What was abandoned on purpose is not done again. */
export function attemptsWords(many: number, paused: number, resumes: Resume[]): string {
  const twice = resumes.reduce((sum, each) => sum + (each.is_rewind ? 0 : each.steps_lost), 0);
  return [count(many, "attempt"), twice ? `${count(twice, "step")} trained twice` : "", `${duration(paused)} between them`].filter(Boolean).join(" · ");
}
