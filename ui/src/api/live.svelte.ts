/**
 * What changes on the server, while it changes: one stream for all tabs of a browser. The visible tab that holds the
 * lock reads it and tells the others; a hidden tab reads nothing and catches up by number when it is seen again.
 */
import { apiUrl, type RunBrief } from "./client";

export interface LiveEvents {
  run: RunBrief;
  rows: { run: string; project: string; seq: number; rows: number };
  console: { run: string; lines: number };
  verdict: { run: string; state: string; cause: string | null; confidence: number; title: string };
  removed: { run: string };
  /** Views of a project, or what somebody changed of them. */
  views: { project: string };
  /** Some changes were missed: ask for everything again. */
  reset: Record<string, never>;
}

export type LiveKind = keyof LiveEvents;
type Handler<K extends LiveKind> = (data: LiveEvents[K]) => void;
interface Message {
  kind: LiveKind;
  seq: number;
  data: never;
}

const KINDS: LiveKind[] = ["run", "rows", "console", "verdict", "removed", "views", "reset"];
const LOCK = `holter-live ${apiUrl("")}`;
/** Changes are handed on together: a hundred runs that log are one change of the page, not a hundred. */
const GATHER_MS = 80;
const RETRY_MS = [1000, 2000, 4000, 8000, 15000];

class Live {
  isOpen = $state(false);
  /** When the stream broke, in ms since 1970; null while all is well. */
  lostAt = $state<number | null>(null);
  /** Runs that are alive, as far as the page knows of what it shows. */
  running = $state(0);
  /** Those of them that a guard warns of. */
  warned = $state.raw<RunBrief[]>([]);
  #handlers = new Map<LiveKind, Set<Handler<never>>>();
  #channel = "BroadcastChannel" in window ? new BroadcastChannel(LOCK) : null;
  #source: EventSource | null = null;
  #leave: (() => void) | null = null;
  #waiting: AbortController | null = null;
  #seq: number | null = null;
  #retries = 0;
  #timer = 0;
  #isStarted = false;
  #gathered = new Map<string, Message>();
  #gathering = 0;

  /** Begin behind a number, which the server told with its first answer. Idempotent. */
  start(seq: number): void {
    this.#seq ??= seq;
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#channel?.addEventListener("message", ({ data }: MessageEvent<Message[] | boolean>) => {
      if (typeof data === "boolean") this.#tellOpen(data);
      else this.#hand(data);
    });
    document.addEventListener("visibilitychange", () => this.#follow());
    window.addEventListener("pagehide", () => this.#close());
    window.addEventListener("pageshow", () => this.#follow());
    this.#follow();
  }

  /** Call a function for each change of a kind; returns what ends that. Use it as the result of an $effect. */
  on<K extends LiveKind>(kind: K, handler: Handler<K>): () => void {
    const handlers = this.#handlers.get(kind) ?? new Set();
    this.#handlers.set(kind, handlers);
    handlers.add(handler as Handler<never>);
    return () => handlers.delete(handler as Handler<never>);
  }

  /** Try now and not after the pause. */
  retry(): void {
    this.#retries = 0;
    this.#close();
    this.#follow();
  }

  /** As if some changes had been missed: whoever could not ask asks again. */
  startOver(): void {
    for (const handler of this.#handlers.get("reset") ?? []) handler({} as never);
  }

  #follow(): void {
    if (document.visibilityState === "hidden") return this.#close();
    if (this.#source || this.#waiting) return;
    if (!navigator.locks || !this.#channel) return this.#connect();
    // Whoever gets the lock reads the stream until it is hidden or closed.
    const waiting = (this.#waiting = new AbortController());
    const held = () => new Promise<void>((resolve) => {
      this.#leave = resolve;
      this.#connect();
    });
    navigator.locks.request(LOCK, { signal: waiting.signal }, held).catch(() => {});
  }

  #connect(): void {
    const source = (this.#source = new EventSource(apiUrl("events", { after: this.#seq })));
    source.onopen = () => {
      this.#retries = 0;
      this.#tellOpen(true);
      this.#channel?.postMessage(true);
    };
    source.onerror = () => {
      this.#tellOpen(false);
      this.#channel?.postMessage(false);
      // We open a new one with the number that we know, also where the browser would give up.
      source.close();
      if (this.#source !== source) return;
      const pause = RETRY_MS[Math.min(this.#retries++, RETRY_MS.length - 1)];
      this.#timer = window.setTimeout(() => this.#connect(), pause);
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event: MessageEvent<string>) => {
        this.#gather({ kind, seq: Number(event.lastEventId), data: JSON.parse(event.data) as never });
      });
    }
  }

  #close(): void {
    window.clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
    this.#leave?.();
    this.#leave = null;
    this.#waiting?.abort();
    this.#waiting = null;
  }

  /** Only the newest change of a kind to a run is of interest. */
  #gather(message: Message): void {
    const data = message.data as { run?: string; id?: string; project?: string };
    this.#gathered.set(`${message.kind} ${data.run ?? data.id ?? data.project ?? ""}`, message);
    this.#gathering ||= window.setTimeout(() => {
      const messages = [...this.#gathered.values()];
      this.#gathered.clear();
      this.#gathering = 0;
      this.#channel?.postMessage(messages);
      this.#hand(messages);
    }, GATHER_MS);
  }

  #hand(messages: Message[]): void {
    this.#tellOpen(true);
    for (const { kind, seq, data } of messages) {
      this.#seq = kind === "reset" ? seq : Math.max(this.#seq ?? 0, seq);
      for (const handler of this.#handlers.get(kind) ?? []) handler(data);
    }
  }

  #tellOpen(isOpen: boolean): void {
    this.isOpen = isOpen;
    if (isOpen) this.lostAt = null;
    else this.lostAt ??= Date.now();
  }
}

export const live = new Live();
