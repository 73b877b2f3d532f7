/** What charts know of a run: as little as tells when its lines must be drawn anew. Pure. */
import type { XKind } from "../chart/line";
import type { Span } from "../chart/scales";
import { grouped } from "../format";
import { causeWords, hasDied, lookOf } from "../run/states";

export interface ShownRun {
  name: string;
  hasDied: boolean;
  isLive: boolean;
  /** In seconds since 1970. */
  startedAt: number;
  endedAt: number | null;
  /** Of a run that has ended. */
  lastStep: number | null;
  state: string;
  cause: string;
  /** Above 1 where it was resumed. */
  attempt: number;
}

interface Known {
  id: string;
  name: string;
  state: string;
  started_at: number;
  ended_at: number | null;
  last_step: number | null;
  attempt?: number;
  cause?: string | null;
}

export function shownRun(run: Known): ShownRun {
  const isDead = hasDied(run);
  return {
    name: run.name || run.id,
    hasDied: isDead,
    isLive: run.state === "running",
    startedAt: run.started_at,
    endedAt: run.ended_at,
    lastStep: run.state === "running" ? null : run.last_step,
    state: run.state,
    cause: run.cause ?? "",
    attempt: run.attempt ?? 1,
  };
}

/** Why there is nothing of a run behind its last step; empty while it runs. */
export function endWords(run: ShownRun): string {
  if (run.isLive) return "";
  const why = run.hasDied && run.cause ? causeWords(run.cause) : lookOf(run).word;
  return run.lastStep === null ? why : `${why}, ended at step ${grouped(run.lastStep)}`;
}

/** Whether a run ended within what is shown: a line that only leaves the zoom has not died there. */
export function endsWithin(run: ShownRun, xKind: XKind, zoom: Span | null): boolean {
  if (!zoom) return true;
  const ends: Record<XKind, number | null> = {
    step: run.lastStep,
    time: run.endedAt,
    relative: run.endedAt === null ? null : run.endedAt - run.startedAt,
    metric: null,
  };
  const end = ends[xKind];
  return end !== null && end <= zoom.high;
}
