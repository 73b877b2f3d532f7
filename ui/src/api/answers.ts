/** Answers about runs that several parts of the page share. Their questions hold nothing of whoever asked first. */
import { api, getJson, part, type Crashes, type MetricKeys, type Deaths, type RaisedAt, type Resume, type RunBrief, type RunDetail, type RunTable, type SeriesKeys, type Verdict } from "./client";
import type { ColumnTable } from "./columns";
import { resource, type Resource } from "./resource.svelte";
import type { components } from "./schema";

type Schemas = components["schemas"];

export function runAnswer(id: string): Resource<RunDetail> {
  return resource(`run ${id}`, () => api.run(id));
}

/** Where runs went on, of metrics with what was lost; nothing is asked where none has. */
export function resumesAnswer(runs: Iterable<[string, { attempt: number }]>, keys: string[]): Resource<Map<string, Resume[]>> | null {
  const resumed = [...runs].filter(([, { attempt }]) => attempt > 1).map(([id, { attempt }]) => `${id}:${attempt}`).slice(0, 100);
  if (!resumed.length) return null;
  const ids = resumed.map((each) => each.slice(0, each.lastIndexOf(":")));
  return resource(`resumes ${resumed.join(",")}\n${keys.join("\n")}`, () => askTogether(ids, keys), 10_000);
}

const GATHER_MS = 20;
const MOST_LETTERS = 4000;
let gathered: { runs: string; keys: string[]; answer: Promise<Map<string, Resume[]>> } | null = null;

/** Charts that come into sight together ask once for all of their metrics. */
function askTogether(ids: string[], keys: string[]): Promise<Map<string, Resume[]>> {
  const runs = ids.join(",");
  if (gathered?.runs !== runs || [...gathered.keys, ...keys].join().length > MOST_LETTERS) {
    const asked: string[] = [];
    const ask = async () => {
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      if (gathered?.keys === asked) gathered = null;
      return new Map((await api.resumes(ids, [...new Set(asked)])).map((each) => [each.run, each.resumes]));
    };
    gathered = { runs, keys: asked, answer: ask() };
  }
  gathered.keys.push(...keys);
  return gathered.answer;
}

export function verdictAnswer(id: string): Resource<Verdict> {
  return resource(`run ${id} verdict`, () => api.verdict(id));
}

export function raisedAnswer(id: string): Resource<RaisedAt> {
  return resource(`run ${id} raised`, () => getJson(`runs/${part(id)}/raised`));
}

export function runArtifactsAnswer(id: string): Resource<Schemas["RunArtifactJson"][]> {
  return resource(`run ${id} artifacts`, () => api.runArtifacts(id));
}

export function checkpointsAnswer(id: string): Resource<Schemas["RunCheckpoints"]> {
  return resource(`run ${id} checkpoints`, () => api.checkpoints(id));
}

export function keysAnswer(id: string): Resource<SeriesKeys["keys"]> {
  return resource(`run ${id} keys`, () => api.keysOfRun(id));
}

export function filesAnswer(id: string): Resource<Schemas["RunFile"][]> {
  return resource(`run ${id} files`, async () => (await getJson<Schemas["RunFiles"]>(`runs/${part(id)}/files`)).files);
}

export function healthAnswer(id: string): Resource<Schemas["Health"]> {
  return resource(`run ${id} health`, () => getJson(`runs/${part(id)}/health`));
}

export function lastLinesAnswer(id: string, many: number): Resource<Schemas["ConsoleJson"]> {
  return resource(`run ${id} last lines ${many}`, () => getJson(`runs/${part(id)}/console`, { tail: many, colours: 1 }));
}

/** Series over time, by key. */
export function curvesAnswer(id: string, keys: string[], buckets: number, span?: { low: number; high: number }): Resource<Map<string, ColumnTable>> {
  const asked = { runs: [id], keys, x: "time", buckets, ...(span && { from: span.low, to: span.high }) };
  return resource(`run ${id} curves ${JSON.stringify(asked)}`, async () => new Map((await api.series(asked)).map((table) => [table.about.key, table])));
}

export function sameCauseAnswer(project: string, cause: string): Resource<RunTable> {
  return resource(`same cause ${project} ${cause}`, () => api.runs({ project, filter: `cause = "${cause}"`, sort: "-ended_at", limit: 20 }));
}

/** Whether anybody has recorded a run in a project. */
export function projectAnswer(project: string): Resource<boolean> {
  return resource(`project ${project}`, async () => (await api.runs({ project, limit: 1 })).runs.length > 0);
}

export function newestAnswer(project: string, many: number): Resource<RunBrief[]> {
  return resource(`newest ${many} ${project}`, async () => (await api.runs({ project, sort: "-started_at", limit: many })).runs);
}

/** Runs in short, wherever in the table they are. */
export function briefsAnswer(ids: string[]): Resource<RunBrief[]> {
  const filter = `id in (${ids.map((id) => `"${id}"`).join(", ")})`;
  return resource(`briefs ${ids.join(",")}`, async () => (await api.runs({ filter, limit: ids.length })).runs);
}

export function projectKeysAnswer(project: string): Resource<MetricKeys> {
  return resource(`keys ${project}`, () => api.keys({ project, limit: 5000 }));
}

/** Every `config.…` and `summary.…` that a run of the project has. */
export function fieldsAnswer(project: string): Resource<string[]> {
  return resource(`fields ${project}`, () => api.fields(project), 60_000);
}

export function severalAnswer(ids: string[]): Resource<RunDetail[]> {
  return resource(`several ${ids.join(",")}`, () => Promise.all(ids.map((id) => api.run(id))));
}

/** A text file of each run, "" where it has none. */
export function textsAnswer(ids: string[], name: string): Resource<string[]> {
  return resource(`texts ${name} ${ids.join(",")}`, () => Promise.all(ids.map((id) => api.text(id, name))), 60_000);
}

export function sharedKeysAnswer(ids: string[]): Resource<MetricKeys["keys"]> {
  return resource(`shared keys ${ids.join(",")}`, async () => (await api.keys({ runs: ids.join(","), limit: 5000 })).keys);
}

export function causesAnswer(): Resource<Schemas["Cause"][]> {
  return resource("causes", api.causes, 3_600_000);
}

export function crashesAnswer(project: string | undefined, since: number): Resource<Crashes> {
  return resource(`crashes ${since} ${project ?? ""}`, () => api.crashes(project, since));
}

/** What died in some weeks, by cause, project or host. */
export function deathsAnswer(project: string | undefined, weeks: number, by: string): Resource<Deaths> {
  return resource(`deaths ${weeks} ${by} ${project ?? ""}`, () => api.deaths({ ...(project !== undefined && { project }), weeks, by }));
}
