/**
 * The address is the state: where we are, and how the view is set up. The page may lie below any prefix; the server
 * writes that into <base>, which is frozen when the page loads.
 */
export const ROOT = new URL(document.baseURI);

export type Changes = Record<string, string | number | null | undefined>;

/** What we write beside an address in the browser's history. */
interface Entry {
  /** All parameters, also where the address has no room for them. */
  query: string;
  isCut: boolean;
  /** When we came to this page: what was set up since then has the same. */
  cameAt: number;
}

/** Proxies take lines of 8 kB; a longer address would open nothing. */
export const MOST_LETTERS = 6000;

class Place {
  /** The part of the address below our root, as "/p/vision". */
  path = $state(readPath());
  query = $state.raw(new URLSearchParams(entry()?.isCut ? entry()!.query : location.search));
  hash = $state(location.hash);
  /** Whether we set the parameters up here, or come back to where we did; else somebody came by a link. */
  isOurs = $state(false);
  cameAt = $state(Date.now());

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
    const text = this.#with(changes);
    const isCut = text.length > MOST_LETTERS;
    write(this.path + (text && !isCut ? `?${text}` : "") + hash, isQuiet, { query: text, isCut, cameAt: this.cameAt });
  }

  /** The address of this place with other parameters, for links. */
  href(changes: Changes): string {
    return `${ROOT.pathname}${this.path.slice(1)}?${this.#with(changes)}`;
  }

  #with(changes: Changes): string {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") query.delete(name);
      else query.set(name, String(value));
    }
    return query.toString();
  }

  reread(): void {
    const own = entry();
    this.path = readPath();
    this.hash = location.hash;
    this.isOurs = own !== null;
    this.cameAt = own?.cameAt ?? Date.now();
    const text = own?.query ?? location.search.replace(/^\?/, "");
    if (text !== this.query.toString()) this.query = new URLSearchParams(text);
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
  write(path, isReplacing, null);
}

function write(path: string, isReplacing: boolean, own: Entry | null): void {
  const target = ROOT.pathname + path.replace(/^\//, "");
  history[isReplacing ? "replaceState" : "pushState"](own, "", target);
  place.reread();
}

function entry(): Entry | null {
  const own = history.state as Partial<Entry> | null;
  return typeof own?.query === "string" ? { query: own.query, isCut: own.isCut === true, cameAt: own.cameAt ?? 0 } : null;
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
