/** What is known of the machine and the program, as people say it. */
import type { RunDetail } from "../api/client";
import { bytes } from "../format";

export interface Gpu {
  name: string;
  memory_total_bytes: number;
}

type Facts = Record<string, unknown>;

export function gpusOf(facts: Facts): Gpu[] {
  const found = facts.gpus as { devices?: Gpu[] } | null | undefined;
  return found?.devices ?? [];
}

/** "2×A100-SXM4-80GB" */
export function gpuWords(facts: Facts): string {
  const counted = new Map<string, number>();
  for (const { name } of gpusOf(facts)) counted.set(name, (counted.get(name) ?? 0) + 1);
  return [...counted].map(([name, many]) => `${many}×${name.replace(/^NVIDIA /, "")}`).join(", ");
}

export interface GitWords {
  commit: string;
  isDirty: boolean;
}

export function gitWords(git: Facts): GitWords | null {
  return typeof git.commit === "string" && git.commit ? { commit: git.commit.slice(0, 7), isDirty: git.is_dirty === true } : null;
}

const STEP_NAMES = ["max_steps", "total_steps", "num_steps", "n_steps", "steps", "max_iters", "num_iterations"];

/** How many steps there shall be, where the configuration says that. */
export function plannedSteps(run: RunDetail): number | null {
  for (const name of STEP_NAMES) {
    const found = run.config[name];
    if (typeof found === "number" && found > (run.last_step ?? 0)) return found;
  }
  return null;
}

function limitOf(facts: Facts, name: string): number | null {
  const limits = facts.limits as Record<string, [number | null, number | null]> | undefined;
  return limits?.[name]?.[0] ?? null;
}

export function processLimit(facts: Facts, name: "open_files" | "processes" | "address_space"): number | null {
  return limitOf(facts, name);
}

/** Name and value of what a stranger asks about the machine first. */
export function machineFacts(run: RunDetail): [string, string][] {
  const facts = run.facts as Facts;
  const text = (name: string) => (typeof facts[name] === "string" || typeof facts[name] === "number" ? String(facts[name]) : "");
  const size = (name: string) => (typeof facts[name] === "number" ? bytes(facts[name]) : "");
  const python = facts.python as { version?: string; executable?: string } | null;
  const memoryLimit = size("cgroup_memory_limit_bytes");
  const cpuLimit = text("cgroup_cpu_limit");
  const gpus = facts.gpus as { driver?: string; cuda?: string } | null;
  const found: [string, string][] = [
    ["Host", run.host],
    ["System", [text("os"), text("kernel"), text("machine")].filter(Boolean).join(", ")],
    ["Container", text("container")],
    ["CPUs", text("cpu_count") + (cpuLimit ? `, limited to ${cpuLimit}` : "")],
    ["Memory", size("memory_total_bytes") + (memoryLimit ? `, limited to ${memoryLimit}` : "")],
    ["/dev/shm", size("shared_memory_bytes")],
    ["GPUs", gpuWords(facts)],
    ["Driver", gpus ? [gpus.driver, gpus.cuda && `CUDA ${gpus.cuda}`].filter(Boolean).join(", ") : ""],
    ["Python", [python?.version, python?.executable].filter(Boolean).join(", ")],
    ["Directory", text("cwd")],
  ];
  return found.filter(([, value]) => value);
}
