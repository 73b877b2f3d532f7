/** The files of a run: in which order, and what may be shown of them. */
import type { components } from "../api/schema";

export type RunFile = components["schemas"]["RunFile"];

const FIRST = ["output.log", "debug.log", "debug-internal.log"];

/** Those that people look for first are first. */
export function inOrder(files: RunFile[]): RunFile[] {
  return files.toSorted((one, other) => place(one) - place(other) || one.path.localeCompare(other.path));
}

function place(file: RunFile): number {
  const at = FIRST.indexOf(file.path);
  return at < 0 ? FIRST.length : at;
}

/** The path with its words escaped, as a part of an address. */
export function filePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
