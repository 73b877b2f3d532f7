/** Rows of the table as a file. */
import type { RunBrief } from "../api/client";
import { cell } from "../chart/table";
import { flatEntries } from "../run/values";

const PLAIN = ["id", "name", "state", "cause", "started_at", "ended_at", "duration_s", "last_step", "host", "tags", "group", "job_type"] as const;

/** A line for each run, a column for each field, setting and summary value that one of them has. Pure. */
export function csvOfRuns(runs: RunBrief[]): string {
  const flat = runs.map((run) => new Map(flatEntries(run.values as Record<string, unknown>)));
  const names = [...new Set(flat.flatMap((each) => [...each.keys()]))].sort();
  const lines = runs.map((run, at) => [...PLAIN.map((name) => run[name]), ...names.map((name) => flat[at]!.get(name))].map(text));
  return [[...PLAIN, ...names].map(cell), ...lines].map((line) => line.join(",")).join("\n") + "\n";
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  return cell(Array.isArray(value) && value.every((each) => typeof each === "string") ? value.join(", ") : typeof value === "object" ? JSON.stringify(value) : String(value));
}

export function download(name: string, type: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
