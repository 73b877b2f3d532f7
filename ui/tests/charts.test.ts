import { describe, expect, test } from "vitest";
import type { Line } from "../src/chart/line";
import { tableOf, toCsv } from "../src/chart/table";
import { usefulSetting } from "../src/workspace/crowd";
import { joinNames, splitNames } from "../src/api/names";
import { moved, ordered } from "../src/workspace/order";
import { endsWithin, shownRun } from "../src/workspace/shown";
import { chartsOf, closedAtFirst, findSections, matcher, spanOf } from "../src/workspace/sections";

const line = (name: string, x: number[], y: number[]): Line => ({ id: name, name, colour: "#000000", x: Float64Array.from(x), y: Float64Array.from(y) });

describe("the order of charts", () => {
  const natural = ["a", "b", "c", "d", "e"];

  test("a chart takes the place of another, forwards and backwards", () => {
    expect(ordered(natural, moved(natural, [], "d", "b"))).toEqual(["a", "d", "b", "c", "e"]);
    expect(ordered(natural, moved(natural, [], "a", "c"))).toEqual(["b", "c", "a", "d", "e"]);
  });

  test("only what was moved, and what it was moved past, is remembered", () => {
    expect(moved(natural, [], "b", "a")).toEqual(["b"]);
    expect(moved(natural, ["b"], "b", "c")).toEqual(["a", "c"]);
    expect(moved(natural, ["b"], "b", "a")).toEqual([]);
    expect(moved(natural, ["b"], "a", "b")).toEqual([]);
  });

  test("other sections keep theirs, and metrics that are gone do no harm", () => {
    expect(moved(natural, ["z/2", "z/1"], "b", "a")).toEqual(["z/2", "z/1", "b"]);
    expect(ordered(natural, ["gone", "e"])).toEqual(["e", "a", "b", "c", "d"]);
    expect(moved(natural, ["e"], "gone", "a")).toEqual(["e"]);
  });

  test("any row of moves ends where the hand put them", () => {
    let order: string[] = [];
    let expected = [...natural];
    for (const [metric, target] of [["e", "a"], ["a", "d"], ["c", "e"], ["b", "c"], ["d", "a"]] as const) {
      order = moved(natural, order, metric, target);
      const to = expected.indexOf(target);
      expected = expected.filter((each) => each !== metric).toSpliced(to, 0, metric);
      expect(ordered(natural, order)).toEqual(expected);
    }
  });
});

describe("sections", () => {
  test("go by what stands before the slash and by name, the machine last, pins before all", () => {
    const keys = ["loss", "system/h/cpu", "val/loss", "train/a_rate", "train/total_loss", "zeta/x", "train/acc"];
    const found = findSections(keys, { pinned: ["val/loss"], order: ["train/acc"], matches: () => true });
    expect(found.map((section) => [section.name, section.metrics])).toEqual([
      ["Pinned", ["val/loss"]],
      ["charts", ["loss"]],
      ["train", ["train/acc", "train/total_loss", "train/a_rate"]],
      ["zeta", ["zeta/x"]],
      ["system", ["system/h/cpu"]],
    ]);
  });

  test("have panels of other kinds too, and what was moved there", () => {
    const found = findSections(["train/loss", "val/loss"], {
      pinned: ["panel:gone"],
      order: ["panel:1"],
      matches: matcher("loss").matches,
      placed: new Map([["val/loss", "train"]]),
      panels: [{ id: "panel:1", title: "Loss by lr", section: "train" }, { id: "panel:2", title: "Notes", section: "Notes" }],
    });
    expect(found).toEqual([{ name: "train", all: ["train/loss", "val/loss", "panel:1"], metrics: ["panel:1", "train/loss", "val/loss"], counters: [], hidden: [] }]);
    expect(chartsOf(found)).toEqual(["train/loss", "val/loss"]);
  });

  test("leave out counters and what was hidden, and know of it", () => {
    const keys = ["train/loss", "train/epoch", "train/step", "train/acc", "epoch"];
    const choice = { pinned: [], order: [], matches: () => true, counters: new Set(["train/epoch", "train/step", "epoch"]), off: new Set(["train/acc"]), on: new Set(["train/step"]) };
    expect(findSections(keys, choice)).toEqual([
      { name: "train", all: ["train/loss", "train/step"], metrics: ["train/loss", "train/step"], counters: ["train/epoch"], hidden: ["train/acc"] },
      { name: "charts", all: [], metrics: [], counters: ["epoch"], hidden: [] },
    ]);
  });

  test("with few charts share a row", () => {
    expect([spanOf(1, 3), spanOf(2, 3), spanOf(7, 3), spanOf(0, 3), spanOf(4, 1)]).toEqual([1, 2, 3, 3, 1]);
  });

  test("begin with their losses", () => {
    const keys = ["train/accuracy", "train/grad_norm", "train/loss", "train/lossless_ratio", "train/nll"];
    const [found] = findSections(keys, { pinned: [], order: [], matches: () => true });
    expect(found!.metrics).toEqual(["train/loss", "train/nll", "train/accuracy", "train/grad_norm", "train/lossless_ratio"]);
  });

  test("beyond the first two hundred charts they are closed at first, as is the machine's", () => {
    const section = (name: string, many: number) => ({ name, metrics: new Array<string>(many).fill("x"), all: [], counters: [], hidden: [] });
    const found = closedAtFirst([section("train", 150), section("val", 60), section("layers", 40), section("system", 5)]);
    expect([...found]).toEqual(["layers", "system"]);
    expect(closedAtFirst([section("system", 5)]).size).toBe(0);
  });

  test("a search is a regular expression, or plain text where it is none", () => {
    expect(matcher("^train/(loss|acc)$").matches("train/loss")).toBe(true);
    const wrong = matcher("loss(");
    expect(wrong.isWrong).toBe(true);
    expect([wrong.matches("Loss(x)"), wrong.matches("loss")]).toEqual([true, false]);
  });
});

test("names with commas and percent signs come through the address", () => {
  const names = ["a,b", "50%", "%2C", "plain"];
  expect(splitNames(joinNames(names))).toEqual(names);
});

describe("a crowd of runs", () => {
  const runs = (many: number, make: (at: number) => Record<string, unknown>) => Array.from({ length: many }, (_, at) => make(at));

  test("is split by the setting with the most even groups", () => {
    const configs = runs(200, (at) => ({ lr: at / 1000, seed: at % 4, optimizer: { name: at % 10 ? "adam" : "sgd" }, depth: [2, 4, 8][at % 3] }));
    expect(usefulSetting(configs)).toBe("config.depth");
  });

  test("is not split by a seed, by what hardly any has, or by what all share", () => {
    expect(usefulSetting(runs(120, (at) => ({ seed: at % 3, model: "vit", ...(at < 20 && { warmup: at % 2 }) })))).toBeNull();
    expect(usefulSetting([])).toBeNull();
  });

  test("a name with a dot in it is found too", () => {
    expect(usefulSetting(runs(120, (at) => ({ "optimizer.lr": at % 2 })))).toBe("config.optimizer.lr");
  });
});

describe("a chart as a table", () => {
  const lines = [line("one", [0, 2], [0.5, 0.25]), line("=two, \"quoted\"", [0, 1], [NaN, 3])];

  test("has a row for each place of any line", () => {
    expect(tableOf(lines).rows).toEqual([
      { x: 0, values: [0.5, NaN] },
      { x: 1, values: [undefined, 3] },
      { x: 2, values: [0.25, undefined] },
    ]);
  });

  test("is CSV whose names no spreadsheet takes for formulas", () => {
    expect(toCsv(tableOf(lines), "step")).toBe(`step,one,"'=two, ""quoted"""\n0,0.5,NaN\n1,,3\n2,0.25,\n`);
  });
});

describe("a run that died", () => {
  const run = shownRun({ id: "r1", name: "", state: "crashed", started_at: 1000, ended_at: 1600, last_step: 500 });

  test("has its mark where it ended, and not where a zoom does", () => {
    expect([null, { low: 0, high: 499 }, { low: 400, high: 500 }].map((zoom) => endsWithin(run, "step", zoom))).toEqual([true, false, true]);
    expect([{ low: 0, high: 599 }, { low: 0, high: 601 }].map((zoom) => endsWithin(run, "relative", zoom))).toEqual([false, true]);
    expect([{ low: 1000, high: 1500 }, { low: 1000, high: 1700 }].map((zoom) => endsWithin(run, "time", zoom))).toEqual([false, true]);
    expect(endsWithin(run, "metric", { low: 0, high: 1e9 })).toBe(false);
  });

  test("is known by its id where it has no name; one that lives has no last step to draw anew", () => {
    expect(run).toMatchObject({ name: "r1", hasDied: true, isLive: false, lastStep: 500 });
    expect(shownRun({ id: "r2", name: "n", state: "running", started_at: 0, ended_at: null, last_step: 7 })).toMatchObject({ isLive: true, lastStep: null });
  });
});
