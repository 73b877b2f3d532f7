/** How a workspace is set up. All of it is in the address, so a link shows what its sender saw. */
import type { Span } from "../chart/scales";
import { place } from "../state/router.svelte";
import { betterOf } from "../metrics";
import { told } from "../state/better.svelte";
import { joinFilters, searchFilter } from "./filters";
import { MOST_GATHERED, MOST_LINES } from "./crowd";
import { joinNames, splitNames } from "../api/names";
import { moved } from "./order";
import { sectionOf, type Section } from "./sections";
import { isUsuallyWhole, readSettings, writeSettings, type ChartSettings } from "./look";

export const SIZES = { s: { width: 240, height: 130 }, m: { width: 290, height: 190 }, l: { width: 560, height: 320 } };
export type Size = keyof typeof SIZES;
export const USUAL_LINES = 20;
/** What a parameter that sets up one chart begins with. */
const CHART = "c.";
/** A chart that was made taller is so by this share. */
export const TALLER = 0.8;

class View {
  /** Words that runs are searched by. */
  find = $derived(place.get("find"));
  /** Which runs the table has: what is searched for, and the filters. */
  filter = $derived(joinFilters([searchFilter(this.find), place.get("q")]));
  sort = $derived(place.get("sort", "-started_at"));
  /** Null: as we think best. */
  columns = $derived(place.query.has("cols") ? splitNames(place.get("cols")) : null);
  x = $derived(place.get("x", "step"));
  /** Metrics whose x axis is another metric, as the program said. */
  axes = $state.raw<Record<string, string>>({});
  smoothing = $derived(Math.min(0.999, Math.max(0, place.number("smooth") ?? 0)));
  isLog = $derived(place.get("log") === "1");
  /** Whether all charts show what most of their lines would leave out. */
  isWhole = $derived(place.get("outliers") === "show");
  group = $derived(place.get("group"));
  search = $derived(place.get("metrics"));
  hidden = $derived(new Set(place.list("hide")));
  shown = $derived(new Set(place.list("show")));
  /** To compare, or to look at later. */
  selected = $derived(new Set(place.list("select")));
  /** The run that all others are compared with. */
  baseline = $derived(place.get("baseline"));
  /** Runs that stay on top of the table, the baseline first. */
  onTop = $derived([...new Set([...(this.baseline ? [this.baseline] : []), ...place.list("top")])]);
  /** Groups of the table whose runs are shown. */
  openGroups = $derived(new Set(splitNames(place.get("open"))));
  /** Whether the best value of each column stands out. */
  hasBest = $derived(place.get("best") === "1");
  /** Of the table, in px; null: as this browser has it. */
  tableWidth = $derived(place.number("table"));
  /** The row that the table begins with. */
  firstRow = $derived(Math.max(0, Math.floor(place.number("row") ?? 0)));
  pinned = $derived(splitNames(place.get("pin")));
  order = $derived(splitNames(place.get("order")));
  /** The section of each chart that was moved out of its own. */
  placed = $derived(new Map(splitNames(place.get("in")).map((pair) => splitNames(pair) as [string, string])));
  tall = $derived(new Set(splitNames(place.get("tall"))));
  /** The chart that is open by itself, and the place at which its crosshair is held. */
  open = $derived(place.get("chart"));
  heldAt = $derived(place.number("at"));
  /** It was opened to add a metric to it. */
  isAdding = false;
  /** It was opened by hand, and not by a link: who did that goes on inside. */
  isOpening = false;
  /** The one that was just closed. */
  leftOpen = "";
  /** Charts that people hid, and counters of which they want charts. */
  off = $derived(new Set(splitNames(place.get("off"))));
  on = $derived(new Set(splitNames(place.get("on"))));
  hasFlushes = $derived(place.get("flushes") === "1");
  /** Of how many charts a section has room, where people asked for more. */
  opened = $derived(new Map(splitNames(place.get("more")).map(countOf)));
  closed = $derived(place.query.has("closed") ? new Set(splitNames(place.get("closed"))) : null);
  /** How many runs of the table are drawn unless people say so: the mean of a group is of all its runs. */
  usualLines = $derived(this.group ? "all" : String(USUAL_LINES));
  /** How many runs of the table are drawn; above `MOST_LINES` they are drawn in groups. */
  lines = $derived(place.get("lines", this.usualLines) === "all" ? MOST_GATHERED : Math.min(MOST_LINES, Math.max(1, place.number("lines") ?? USUAL_LINES)));
  /** Of sections that have another size than all. */
  sizes = $derived(new Map(splitNames(place.get("sizes")).map((text) => [text.slice(2), text.slice(0, 1) as Size])));
  size = $derived<Size>(place.get("size") in SIZES ? (place.get("size") as Size) : "m");
  zoom = $derived.by<Span | null>(() => {
    const [low, high] = [place.number("from"), place.number("to")];
    return low !== null && high !== null && low < high ? { low, high } : null;
  });

  setZoom(span: Span | null): void {
    place.set({ from: span ? round(span.low) : null, to: span ? round(span.high) : null });
  }

  /** What a program said of its metrics; the same again draws nothing anew. */
  takeDefined(keys: readonly { key: string; x_axis: string; better: string }[]): void {
    told.take(keys);
    const found = Object.fromEntries(keys.filter((each) => each.x_axis).map((each) => [each.key, each.x_axis]));
    if (JSON.stringify(found) !== JSON.stringify(this.axes)) this.axes = found;
  }

  /** A zoom is in units of its axis. */
  setX(x: string): void {
    place.set({ x: x === "step" ? null : x, from: null, to: null });
  }

  sortBy(field: string): void {
    const isDown = field === "started_at" || (field.startsWith("summary.") && betterOf(field) !== "low");
    const first = isDown ? `-${field}` : field;
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

  select(ids: string[], isOn: boolean): void {
    const selected = new Set(this.selected);
    for (const id of ids) {
      if (isOn) selected.add(id);
      else selected.delete(id);
    }
    place.set({ select: [...selected].join(",") }, true);
  }

  toggleGroup(name: string): void {
    place.set({ open: joinNames(toggled(this.openGroups, name)) }, true);
  }

  setBaseline(id: string | null): void {
    place.set({ baseline: id });
  }

  toggleOnTop(id: string): void {
    place.set({ top: toggled(new Set(place.list("top")), id).join(",") }, true);
  }

  openMore(section: string, many: number): void {
    const opened = new Map(this.opened).set(section, many);
    place.set({ more: joinNames([...opened].map(([name, count]) => `${name}:${count}`)) }, true);
  }

  sizeOf(section: string): Size {
    const own = this.sizes.get(section);
    return own && own in SIZES ? own : this.size;
  }

  setSize(section: string, size: Size): void {
    const sizes = new Map(this.sizes).set(section, size);
    if (size === this.size) sizes.delete(section);
    place.set({ sizes: joinNames([...sizes].map(([name, own]) => `${own}:${name}`)) }, true);
  }

  togglePin(key: string): void {
    const pinned = this.pinned.includes(key) ? this.pinned.filter((each) => each !== key) : [...this.pinned, key];
    place.set({ pin: joinNames(pinned) }, true);
  }

  /** A pinned chart takes the place of another; one that was not pinned becomes so. */
  movePin(key: string, target: string): void {
    const pinned = this.pinned.includes(key) ? this.pinned : [...this.pinned, key];
    const to = pinned.indexOf(target);
    place.set({ pin: joinNames(pinned.toSpliced(pinned.indexOf(key), 1).toSpliced(to, 0, key)) }, true);
  }

  /** A chart takes the place of another one, in its own section or in that one's; without a target it comes last there. */
  moveChart(section: Section, key: string, target?: string): void {
    const isHere = section.all.includes(key);
    const all = isHere ? section.all : [...section.all, key];
    const placed = new Map(this.placed);
    if (!isHere) placed.set(key, section.name);
    if (sectionOf(key) === section.name) placed.delete(key);
    place.set({
      order: joinNames(target === undefined ? this.order : moved(all, this.order, key, target)),
      in: joinNames([...placed].map((pair) => joinNames(pair))),
      pin: joinNames(this.pinned.filter((each) => each !== key)),
    }, true);
  }

  toggleTall(key: string): void {
    place.set({ tall: joinNames(toggled(this.tall, key)) }, true);
  }

  chartText(metric: string): string {
    return place.get(CHART + metric);
  }

  chart(metric: string): ChartSettings {
    return readSettings(this.chartText(metric));
  }

  setChart(metric: string, changes: Partial<ChartSettings>): void {
    place.set({ [CHART + metric]: writeSettings({ ...this.chart(metric), ...changes }) }, true);
  }

  /** All values of a chart are wanted, or those of most lines. */
  setWhole(metric: string, isWhole: boolean): void {
    this.setChart(metric, { isWhole: isWhole === isUsuallyWhole(metric, this.isWhole) ? null : isWhole });
  }

  /** The same of all charts: where all are to show their outliers, none goes on to hide some. */
  setAllWhole(isWhole: boolean): void {
    const own = [...place.query.keys()].filter((name) => isWhole && name.startsWith(CHART) && readSettings(place.get(name)).isWhole === false);
    place.set({ outliers: isWhole ? "show" : null, ...Object.fromEntries(own.map((name) => [name, writeSettings({ ...readSettings(place.get(name)), isWhole: null })])) }, true);
  }

  sectionOf(metric: string): string {
    return this.placed.get(metric) ?? sectionOf(metric);
  }

  /** What is set of a chart is set of others too; what they were set to before. */
  applyChart(metric: string, others: string[]): Record<string, string> {
    const { x, isLog, smoothing, hasRaw, isWhole, by, band, isQuiet, hidesLost } = this.chart(metric);
    const before = Object.fromEntries(others.map((each) => [CHART + each, this.chartText(each)]));
    place.set(Object.fromEntries(others.map((each) => [CHART + each, writeSettings({ ...this.chart(each), x, isLog, smoothing, hasRaw, isWhole, by, band, isQuiet, hidesLost })])), true);
    return before;
  }

  restoreCharts(before: Record<string, string>): void {
    place.set(before, true);
  }

  resetChart(metric: string): void {
    place.set({ [CHART + metric]: null }, true);
  }

  /** Null closes it. */
  openChart(metric: string | null, isAdding = false): void {
    this.isAdding = isAdding;
    this.isOpening = true;
    this.leftOpen = metric ? "" : this.open;
    place.set({ chart: metric, at: null });
  }

  hideChart(metric: string): void {
    place.set({ off: joinNames([...this.off, metric]), pin: joinNames(this.pinned.filter((each) => each !== metric)) }, true);
  }

  /** Charts that were hidden are there again, and those that are not charted by themselves. */
  showCharts(metrics: string[]): void {
    const off = [...this.off].filter((metric) => !metrics.includes(metric));
    const on = new Set([...this.on, ...metrics.filter((metric) => !this.off.has(metric))]);
    place.set({ off: joinNames(off), on: joinNames([...on]) }, true);
  }

  toggleFlushes(): void {
    place.set({ flushes: this.hasFlushes ? null : 1 }, true);
  }
}

function toggled(names: Set<string>, name: string): string[] {
  const found = new Set(names);
  if (!found.delete(name)) found.add(name);
  return [...found];
}

/** `train:200` as a name and a number. */
function countOf(text: string): [string, number] {
  const at = text.lastIndexOf(":");
  return [text.slice(0, at), Number(text.slice(at + 1)) || 0];
}

function round(value: number): number {
  return Number(value.toPrecision(12));
}

export const view = new View();
