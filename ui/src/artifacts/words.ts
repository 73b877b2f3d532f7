/** What the page of artifacts says, and where it is. */
import { api, apiUrl, type Artifact, type ArtifactBrief, type ArtifactVersion } from "../api/client";
import { resource, type Resource } from "../api/resource.svelte";
import type { components } from "../api/schema";
import { href } from "../state/router.svelte";

export const GROUPS: [string, (type: string) => boolean][] = [
  ["Models", (type) => type === "model"],
  ["Datasets", (type) => type === "dataset"],
  ["Checkpoints", (type) => type === "checkpoint"],
  ["Other", (type) => !["model", "dataset", "checkpoint"].includes(type)],
];

export function artifactHref(project: string, name: string, version = ""): string {
  return href("p", project, "artifacts", name) + (version ? `?version=${encodeURIComponent(version)}` : "");
}

/** All files of a version as a ZIP. */
export function archiveUrl(artifact: Artifact, version: string): string {
  return apiUrl("artifact/archive", { project: artifact.project, name: artifact.name, version });
}

export function contentUrl(artifact: Artifact, version: string, path: string, isDownload = false): string {
  return apiUrl("artifact/content", { project: artifact.project, name: artifact.name, version, path, ...(isDownload && { download: 1 }) });
}

/** Those whose name or type has the word, by group; empty groups are left out. */
export function inGroups(found: ArtifactBrief[], word: string): [string, ArtifactBrief[]][] {
  const wanted = word.trim().toLowerCase();
  const fits = found.filter((each) => `${each.name} ${each.type}`.toLowerCase().includes(wanted));
  return GROUPS.map(([title, has]): [string, ArtifactBrief[]] => [title, fits.filter((each) => has(each.type))]).filter(([, some]) => some.length);
}

/** The number that tells most versions apart: the one that most of them have, the first by name of these. */
export function metricOf(versions: ArtifactVersion[]): string {
  const many = new Map<string, number>();
  for (const version of versions) for (const name of Object.keys(numbersOf(version))) many.set(name, (many.get(name) ?? 0) + 1);
  return [...many].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))[0]?.[0] ?? "";
}

export function numbersOf(version: ArtifactVersion): Record<string, number> {
  const inner = version.metadata.metrics;
  const all = { ...version.metadata, ...(typeof inner === "object" && inner !== null ? inner : {}) };
  return Object.fromEntries(Object.entries(all).filter((pair): pair is [string, number] => typeof pair[1] === "number" && pair[0] !== "step"));
}

export function shortDigest(digest: string): string {
  return digest.replace(/^(sha256|tree):/, "").slice(0, 8);
}

export function filesAnswer(asked: { project: string; name: string; version: string; against?: string }): Resource<components["schemas"]["VersionFiles"]> {
  return resource(`version files ${JSON.stringify(asked)}`, () => api.artifactFiles(asked));
}

export function previewAnswer(asked: { project: string; name: string; version: string; path: string }): Resource<components["schemas"]["Preview"]> {
  return resource(`version preview ${JSON.stringify(asked)}`, () => api.artifactPreview(asked), 60_000);
}

export function namesAnswer(project: string): Resource<ArtifactBrief[]> {
  return resource(`artifacts ${project}`, () => api.artifacts(project));
}

export function artifactAnswer(project: string, name: string): Resource<Artifact> {
  return resource(`artifact ${project} ${name}`, () => api.artifact(project, name));
}
