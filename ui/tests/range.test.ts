import { describe, expect, test } from "vitest";
import type { Line } from "../src/chart/line";
import { quantile, robustRange, robustSpan } from "../src/chart/range";

const MANY = 400;
const usual = { zoom: null, isLog: false, kept: new Set<string>() };

/** A loss that falls from ten times its end. */
function loss(id: string, end: number, change: (at: number, value: number) => number = (_, value) => value): Line {
  const x = Float64Array.from({ length: MANY }, (_, at) => at);
  return { id, name: id, colour: "#000000", x, y: x.map((at) => change(at, end * (1 + 9 * Math.exp(-at / 8)))) };
}

const twenty = () => Array.from({ length: 20 }, (_, at) => loss(`r${at}`, 0.2 + at * 0.005));

describe("the usual range", () => {
  test("one run that diverged does not flatten nineteen, and is said", () => {
    const lines = twenty();
    lines[7] = loss("bad", 0.25, (at, value) => (at > 200 ? value * 1e6 : value));
    const { span, outliers } = robustRange(lines, usual);
    expect(outliers.map((line) => line.id)).toEqual(["bad"]);
    expect(span!.high).toBeLessThan(1.2);
    expect(span!.low).toBeGreaterThan(0.19);
  });

  test("who is chosen is never an outlier", () => {
    const lines = twenty();
    lines[7] = loss("bad", 0.25, (at, value) => (at > 200 ? value * 1e6 : value));
    const { span, outliers } = robustRange(lines, { ...usual, kept: new Set(["bad"]) });
    expect(outliers).toEqual([]);
    expect(span!.high).toBeGreaterThan(1e5);
  });

  test("runs that all lie close together have no outliers", () => {
    expect(robustRange(twenty(), usual).outliers).toEqual([]);
    const same = Array.from({ length: 6 }, (_, at) => loss(`r${at}`, 0.2 + at * 1e-9));
    expect(robustRange(same, usual).outliers).toEqual([]);
  });

  test("below four lines nobody is an outlier, and the first steps set no range", () => {
    const bad = loss("bad", 50);
    const { span, outliers } = robustRange([loss("a", 0.2), loss("b", 0.21), bad], usual);
    expect(outliers).toEqual([]);
    expect(span!.high).toBeGreaterThan(50);
    expect(robustRange([loss("a", 0.2)], usual).span!.high).toBeLessThan(0.5);
  });

  test("of a few points each one counts", () => {
    const few: Line = { id: "v", name: "v", colour: "#000000", x: Float64Array.of(0, 100, 200), y: Float64Array.of(9, 1, 0.5) };
    expect(robustRange([few], usual).span).toEqual({ low: 0.5, high: 9 });
  });

  test("a run that ended early is not left out with the first steps", () => {
    const early = loss("early", 0.3);
    const short: Line = { ...early, x: early.x.subarray(0, 15).map((at) => at / 10), y: early.y.subarray(0, 15) };
    expect(robustRange([short, ...twenty()], usual).outliers.map((line) => line.id)).toEqual(["early"]);
  });

  test.each([10, 100])("a run that ended early is no outlier where it lies among the others until then, with a point each %i steps", (every) => {
    const slow = (id: string, end: number, until: number): Line => {
      const x = Float64Array.from({ length: until / every }, (_, at) => at * every);
      return { id, name: id, colour: "#000000", x, y: x.map((at) => end * (1 + 3 * Math.exp(-at / 150))) };
    };
    const many = Array.from({ length: 12 }, (_, at) => slow(`r${at}`, 0.5 + at * 1e-4, 3000));
    const [short, far] = [slow("short", 0.5005, 300), slow("far", 2, 300)];
    const { span, outliers } = robustRange([...many, short, far], usual);
    expect(outliers.map((line) => line.id)).toEqual(["far"]);
    expect(span).toEqual(robustRange(many, usual).span);
  });

  test("on a log scale it is found among logarithms; what has none is left out", () => {
    const lines = twenty();
    lines[3] = loss("tiny", 0.2, () => 1e-9);
    lines[4] = loss("below", 0.2, () => -1);
    const { span, outliers } = robustRange(lines, { ...usual, isLog: true });
    expect(outliers.map((line) => line.id)).toEqual(["tiny"]);
    expect(span!.low).toBeGreaterThan(0.19);
  });

  test("a zoom is looked at by itself", () => {
    const lines = twenty();
    const { span } = robustRange(lines, { ...usual, zoom: { low: 0, high: 4 } });
    expect(span!.high).toBeGreaterThan(2.5);
  });

  test("nothing to show has no range", () => {
    expect(robustRange([], usual)).toEqual({ span: null, outliers: [] });
    expect(robustRange([loss("nan", NaN)], usual).span).toBeNull();
  });
});

test("quantiles lie between the values", () => {
  expect([0, 0.25, 0.5, 1].map((share) => quantile([1, 2, 3, 4, 9], share))).toEqual([1, 2, 3, 9]);
  expect(quantile([1, 2], 0.5)).toBe(1.5);
});

test("one value far away does not decide what bars are held against, unless there are few", () => {
  expect(robustSpan([1.2, 1.3, 1.25, 9598, 1.4])).toEqual({ low: 1.2, high: 1.4 });
  expect(robustSpan([1, 2, 3, 4, 5, 6, 7])).toEqual({ low: 1, high: 7 });
  expect(robustSpan([1, 1, 9])).toEqual({ low: 1, high: 9 });
  expect(robustSpan([])).toEqual({ low: Infinity, high: -Infinity });
});
