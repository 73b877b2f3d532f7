/** Which curve mattered, as the cause names it, and against what. Pure. */
import { isLoss } from "../metrics";
import type { RunDetail, Verdict } from "../api/client";
import { byHost, findPanels, type Drawn, type Panel } from "../run/system";

export interface Curve {
  title: string;
  /** What it says where it is not the cause itself. */
  note: string;
  /** It only shows how the run went until then. */
  isRecord: boolean;
  panel: Panel;
}

const MEMORY_LEFT = "for the record: memory was not the cause";

export function findCurve(run: RunDetail, verdict: Verdict, keys: string[]): Curve | null {
  const hosts = byHost(keys);
  const host = hosts.has(run.host) ? run.host : ([...hosts.keys()][0] ?? "");
  const panels = findPanels(host, hosts.get(host) ?? [], run.facts);
  for (const id of verdict.curves) {
    const found = curveOf(id, panels, verdict, keys);
    if (found) return found;
  }
  const memory = firstOf(panels, memoryFirst(panels));
  if (!memory) return null;
  return { title: againstWords(memory), note: verdict.cause && verdict.cause !== "unknown" ? MEMORY_LEFT : "", isRecord: true, panel: memory };
}

/** What the cause names: a metric that its evidence speaks of, the loss, a disk, or a panel of the machine. */
function curveOf(id: string, panels: Panel[], verdict: Verdict, keys: string[]): Curve | null {
  const isRecord = verdict.curves.includes("loss");
  if (id === "metric" || id === "loss") {
    const metric = id === "metric" ? namedMetric(verdict, keys) : lossOf(keys);
    return metric ? metricCurve(metric, isRecord) : null;
  }
  if (id === "disk") return fullestDisk(panels, verdict);
  const panel = panels.find((each) => each.id === id);
  return panel ? { title: againstWords(panel), note: "", isRecord: false, panel } : null;
}

/** The container's memory where that has a limit; else the program's against the machine. */
function memoryFirst(panels: Panel[]): string[] {
  return panels.some((panel) => panel.id === "cgroup-0" && panel.limits.length) ? ["rss", "cgroup-0", "host-memory"] : ["rss", "host-memory"];
}

/** Curves that a run that ended well may have come near the limit of. */
export function memoryCurves(run: RunDetail, keys: string[]): Panel[] {
  const hosts = byHost(keys);
  const host = hosts.has(run.host) ? run.host : ([...hosts.keys()][0] ?? "");
  const wanted = ["rss", "gpu-memory"];
  return findPanels(host, hosts.get(host) ?? [], run.facts).filter((panel) => wanted.includes(panel.id) && panel.limits.length);
}

/** From nothing to above the limit that a curve is held against; null for what a program logged. */
export function heldRange(panel: Panel, { lines, limits }: Drawn): { low: number; high: number } | null {
  if (panel.id === "metric") return null;
  const most = lines.reduce((high, line) => line.y.reduce((each, value) => (value > each ? value : each), high), 0);
  const least = limits.reduce((low, limit) => Math.min(low, limit.y), Infinity);
  const high = Math.max(most, Number.isFinite(least) ? least : 0);
  return high > 0 ? { low: 0, high: high * 1.08 } : null;
}

/** The memory whose greatest figure is worth a place among the first: that of a GPU, where there is one. */
export function figurePanels(run: RunDetail, keys: string[]): Panel[] {
  return memoryCurves(run, keys).toSorted((one, other) => Number(other.id === "gpu-memory") - Number(one.id === "gpu-memory"));
}

function firstOf(panels: Panel[], ids: string[]): Panel | undefined {
  return ids.map((id) => panels.find((panel) => panel.id === id)).find((panel) => panel !== undefined);
}

function againstWords(panel: Panel): string {
  const words: Record<string, string> = {
    "cgroup-0": "Memory against the container's limit",
    rss: "Memory of the program against its limit",
    "host-memory": "Memory of the machine against all there is",
    "gpu-memory": "GPU memory against what the GPU has",
    files: "Open files against the limit",
    processes: "Processes against the limit",
  };
  return words[panel.id] ?? (panel.id.startsWith("disk-") ? `${panel.title} against what it holds` : panel.title);
}

function fullestDisk(panels: Panel[], verdict: Verdict): Curve | null {
  const text = verdict.evidence.map((fact) => fact.text).join(" ");
  const disks = panels.filter((panel) => panel.id.startsWith("disk-") && panel.id !== "disk-shm");
  const named = disks.find((panel) => text.includes(`/${panel.id.slice(5)}`)) ?? disks.find((panel) => panel.id === "disk-cwd") ?? disks[0];
  return named ? { title: againstWords(named), note: "", isRecord: false, panel: named } : null;
}

/** The metric that the evidence speaks of. */
function namedMetric(verdict: Verdict, keys: string[]): string | null {
  const text = [verdict.title, ...verdict.evidence.map((fact) => fact.text)].join("\n");
  const own = keys.filter((key) => !key.startsWith("system/") && key.length > 1);
  const found = own.map((key) => ({ key, at: positionOf(text, key) })).filter(({ at }) => at >= 0);
  found.sort((one, other) => one.at - other.at || other.key.length - one.key.length);
  return found[0]?.key ?? null;
}

/** Where a name stands as a word of its own. */
function positionOf(text: string, name: string): number {
  const isPart = (letter: string | undefined) => letter !== undefined && /[\w/.-]/.test(letter);
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const next = text[at + name.length];
    if (!isPart(text[at - 1]) && (!isPart(next) || (next === "." && !isPart(text[at + name.length + 1])))) return at;
  }
  return -1;
}

function lossOf(keys: string[]): string | null {
  return keys.find((key) => !key.startsWith("system/") && isLoss(key)) ?? null;
}

function metricCurve(metric: string, isRecord: boolean): Curve {
  const panel: Panel = { id: "metric", title: metric, group: "Program", yKind: "number", lines: [{ name: metric, key: metric }], limits: [] };
  return { title: `${metric} up to the end`, note: isRecord ? "for the record: what was logged until then" : "", isRecord, panel };
}
