/**
 * The address is the state: where we are, and how the view is set up. The page may lie below any prefix; the server
 * writes that into <base>, which is frozen when the page loads.
 */
export const ROOT = new URL(document.baseURI);

type Changes = Record<string, string | number | null | undefined>;

class Place {
  /** The part of the address below our root, as "/p/vision". */
  path = $state(readPath());
  query = $state.raw(new URLSearchParams(location.search));
  hash = $state(location.hash);

  /** A parameter of the address, or what holds without it. */
  get(name: string, otherwise = ""): string {
    return this.query.get(name) ?? otherwise;
  }

  number(name: string): number | null {
    const text = this.query.get(name);
    const value = text === null || text === "" ? NaN : Number(text);
    return Number.isFinite(value) ? value : null;
  }

  list(name: string): string[] {
    return this.query.getAll(name).flatMap((text) => text.split(",").filter(Boolean));
  }

  /** Change parameters; null or "" removes one. A step back undoes it, unless `isQuiet`. */
  set(changes: Changes, isQuiet = false, hash = this.hash): void {
    go(this.with(changes) + hash, isQuiet);
  }

  /** This place with other parameters, below our root. */
  with(changes: Changes): string {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") query.delete(name);
      else query.set(name, String(value));
    }
    const text = query.toString();
    return this.path + (text ? `?${text}` : "");
  }

  reread(): void {
    this.path = readPath();
    this.hash = location.hash;
    if (location.search.replace(/^\?/, "") !== this.query.toString()) {
      this.query = new URLSearchParams(location.search);
    }
  }
}

function readPath(): string {
  const path = location.pathname;
  return "/" + (path.startsWith(ROOT.pathname) ? path.slice(ROOT.pathname.length) : "");
}

export const place = new Place();

/** The address of a place of ours, for links: href("/p", project). Each further part is escaped. */
export function href(path: string, ...parts: string[]): string {
  const whole = [path.replace(/^\/|\/$/g, ""), ...parts.map(encodeURIComponent)].filter(Boolean).join("/");
  return ROOT.pathname + whole;
}

export function runHref(run: { project: string; id: string }, tab = ""): string {
  return href("p", run.project, "r", run.id) + (tab ? `/${tab}` : "");
}

export function projectHref(project: string, tab = ""): string {
  return href("p", project) + (tab ? `/${tab}` : "");
}

/** Go to a path below our root. */
export function go(path: string, isReplacing = false): void {
  const target = ROOT.pathname + path.replace(/^\//, "");
  history[isReplacing ? "replaceState" : "pushState"](null, "", target);
  place.reread();
}

/** Lets links inside the page change the place without loading anything. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== ROOT.origin || !url.pathname.startsWith(ROOT.pathname)) return;
  const path = url.pathname.slice(ROOT.pathname.length);
  if (path.startsWith("api/")) return;
  event.preventDefault();
  const isHere = url.pathname === location.pathname && url.search === location.search;
  if (isHere && url.hash) location.hash = url.hash;
  else go(path + url.search + url.hash);
  if (!isHere) window.scrollTo(0, 0);
}

window.addEventListener("popstate", () => place.reread());
window.addEventListener("hashchange", () => place.reread());
