/** Which page is at which address. A new page is one line here and one file in pages/. */
import type { Component } from "svelte";

export type Params = Record<string, string>;
export type Page = Component<{ params: Params }>;

interface Route {
  path: string;
  /** What follows the project in the trail at the top. */
  title: string;
  load: () => Promise<{ default: unknown }>;
}

// One page at several addresses is one function: going from one to the other keeps it.
const run = () => import("./pages/Run.svelte");
const artifacts = () => import("./pages/Artifacts.svelte");
const crashes = () => import("./pages/Crashes.svelte");

export const ROUTES: Route[] = [
  { path: "/", title: "", load: () => import("./pages/Home.svelte") },
  { path: "/p/:project", title: "workspace", load: () => import("./pages/Project.svelte") },
  { path: "/p/:project/r/:run", title: "runs", load: run },
  { path: "/p/:project/r/:run/:tab", title: "runs", load: run },
  { path: "/p/:project/media", title: "media", load: () => import("./pages/Media.svelte") },
  { path: "/p/:project/compare", title: "compare", load: () => import("./pages/Compare.svelte") },
  { path: "/p/:project/sweeps", title: "sweeps", load: () => import("./pages/Sweeps.svelte") },
  { path: "/p/:project/sweeps/:sweep", title: "sweeps", load: () => import("./pages/Sweep.svelte") },
  { path: "/p/:project/artifacts", title: "artifacts", load: artifacts },
  { path: "/p/:project/artifacts/:artifact", title: "artifacts", load: artifacts },
  { path: "/p/:project/crashes", title: "crashes", load: crashes },
  { path: "/crashes", title: "crashes", load: crashes },
  { path: "/settings", title: "settings", load: () => import("./pages/Settings.svelte") },
];

export interface Found {
  route: Route;
  params: Params;
}

export function findRoute(path: string): Found | null {
  const words = path.replace(/\/$/, "").split("/");
  for (const route of ROUTES) {
    const params = match(route.path.replace(/\/$/, "").split("/"), words);
    if (params) return { route, params };
  }
  return null;
}

function match(pattern: string[], words: string[]): Params | null {
  if (pattern.length !== words.length) return null;
  const params: Params = {};
  for (const [at, part] of pattern.entries()) {
    const word = words[at]!;
    if (part.startsWith(":")) {
      try {
        params[part.slice(1)] = decodeURIComponent(word);
      } catch {
        return null;
      }
    } else if (part !== word) return null;
  }
  return params;
}
