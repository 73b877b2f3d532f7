/** The curves of the machine that are worth a chart, and the limits that they are held against. Pure. */
import type { ColumnTable } from "../api/columns";
import type { Limit, Line, YKind } from "../chart/line";
import { bytes, grouped } from "../format";
import { slotColour } from "../chart/palette";
import { processLimit } from "./facts";

export interface PanelLine {
  name: string;
  key: string;
  /** A series to take it from: free memory of all memory is used memory. */
  of?: string;
  /** A counter: how much it grew each second. */
  isRate?: boolean;
}

export interface PanelLimit {
  label: string;
  key?: string;
  value?: number | null;
}

export interface Panel {
  id: string;
  title: string;
  group: "Program" | "Machine" | "GPU";
  yKind: YKind;
  lines: PanelLine[];
  limits: PanelLimit[];
}

export interface Drawn {
  lines: Line[];
  limits: Limit[];
}

const SYSTEM = "system/";

/** The series of the machine by host, without what stands before their names. */
export function byHost(keys: string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const key of keys) {
    if (!key.startsWith(SYSTEM)) continue;
    const rest = key.slice(SYSTEM.length);
    const host = rest.slice(0, rest.indexOf("/"));
    const names = found.get(host) ?? [];
    names.push(rest.slice(host.length + 1));
    found.set(host, names);
  }
  return found;
}

/** Panels of one host; those without a series are left out. */
export function findPanels(host: string, names: string[], facts: Record<string, unknown>): Panel[] {
  const has = new Set(names);
  const key = (name: string) => `${SYSTEM}${host}/${name}`;
  const wanted = [...programPanels(names, facts), ...gpuPanels(names), ...machinePanels(names)];
  return wanted
    .map((panel) => ({
      ...panel,
      lines: panel.lines
        .filter((line) => has.has(line.key) && (!line.of || has.has(line.of)))
        .map((line) => ({ ...line, key: key(line.key), ...(line.of && { of: key(line.of) }) })),
      limits: panel.limits
        .filter((limit) => (limit.key ? has.has(limit.key) : limit.value))
        .map((limit) => (limit.key ? { ...limit, key: key(limit.key) } : limit)),
    }))
    .filter((panel) => panel.lines.length);
}

const MACHINE_MEMORY: PanelLimit = { label: "the machine has", key: "host/memory_total_bytes" };

function cgroupsOf(names: string[]): string[] {
  return names.map((name) => /^cgroup\/(\d+)\/usage_bytes$/.exec(name)?.[1]).filter((level) => level !== undefined);
}

function programPanels(names: string[], facts: Record<string, unknown>): Panel[] {
  const group = "Program" as const;
  const containers = cgroupsOf(names).map((level): Panel => ({
    id: `cgroup-${level}`,
    title: level === "0" ? "Memory of the container" : `Memory of the container's parent ${level}`,
    group,
    yKind: "bytes",
    lines: [{ name: "without cached files", key: `cgroup/${level}/inactive_file_bytes`, of: `cgroup/${level}/usage_bytes` }],
    limits: [{ label: "container's limit (cgroup)", key: `cgroup/${level}/limit_bytes` }],
  }));
  return [
    {
      id: "rss",
      title: "Memory of the program",
      group,
      yKind: "bytes",
      lines: [{ name: "resident", key: "process/rss_bytes" }, { name: "of its own", key: "process/anon_bytes" }, { name: "swapped out", key: "process/swap_bytes" }],
      limits: [{ label: "container's limit (cgroup)", key: "cgroup/0/limit_bytes" }, MACHINE_MEMORY],
    },
    ...containers,
    { id: "cpu", title: "CPU of the program", group, yKind: "percent", lines: [{ name: "CPU", key: "process/cpu_percent" }], limits: [] },
    { id: "files", title: "Open files", group, yKind: "number", lines: [{ name: "open", key: "process/open_files" }], limits: [{ label: "limit", value: processLimit(facts, "open_files") }] },
    { id: "processes", title: "Processes and threads", group, yKind: "number", lines: [{ name: "processes", key: "process/processes" }, { name: "threads", key: "process/threads" }], limits: [{ label: "container's limit (cgroup)", key: "cgroup/pids_max" }] },
    { id: "io", title: "Read and written each second", group, yKind: "bytes", lines: [{ name: "read", key: "process/read_bytes", isRate: true }, { name: "written", key: "process/write_bytes", isRate: true }], limits: [] },
  ];
}

function gpuPanels(names: string[]): Panel[] {
  const gpus = [...new Set(names.map((name) => /^gpu\/(\d+)\//.exec(name)?.[1]).filter((gpu) => gpu !== undefined))];
  const all = (what: string) => gpus.map((gpu) => ({ name: `GPU ${gpu}`, key: `gpu/${gpu}/${what}` }));
  const group = "GPU" as const;
  return [
    { id: "gpu-memory", title: "GPU memory", group, yKind: "bytes", lines: all("memory_used_bytes"), limits: gpus.slice(0, 1).map((gpu) => ({ label: "a GPU has", key: `gpu/${gpu}/memory_total_bytes` })) },
    { id: "gpu-load", title: "GPU load", group, yKind: "percent", lines: all("utilization_percent"), limits: [] },
    { id: "gpu-heat", title: "GPU temperature, °C", group, yKind: "number", lines: all("temperature_celsius"), limits: [] },
    { id: "gpu-power", title: "GPU power, W", group, yKind: "number", lines: all("power_watts"), limits: [] },
  ];
}

function machinePanels(names: string[]): Panel[] {
  const group = "Machine" as const;
  const disks = [...new Set(names.map((name) => /^disk\/(.+)\/free_bytes$/.exec(name)?.[1]).filter((disk) => disk !== undefined))];
  const psi = (what: string): PanelLine[] => ["some", "full"].map((how) => ({ name: how === "some" ? "some wait" : "all wait", key: `psi/${what}_${how}_avg10` }));
  return [
    { id: "host-memory", title: "Memory of the machine", group, yKind: "bytes", lines: [{ name: "in use", key: "host/memory_available_bytes", of: "host/memory_total_bytes" }], limits: [MACHINE_MEMORY] },
    { id: "host-cpu", title: "CPU of the machine", group, yKind: "percent", lines: [{ name: "CPU", key: "host/cpu_percent" }], limits: [] },
    { id: "swap", title: "Swap in use", group, yKind: "bytes", lines: [{ name: "swap", key: "host/swap_free_bytes", of: "host/swap_total_bytes" }], limits: [{ label: "swap has", key: "host/swap_total_bytes" }] },
    ...disks.map((disk): Panel => ({
      id: `disk-${disk}`,
      title: diskWords(disk),
      group,
      yKind: "bytes",
      lines: [{ name: "in use", key: `disk/${disk}/free_bytes`, of: `disk/${disk}/total_bytes` }],
      limits: [{ label: "full", key: `disk/${disk}/total_bytes` }],
    })),
    { id: "psi-memory", title: "Waiting for memory", group, yKind: "percent", lines: psi("memory"), limits: [] },
    { id: "psi-io", title: "Waiting for the disk", group, yKind: "percent", lines: psi("io"), limits: [] },
    { id: "psi-cpu", title: "Waiting for a CPU", group, yKind: "percent", lines: psi("cpu"), limits: [] },
    { id: "network", title: "Network, each second", group, yKind: "bytes", lines: [{ name: "received", key: "network/rx_bytes", isRate: true }, { name: "sent", key: "network/tx_bytes", isRate: true }], limits: [] },
  ];
}

function diskWords(disk: string): string {
  const words: Record<string, string> = { cwd: "Disk of the working directory", run: "Disk of the run's files", tmp: "Disk of /tmp", shm: "Shared memory, /dev/shm" };
  return words[disk] ?? `Disk ${disk}`;
}

export function keysOf(panels: Panel[]): string[] {
  const lines = panels.flatMap((panel) => panel.lines.flatMap((line) => (line.of ? [line.key, line.of] : [line.key])));
  const limits = panels.flatMap((panel) => panel.limits.map((limit) => limit.key).filter((key) => key !== undefined));
  return [...new Set([...lines, ...limits])];
}

type Tables = Map<string, ColumnTable>;

export function tablesByKey(tables: ColumnTable[]): Tables {
  return new Map(tables.map((table) => [table.about.key, table]));
}

/** The lines of a panel from its series, and its limits where they are known. */
export function drawPanel(panel: Panel, tables: Tables, isDark: boolean, of: "mean" | "max" = "mean"): Drawn {
  const lines = panel.lines.map((line, at) => drawLine(line, tables, { slot: at, isDark, of })).filter((line) => line !== null);
  const limits = panel.limits.flatMap((limit): Limit[] => {
    const y = limit.key ? lastValue(tables.get(limit.key)) : (limit.value ?? null);
    return y === null || !(y > 0) || y > 1e17 ? [] : [{ y, label: `${limit.label} ${panel.yKind === "bytes" ? bytes(y) : grouped(y)}` }];
  });
  // A machine without swap has no curve of it.
  if (panel.limits.length && !limits.length && lines.every((line) => line.y.every((value) => !(value > 0)))) return { lines: [], limits };
  return { lines, limits: limits.filter((limit, at) => limits.findIndex((each) => each.y === limit.y) === at) };
}

function lastValue(table: ColumnTable | undefined): number | null {
  const values = table?.columns.value as Float64Array | undefined;
  for (let at = (values?.length ?? 0) - 1; at >= 0; at--) if (Number.isFinite(values![at]!)) return values![at]!;
  return null;
}

function drawLine(line: PanelLine, tables: Tables, { slot, isDark, of }: { slot: number; isDark: boolean; of: "mean" | "max" }): Line | null {
  const table = tables.get(line.key);
  if (!table) return null;
  const x = table.columns.last as Float64Array;
  // Of what is taken from a whole, the most that is in use is the least that is free.
  let y = table.columns[line.isRate ? "mean" : line.of && of === "max" ? "min" : of] as Float64Array;
  // What cannot be measured is a gap; what a program logged as NaN is worth a mark.
  const isOwn = !line.key.startsWith(SYSTEM);
  if (line.of) {
    const whole = tables.get(line.of)?.columns[of] as Float64Array | undefined;
    if (!whole || whole.length !== y.length) return null;
    y = y.map((value, at) => whole[at]! - value);
  } else if (line.isRate) y = rates(x, y);
  if (!y.some(Number.isFinite)) return null;
  return { id: line.key, name: line.name, colour: slotColour(slot, isDark), x, y, ...(isOwn && { marks: table.columns.marks as Uint8Array }) };
}

function rates(x: Float64Array, y: Float64Array): Float64Array {
  return y.map((value, at) => (at === 0 ? NaN : Math.max(0, (value - y[at - 1]!) / Math.max(1e-9, x[at]! - x[at - 1]!))));
}

/** The greatest share of its limit that a panel's first line came to. */
export function greatestShare({ lines, limits }: Drawn): { share: number; at: number } | null {
  const limit = limits.reduce<number | null>((least, each) => (least === null || each.y < least ? each.y : least), null);
  const line = lines[0];
  if (limit === null || !line) return null;
  let best = { share: 0, at: 0 };
  line.y.forEach((value, at) => {
    if (value / limit > best.share) best = { share: value / limit, at: line.x[at]! };
  });
  return best;
}
