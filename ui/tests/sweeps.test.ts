import { describe, expect, test } from "vitest";
import type { RunBrief } from "../src/api/client";
import { makeAxis } from "../src/panels/axis";
import { beyond, boundText, withFallen } from "../src/panels/regions";
import { asRuns, bestNear, bounded, diedAt, placeWords, regionsOf, type Sweep, type Trial } from "../src/sweeps/sweep";

function trial(number: number, params: Record<string, unknown>, about: Partial<Trial> = {}): Trial {
  return { number, params, changed: {}, state: "finished", value: 0, cause: "", device: "A100", run: `r${number}`, attempts: 1, now: null, ...about } as Trial;
}

function sweep(about: Partial<Sweep> = {}): Sweep {
  const parameters = [
    { name: "lr", choices: [], is_log: true, low: 1e-5, high: 1e-2 },
    { name: "batch", choices: [32, 256, 64], is_log: false, low: null, high: null },
    { name: "seed", choices: [1], is_log: false, low: null, high: null },
  ];
  return { method: "tpe", goal: "minimize", metric: "loss", parameters, rows: [], regions: [], importance: {}, ...about } as Sweep;
}

describe("where trials do not fit", () => {
  test("is from a bound to the end of an axis of numbers or of words", () => {
    const words = makeAxis("config.batch", ["64", "256", "32", "1e3"]);
    expect(words.words).toEqual(["32", "64", "256", "1e3"]);
    expect(beyond(words, { column: "config.batch", side: ">=", value: 256 })).toEqual({ low: 0.5, high: 1 });
    expect(beyond(words, { column: "config.batch", side: "=", value: 64 })).toEqual({ low: 0.25, high: 0.5 });
    expect(beyond(words, { column: "config.batch", side: "<=", value: 7 })).toBeNull();
    const numbers = makeAxis("config.lr", [0, 10]);
    const found = beyond(numbers, { column: "config.lr", side: "<=", value: 5 })!;
    expect([found.low, Number(found.high.toFixed(2))]).toEqual([0, 0.51]);
    expect(boundText({ column: "config.batch", side: ">=", value: 256 })).toBe("≥ 256");
  });

  test("is told in words, with the newest trial that died there", () => {
    const region = { words: "", died: 2, device: "A100", bounds: [{ name: "batch", side: "=" as const, value: 256 }] };
    const rows = [trial(0, { batch: 256 }, { state: "infeasible" }), trial(1, { batch: 256 }, { state: "infeasible" }), trial(2, { batch: 32 }, { state: "infeasible" }), trial(3, { batch: 256 })];
    expect(diedAt(sweep({ rows }), region)?.number).toBe(1);
    expect(placeWords({ ...region, bounds: [...region.bounds, { name: "d", side: ">=", value: 8 }] })).toBe("batch = 256 and d ≥ 8");
    expect(regionsOf(sweep({ regions: [region] }))).toEqual([{ died: 2, bounds: [{ column: "config.batch", side: "=", value: 256 }] }]);
  });

  test("died runs stand below the axis that they never reached", () => {
    const runs = [{ state: "finished" }, { state: "crashed" }, { state: "running" }] as unknown as RunBrief[];
    const axis = withFallen(makeAxis("summary.loss", [1, undefined, undefined]), runs);
    expect([axis.fallen, axis.missing, axis.places[1]! < 0, Number.isNaN(axis.places[2])]).toEqual([1, 1, true, true]);
  });
});

describe("a sweep", () => {
  test("shows few choices as words, also numbers", () => {
    const [run] = asRuns(sweep({ rows: [trial(0, { lr: 0.1, batch: 256, seed: 1 })] }));
    expect([run!.values["config.lr"], run!.values["config.batch"], run!.values["config.seed"]]).toEqual([0.1, "256", 1]);
  });

  test("has bounds that people may change where it searches numbers", () => {
    expect(bounded(sweep()).map((each) => each.name)).toEqual(["lr"]);
    expect(bounded(sweep({ method: "cmaes" }))).toEqual([]);
  });

  test("says where its best trials lie", () => {
    const rows = Array.from({ length: 20 }, (_, n) => trial(n, { lr: n / 1000, batch: n < 8 ? 64 : 32 }, { value: Math.abs(n - 4) }));
    const found = sweep({ rows, importance: { lr: 0.8, batch: 0.19, seed: 0.01 } });
    expect(["lr", "batch", "seed"].map((name) => bestNear(found, name))).toEqual(["near 0.004", "64", "no clear effect"]);
  });
});
