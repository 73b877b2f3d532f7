import { beforeEach, describe, expect, test, vi } from "vitest";

const BASE = "https://host.example/proxy/4658/";

/** As much of a browser as the address needs. */
function browse(path: string): void {
  const at = new URL(path, BASE);
  vi.stubGlobal("document", { baseURI: BASE });
  vi.stubGlobal("window", { addEventListener: () => {}, scrollTo: () => {} });
  vi.stubGlobal("location", { pathname: at.pathname, search: at.search, hash: at.hash });
  const visit = (_: unknown, __: string, target: string) => {
    const next = new URL(target, BASE);
    Object.assign(location, { pathname: next.pathname, search: next.search, hash: next.hash });
  };
  vi.stubGlobal("history", { pushState: vi.fn(visit), replaceState: vi.fn(visit) });
}

beforeEach(() => vi.resetModules());

describe("the address", () => {
  test("is read below whatever prefix a proxy has put before it", async () => {
    browse("p/vision?sort=name&lines=50");
    const { place, projectHref, runHref } = await import("../src/state/router.svelte");
    expect(place.path).toBe("/p/vision");
    expect(place.number("lines")).toBe(50);
    expect(projectHref("a/b")).toBe("/proxy/4658/p/a%2Fb");
    expect(runHref({ project: "v", id: "x" }, "logs")).toBe("/proxy/4658/p/v/r/x/logs");
  });

  test("changes one parameter and keeps the others; nothing removes it", async () => {
    browse("p/vision?sort=name&smooth=0.6");
    const { place } = await import("../src/state/router.svelte");
    place.set({ log: 1, smooth: null });
    expect(location.search).toBe("?sort=name&log=1");
    expect(place.get("log")).toBe("1");
    expect(history.pushState).toHaveBeenCalledOnce();
    place.set({ q: "a" }, true);
    expect(history.replaceState).toHaveBeenCalledOnce();
  });

  test("keeps the line that it names, unless it is told not to", async () => {
    browse("p/vision/r/x/logs#L7");
    const { place } = await import("../src/state/router.svelte");
    place.set({ times: 0 });
    expect(location.search + location.hash).toBe("?times=0#L7");
    place.set({ transcript: "b" }, false, "");
    expect(location.hash).toBe("");
  });
});

describe("the view", () => {
  const open = async (path: string) => {
    browse(path);
    return (await import("../src/workspace/view.svelte")).view;
  };

  test("is what it was for whoever gets the link", async () => {
    const view = await open("p/v?q=state%20%3D%20failed&x=time&log=1&group=config.lr&from=3&to=9&hide=a,b&pin=x%252Cy,z&order=q&lines=all&flushes=1&size=l");
    expect([view.filter, view.x, view.isLog, view.group, view.size]).toEqual(["state = failed", "time", true, "config.lr", "l"]);
    expect(view.zoom).toEqual({ low: 3, high: 9 });
    expect([...view.hidden]).toEqual(["a", "b"]);
    expect(view.pinned).toEqual(["x,y", "z"]);
    expect([view.order, view.lines, view.hasFlushes]).toEqual([["q"], 1000, true]);
  });

  test("has the selected runs, the table's width and place, and how far sections are opened", async () => {
    const view = await open("p/v?select=a,b&table=612&row=40&more=x%253Ay%3A400,train%3A200");
    expect([...view.selected]).toEqual(["a", "b"]);
    expect([view.tableWidth, view.firstRow]).toEqual([612, 40]);
    view.select(["a"], false);
    view.select(["c"], true);
    expect([...view.selected]).toEqual(["b", "c"]);
    view.openMore("odd, name:1", 300);
    expect(view.opened.get("odd, name:1")).toBe(300);
    expect(view.opened.get("train")).toBe(200);
  });

  test("is the usual one where the link says nothing or nonsense", async () => {
    const view = await open("p/v?smooth=7&lines=-3&from=9&to=3&size=huge");
    expect([view.smoothing, view.lines, view.zoom, view.size, view.sort]).toEqual([0.999, 1, null, "m", "-started_at"]);
  });

  test("a chart that is moved, pinned or made taller is in the link", async () => {
    const view = await open("p/v");
    const section = { name: "charts", metrics: ["a", "b", "c"], all: ["a", "b", "c"], counters: [], hidden: [] };
    view.moveChart(section, "c", "a");
    view.moveChart(section, "val/x,y", "b");
    view.togglePin("d,1");
    view.movePin("e", "d,1");
    view.toggleTall("a");
    view.toggleFlushes();
    expect([...view.placed]).toEqual([["val/x,y", "charts"]]);
    expect(Object.fromEntries(new URLSearchParams(location.search))).toEqual({
      order: "c,a,val/x%2Cy",
      in: "val/x%252Cy%2Ccharts",
      pin: "e,d%2C1",
      tall: "a",
      flushes: "1",
    });
  });

  test("a run is shown or hidden by where it stands and by what people chose", async () => {
    const view = await open("p/v?lines=2");
    expect([view.isShown("a", 1), view.isShown("b", 2)]).toEqual([true, false]);
    view.toggleShown("b", 2);
    view.toggleShown("a", 1);
    expect([view.isShown("a", 1), view.isShown("b", 2)]).toEqual([false, true]);
    view.toggleShown("b", 2);
    expect(view.isShown("b", 2)).toBe(false);
  });
});
