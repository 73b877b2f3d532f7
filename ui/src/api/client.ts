/** Every question that the page asks the server, typed by the server's own description of itself. */
import { slots } from "../run/slots.svelte";
import { ROOT } from "../state/router.svelte";
import { joinNames } from "./names";
import { decodeTables, type ColumnTable } from "./columns";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Info = Schemas["Info"];
export type LoggedIn = Schemas["LoggedIn"];
export type MadeShare = Schemas["MadeShare"];
export type Project = Schemas["Project"];
export type Attention = Schemas["Attention"];
export type RunBrief = Schemas["RunBrief"];
export type RunDetail = Schemas["RunDetail"];
export type RunTable = Schemas["RunTable"];
export type GroupBrief = Schemas["GroupBrief"];
export type GroupTable = Schemas["GroupTable"];
export type Mark = Schemas["Mark"];
export type CauseMark = Schemas["CauseMark"];
export type Verdict = Schemas["VerdictJson"];
export type MetricKeys = Schemas["MetricKeys"];
export type SeriesKeys = Schemas["SeriesKeys"];
export type Crashes = Schemas["Crashes"];
export type RaisedAt = Schemas["RaisedAt"];
export type ArtifactBrief = Schemas["ArtifactBrief"];
export type Artifact = Schemas["ArtifactDetail"];
export type ArtifactVersion = Schemas["VersionJson"];
export type RunArtifact = Schemas["RunArtifactJson"];
export type ArtifactFile = Schemas["FileJson"];
export type Views = Schemas["ViewsJson"];
export type View = Schemas["View"];
export type Deaths = Schemas["Deaths"];
export type DeathShare = Schemas["Share"];
export type Resume = Schemas["Resume"];
export type RunMedia = Schemas["RunMedia"];
export type LostMedia = Schemas["LostMedia"];
export type MediaEntry = Schemas["ShownEntry"];
export type MediaItem = Schemas["ShownItem"];
export type TablePage = Schemas["TablePage"];
export type HeatMap = Schemas["HeatMap"];
export type FlushesOfRun = Schemas["FlushesOfRun"];

type Values = Record<string, string | number | boolean | null | undefined>;
type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** What the server said instead of an answer: what happened, why, what to do. Status 0: it could not be reached. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly what: string,
    readonly why = "",
    readonly todo = "",
    /** The place in a filter that is wrong. */
    readonly at: number | null = null,
  ) {
    super(what);
  }
}

export const API = new URL("api/v1/", ROOT);
let csrf = "";
/** Called with a status whenever the server answered, or 0 when it could not be reached. */
let onAnswer: (status: number) => void = () => {};

export function watchAnswers(watcher: (status: number) => void): void {
  onAnswer = watcher;
}

export function setCsrf(value: string): void {
  csrf = value;
}

/** An address of the API, for links and pictures. */
export function apiUrl(path: string, query: Values = {}): string {
  const url = new URL(path, API);
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url.href;
}

async function send(method: Method, url: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = {};
  if (method !== "GET") headers["X-Holter-CSRF"] = csrf;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const asked = fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body), signal: signal ?? null });
  const response = await reached(asked, signal);
  onAnswer(response.status);
  if (!response.ok) throw await readProblem(response);
  return response;
}

/** What comes from the server; also in the middle of an answer it may be gone. */
async function reached<T>(coming: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await coming;
  } catch (error) {
    if (signal?.aborted || error instanceof SyntaxError) throw error;
    onAnswer(0);
    throw new Problem(0, "the server does not answer", "It was stopped, or the connection is gone.", "This comes by itself when it answers again.");
  }
}

async function readProblem(response: Response): Promise<Problem> {
  try {
    const { error } = (await response.json()) as { error: { what: string; why?: string; do?: string; at?: number } };
    return new Problem(response.status, error.what, error.why, error.do, error.at ?? null);
  } catch {
    return new Problem(response.status, `the server answered ${response.status}`);
  }
}

export async function getJson<T>(path: string, query: Values = {}, signal?: AbortSignal): Promise<T> {
  return reached((await send("GET", apiUrl(path, query), undefined, signal)).json() as Promise<T>, signal);
}

/** A text at an address of `apiUrl`. */
export async function getText(url: string): Promise<string> {
  return reached((await send("GET", url)).text());
}

export async function sendJson<T>(method: Method, path: string, body?: unknown): Promise<T> {
  return reached((await send(method, apiUrl(path), body)).json() as Promise<T>);
}

export const part = encodeURIComponent;

/** Which runs, in which order, which part of the table, with which columns beside the usual ones. */
export interface AskedTable {
  project?: string;
  filter?: string;
  /** Ids that are left out, separated by commas. */
  without?: string;
  sort?: string;
  offset?: number;
  limit?: number;
  columns?: string;
}

export interface AskedGroups {
  project: string;
  by: string;
  filter?: string;
  columns?: string;
  sort?: string;
  limit?: number;
}

export interface AskedSeries {
  runs: string[];
  keys: string[];
  x: string;
  buckets: number;
  from?: number;
  to?: number;
  group?: string;
  band?: "std" | "range" | "quartiles";
  since?: Record<string, number>;
}

export const api = {
  info: () => getJson<Info>("info"),
  login: (key: string) => sendJson<LoggedIn>("POST", "login", { key }),
  share: (runs: string[]) => sendJson<MadeShare>("POST", "shares", { runs }),
  logout: () => sendJson<unknown>("POST", "logout", {}),
  projects: async () => (await getJson<{ projects: Project[] }>("projects")).projects,
  attention: async () => (await getJson<{ runs: Attention[] }>("attention")).runs,
  runs: async (asked: AskedTable, signal?: AbortSignal) => {
    const table = await getJson<RunTable>("runs", { ...asked }, signal);
    slots.tell(table.runs);
    return table;
  },
  groups: (asked: AskedGroups, signal?: AbortSignal) => getJson<GroupTable>("groups", { ...asked }, signal),
  fields: async (project: string) => (await getJson<Schemas["Fields"]>("fields", { project })).fields,
  run: async (id: string) => {
    const run = await getJson<RunDetail>(`runs/${part(id)}`);
    slots.tell([run]);
    return run;
  },
  /** A text file of a run as it is, "" where it has none. */
  async text(id: string, path: string): Promise<string> {
    const files = (await getJson<Schemas["RunFiles"]>(`runs/${part(id)}/files`)).files;
    if (!files.some((file) => file.path === path)) return "";
    return getText(apiUrl(`runs/${part(id)}/files/${part(path)}`));
  },
  verdict: (id: string) => getJson<Verdict>(`runs/${part(id)}/verdict`),
  edit: (id: string, edits: { name?: string; tags?: string[]; notes?: string; colour?: number }) =>
    sendJson<unknown>("PATCH", `runs/${part(id)}`, edits),
  remove: (id: string) => sendJson<Schemas["Removed"]>("DELETE", `runs/${part(id)}?undo=true`),
  /** Have a run back that was deleted a moment ago. */
  undelete: (id: string) => sendJson<unknown>("POST", `deletions/${part(id)}/undo`, {}),
  mark: (id: string, said: { state?: string; cause?: string; reason: string }) =>
    sendJson<{ marks: Mark[] }>("POST", `runs/${part(id)}/marks`, said),
  unmark: (id: string, what: "state" | "cause") => sendJson<{ marks: Mark[] }>("DELETE", `runs/${part(id)}/marks?what=${what}`),
  causes: async () => (await getJson<Schemas["Causes"]>("causes")).causes,
  stop: (id: string, reason: string) => sendJson<unknown>("POST", `runs/${part(id)}/stop`, { reason }),
  silence: (id: string, guard: string, isOver: boolean) => sendJson<unknown>("POST", `runs/${part(id)}/silence`, { guard, is_over: isOver }),
  keysOfRun: async (id: string) => (await getJson<SeriesKeys>(`runs/${part(id)}/keys`)).keys,
  keys: (asked: { project?: string; runs?: string; search?: string; limit?: number }) =>
    getJson<MetricKeys>("keys", { ...asked }),
  flushes: async (runs: string[]) => (await getJson<Schemas["Flushes"]>("flushes", { runs: runs.join(",") })).runs,
  resumes: async (runs: string[], keys: string[]) => (await getJson<Schemas["Resumes"]>("resumes", { runs: runs.join(","), keys: joinNames(keys) })).runs,
  /** The metrics that an expression for an axis needs. */
  axis: async (x: string) => (await getJson<Schemas["AxisNames"]>("axis", { x })).names,
  importance: (asked: { project: string; target: string; filter?: string; parameters?: string }) =>
    getJson<Schemas["Importance"]>("importance", { ...asked }),
  views: (project: string) => getJson<Views>("views", { project }),
  keepViews: (kept: Partial<Schemas["KeptJson"]> & { project: string }) => sendJson<Views>("PATCH", "views", kept),
  addView: (made: Schemas["NewView"]) => sendJson<View>("POST", "views", made),
  changeView: (id: string, changes: Omit<Partial<Schemas["ChangedView"]>, "id"> & { project: string }) => sendJson<View>("PATCH", `views/${part(id)}`, changes),
  removeView: (id: string, project: string) => sendJson<unknown>("DELETE", `views/${part(id)}?project=${part(project)}`),
  mediaKeys: (runs: string[]) => getJson<Schemas["MediaKeys"]>("media", { runs: runs.join(",") }),
  /** What runs have under keys at a step, or before it; the last of all without one. */
  media: async (runs: string[], keys: string[], step: number | null) =>
    (await sendJson<Schemas["MediaFound"]>("POST", "media", step === null ? { runs, keys, limit: 1, newest: true } : { runs, keys, step })).entries,
  /** Some of all that a run has under a key. */
  mediaBetween: async (run: string, key: string, limit: number) =>
    (await sendJson<Schemas["MediaFound"]>("POST", "media", { runs: [run], keys: [key], limit })).entries,
  mediaSteps: async (runs: string[], keys: string[]) => (await sendJson<Schemas["MediaSteps"]>("POST", "media/steps", { runs, keys })).steps,
  /** Rows of a table that was logged. */
  tableRows: (id: string, asked: { key: string; step: number; number: number; offset?: number; limit: number; sort?: string; descending?: boolean; where?: string; stats?: boolean }) =>
    getJson<TablePage>(`runs/${part(id)}/table`, { ...asked }),
  heatMaps: async (runs: string[], keys: string[], size = { columns: 300, rows: 64 }) =>
    (await sendJson<Schemas["HeatMaps"]>("POST", "media/histograms", { runs, keys, ...size })).maps,
  artifacts: async (project: string) => (await getJson<Schemas["Artifacts"]>("artifacts", { project })).artifacts,
  artifact: (project: string, name: string) => getJson<Artifact>("artifact", { project, name }),
  artifactFiles: (asked: { project: string; name: string; version: string; against?: string }) =>
    getJson<Schemas["VersionFiles"]>("artifact/files", { ...asked }),
  artifactPreview: (asked: { project: string; name: string; version: string; path: string }) => getJson<Schemas["Preview"]>("artifact/preview", { ...asked }),
  moveAlias: (asked: Omit<Schemas["NewAlias"], "remove" | "expected" | "protected"> & { remove?: boolean; expected?: string; protected?: boolean }) => sendJson<unknown>("POST", "artifact/alias", asked),
  deleteVersion: (asked: { project: string; name: string; version: string }) => sendJson<unknown>("DELETE", `artifact/version?${new URLSearchParams(asked)}`),
  restoreVersion: (asked: { project: string; name: string; version: string }) => sendJson<unknown>("POST", "artifact/restore", asked),
  runArtifacts: async (id: string) => (await getJson<Schemas["RunArtifacts"]>(`runs/${part(id)}/artifacts`)).artifacts,
  checkpoints: (id: string) => getJson<Schemas["RunCheckpoints"]>(`runs/${part(id)}/checkpoints`),
  crashes: (project?: string, since?: number) => getJson<Crashes>("crashes", { project, since }),
  deaths: (asked: { project?: string; weeks: number; by: string }) =>
    getJson<Deaths>("deaths", { ...asked, east_s: -60 * new Date().getTimezoneOffset() }),
  async series(asked: AskedSeries, signal?: AbortSignal): Promise<ColumnTable[]> {
    const response = await send("POST", apiUrl("series"), asked, signal);
    return decodeTables(await reached(response.arrayBuffer(), signal));
  },
  async points(id: string, key: string, limit?: number): Promise<ColumnTable[]> {
    const response = await send("GET", apiUrl(`runs/${part(id)}/points`, { key, limit }));
    return decodeTables(await reached(response.arrayBuffer()));
  },
};
