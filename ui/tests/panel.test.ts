import { describe, expect, test } from "vitest";
import type { Line } from "../src/chart/line";
import { nextPlace, pointAt, sortRows, valueRows } from "../src/panel/values";
import { lookOf, readSettings, USUAL, writeSettings, type ChartSettings } from "../src/workspace/look";
import { HiddenOutliers } from "../src/workspace/outliers.svelte";
import { endWords, shownRun } from "../src/workspace/shown";

const line = (id: string, x: number[], y: number[], more: Partial<Line> = {}): Line => ({
  id,
  name: id,
  colour: "#000",
  x: Float64Array.from(x),
  y: Float64Array.from(y),
  ...more,
});

describe("the settings of a chart", () => {
  test("come through the address, and are nothing where all is as usual", () => {
    const set: ChartSettings = {
      metrics: ["val/loss", "odd, 50% name:1"],
      x: "=tokens / 1e6, no",
      zoom: { low: -1.5, high: 2e6 },
      low: null,
      high: 1.56,
      isLog: false,
      smoothing: 0.9,
      hasRaw: false,
      isWhole: true,
      by: "config.lr",
      band: "quartiles",
      hasSecond: true,
      isQuiet: true,
      hidesLost: true,
    };
    expect(readSettings(writeSettings(set))).toEqual(set);
    expect(writeSettings(USUAL)).toBe("");
    expect(readSettings("")).toEqual(USUAL);
  });

  test("that make no sense are left out", () => {
    expect(readSettings("y:5..2,zoom:3..,s:7,band:huge,what,m:,:,x")).toEqual({ ...USUAL, smoothing: 0.999 });
  });

  test("go before those that all charts share", () => {
    const shared = { x: "step", zoom: { low: 1, high: 2 }, isLog: false, smoothing: 0.5, group: "config.lr" };
    expect(lookOf("loss", USUAL, shared)).toMatchObject({ metrics: ["loss"], x: "step", zoom: shared.zoom, smoothing: 0.5, isRobust: true, group: "config.lr" });
    const axes = { loss: "epoch" };
    expect(lookOf("loss", USUAL, { ...shared, axes })).toMatchObject({ x: "epoch", xKind: "metric", zoom: null });
    expect(lookOf("loss", USUAL, { ...shared, axes, x: "time" })).toMatchObject({ x: "time" });
    expect(lookOf("loss", readSettings("x:step"), { ...shared, axes })).toMatchObject({ x: "step" });
    const own = lookOf("loss", readSettings("m:acc,m:loss,x:=a * 2,log,s:0,all,by:run"), shared);
    expect(own).toMatchObject({ metrics: ["loss", "acc"], xKind: "metric", zoom: null, isLog: true, smoothing: 0, isRobust: false, group: "" });
    expect(lookOf("system/h/cpu", USUAL, shared)).toMatchObject({ x: "relative", zoom: null, isRobust: false });
  });

  test("hide outliers or show them, whatever the other charts do", () => {
    const shared = { x: "step", zoom: null, isLog: false, smoothing: 0, group: "" };
    const isRobust = (metric: string, text: string, isWhole: boolean) => lookOf(metric, readSettings(text), { ...shared, isWhole }).isRobust;
    expect(["", "all", "most"].map((text) => isRobust("loss", text, false))).toEqual([true, false, true]);
    expect(["", "all", "most"].map((text) => isRobust("loss", text, true))).toEqual([false, false, true]);
    expect(["", "all", "most"].map((text) => isRobust("system/h/cpu", text, false))).toEqual([false, false, true]);
    expect(["all", "most"].map((text) => writeSettings(readSettings(text)))).toEqual(["all", "most"]);
  });
});

describe("outliers of all charts", () => {
  const [wild, odd] = [line("a", [0], [1]), line("b", [0], [1])];

  test("are counted once each, in the charts that are looked at", () => {
    const outliers = new HiddenOutliers();
    outliers.note("loss", [wild, wild]);
    outliers.note("acc", [wild, odd]);
    outliers.note("far", [odd]);
    outliers.note("none", []);
    expect([...outliers.of("acc").keys()]).toEqual(["a", "b"]);
    const { names, charts } = outliers.within(["loss", "acc", "acc", "none", "unknown"]);
    expect([[...names.keys()], charts]).toEqual([["a", "b"], 2]);
    outliers.note("acc", []);
    expect(outliers.within(["loss", "acc"]).charts).toBe(1);
  });

  test("of charts that are not drawn are forgotten once they may have changed", () => {
    const outliers = new HiddenOutliers();
    const ends = ["loss", "acc"].map((chart) => outliers.begin(chart));
    outliers.note("loss", [wild]);
    outliers.note("acc", [wild]);
    ends[0]!();
    expect(outliers.within(["loss", "acc"]).charts).toBe(2);
    outliers.forget();
    expect([outliers.of("loss").size, outliers.of("acc").size]).toEqual([0, 1]);
  });
});

describe("values at the crosshair", () => {
  const a = line("a", [0, 10, 20], [3, 2, 1], { low: Float64Array.from([3, 2, 0.5]), high: Float64Array.from([3, 2, 1.5]) });
  const base = line("b", [0, 10, 20], [4, 2.5, 2], { isBaseline: true });
  const dead = line("c", [0, 4], [5, NaN], { end: "Killed, ended at step 4" });

  test("are those of the nearest point, and none behind a line's end", () => {
    expect([pointAt(a, 12), pointAt(a, 29), pointAt(a, 31), pointAt(a, -11), pointAt(line("e", [], []), 1)]).toEqual([1, 2, -1, -1, -1]);
  });

  test("stand beside the difference to the baseline, the best one and why there is none", () => {
    const rows = sortRows(valueRows([dead, base, a], ["loss"], 20, 0), 0, false);
    expect(rows.map((row) => row.id)).toEqual(["a", "b", "c"]);
    expect(rows[0]).toMatchObject({ values: [1], toBaseline: -1, best: { value: 0.5, at: 20, isAbout: true }, end: "" });
    expect(rows[1]).toMatchObject({ toBaseline: undefined, isBaseline: true, best: { value: 2, isAbout: false } });
    expect(rows[2]).toMatchObject({ values: [undefined], end: "Killed, ended at step 4", best: { value: 5, at: 0 } });
    expect(sortRows(rows, 0, true).map((row) => row.id)).toEqual(["b", "a", "c"]);
    expect(sortRows(rows, "name", true).map((row) => row.id)).toEqual(["c", "b", "a"]);
  });

  test("of several metrics are in one row of their run", () => {
    const second = line("a", [0, 20], [0.7, 0.9], { metric: "acc", shape: 1 });
    const [row] = valueRows([{ ...a, metric: "loss", shape: 0 }, second], ["loss", "acc"], 20, 1);
    expect(row).toMatchObject({ values: [1, 0.9], best: { value: 0.9, at: 20 } });
    expect(valueRows([{ ...a, metric: "lr", shape: 0 }], ["lr"], 20, 0)[0]!.best).toBeUndefined(); // which way would that be?
  });

  test("are moved to the next point of any line", () => {
    const other = line("d", [5, 15], [0, 0]);
    expect(nextPlace([a, other], 10, 1)).toBe(15);
    expect(nextPlace([a, other], 10, -1)).toBe(5);
    expect([nextPlace([a, other], 20, 1), nextPlace([a], 0, -1)]).toEqual([20, 0]);
  });
});

test("a run says why it has nothing more", () => {
  const run = { id: "r", name: "", started_at: 0, ended_at: 9, last_step: 1310 };
  expect(endWords(shownRun({ ...run, state: "crashed", cause: "gpu-out-of-memory" }))).toMatch(/^GPU out of memory, ended at step 1.?310$/);
  expect(endWords(shownRun({ ...run, state: "finished", last_step: null }))).toBe("Finished");
  expect(endWords(shownRun({ ...run, state: "running" }))).toBe("");
});
