/** How a workspace is set up. All of it is in the address, so a link shows what its sender saw. */
import type { Span } from "../chart/scales";
import { place } from "../state/router.svelte";

export const SIZES = { s: { width: 240, height: 130 }, m: { width: 310, height: 190 }, l: { width: 560, height: 320 } };
export type Size = keyof typeof SIZES;
export const MOST_LINES = 100;

/** Names in one parameter: commas separate them, those inside a name are escaped. */
export function joinNames(names: string[]): string {
  return names.map((name) => name.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
}

export function splitNames(text: string): string[] {
  return text.split(",").filter(Boolean).map((name) => name.replaceAll("%2C", ",").replaceAll("%25", "%"));
}

class View {
  filter = $derived(place.get("q"));
  sort = $derived(place.get("sort", "-started_at"));
  /** Null: as we think best. */
  columns = $derived(place.query.has("cols") ? splitNames(place.get("cols")) : null);
  x = $derived(place.get("x", "step"));
  smoothing = $derived(Math.min(0.999, Math.max(0, place.number("smooth") ?? 0)));
  isLog = $derived(place.get("log") === "1");
  group = $derived(place.get("group"));
  search = $derived(place.get("metrics"));
  hidden = $derived(new Set(place.list("hide")));
  shown = $derived(new Set(place.list("show")));
  pinned = $derived(splitNames(place.get("pin")));
  closed = $derived(place.query.has("closed") ? new Set(splitNames(place.get("closed"))) : null);
  lines = $derived(Math.min(MOST_LINES, Math.max(1, place.number("lines") ?? 20)));
  size = $derived<Size>(place.get("size") in SIZES ? (place.get("size") as Size) : "m");
  zoom = $derived.by<Span | null>(() => {
    const [low, high] = [place.number("from"), place.number("to")];
    return low !== null && high !== null && low < high ? { low, high } : null;
  });

  setZoom(span: Span | null): void {
    place.set({ from: span ? round(span.low) : null, to: span ? round(span.high) : null });
  }

  /** A zoom is in units of its axis. */
  setX(x: string): void {
    place.set({ x: x === "step" ? null : x, from: null, to: null });
  }

  sortBy(field: string): void {
    const first = field === "started_at" || field.startsWith("summary.") ? `-${field}` : field;
    const other = first.startsWith("-") ? field : `-${field}`;
    const next = this.sort === first ? other : first;
    place.set({ sort: next === "-started_at" ? null : next });
  }

  /** Whether a run's lines are drawn: the first ones of the table are, and what people chose. */
  isShown(id: string, index: number): boolean {
    return !this.hidden.has(id) && (index < this.lines || this.shown.has(id));
  }

  toggleShown(id: string, index: number): void {
    const [hidden, shown] = [new Set(this.hidden), new Set(this.shown)];
    if (this.isShown(id, index)) {
      shown.delete(id);
      hidden.add(id);
    } else {
      hidden.delete(id);
      if (index >= this.lines) shown.add(id);
    }
    place.set({ hide: [...hidden].join(","), show: [...shown].join(",") }, true);
  }

  togglePin(key: string): void {
    const pinned = this.pinned.includes(key) ? this.pinned.filter((each) => each !== key) : [...this.pinned, key];
    place.set({ pin: joinNames(pinned) }, true);
  }

  movePin(key: string, before: string): void {
    const rest = this.pinned.filter((each) => each !== key);
    rest.splice(rest.indexOf(before), 0, key);
    place.set({ pin: joinNames(rest) }, true);
  }
}

function round(value: number): number {
  return Number(value.toPrecision(12));
}

export const view = new View();
