import { describe, expect, test } from "vitest";
import { makeScale, padded, placeOf, valueAt, xTicks, yTicks } from "../src/chart/scales";

const texts = (ticks: { text: string }[]) => ticks.map((tick) => tick.text);

describe("scales", () => {
  test("map values to pixels and back", () => {
    const scale = makeScale({ low: 100, high: 300 }, 40, 440);
    expect(placeOf(scale, 100)).toBe(40);
    expect(placeOf(scale, 250)).toBe(340);
    expect(valueAt(scale, 340)).toBeCloseTo(250, 10);
  });

  test("run from the bottom up, and by powers of ten on a log scale", () => {
    const scale = makeScale({ low: 0.01, high: 100 }, 200, 0, true);
    expect(placeOf(scale, 1)).toBeCloseTo(100, 10);
    expect(valueAt(scale, 50)).toBeCloseTo(10, 10);
  });

  test("a span of one value maps to finite places", () => {
    expect(Number.isFinite(placeOf(makeScale({ low: 5, high: 5 }, 0, 100), 5))).toBe(true);
  });

  test("padding keeps what is never negative above zero", () => {
    expect(padded({ low: 0, high: 10 }, false).low).toBe(0);
    expect(padded({ low: 1, high: 100 }, true).low).toBeGreaterThan(0);
    expect(padded({ low: Infinity, high: -Infinity }, false)).toEqual({ low: 0, high: 1 });
  });
});

describe("ticks", () => {
  test("of numbers are round, and told apart however near they are", () => {
    expect(texts(yTicks({ low: 0, high: 1 }, 5, "number", false))).toEqual(["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    const near = texts(yTicks({ low: 1000.001, high: 1000.005 }, 4, "number", false));
    expect(new Set(near).size).toBe(near.length);
  });

  test("of bytes are round in their own unit", () => {
    const gib = 1024 ** 3;
    expect(texts(yTicks({ low: 0, high: 4 * gib }, 4, "bytes", false))).toEqual(["0", "1 GiB", "2 GiB", "3 GiB", "4 GiB"]);
  });

  test("of a log scale are powers of ten, and round values within one", () => {
    expect(texts(yTicks({ low: 1e-4, high: 100 }, 8, "number", true))).toEqual(["1e-4", "0.001", "0.01", "0.1", "1", "10", "100"]);
    expect(texts(yTicks({ low: 0.2, high: 0.5 }, 3, "number", true))).toEqual(["0.2", "0.3", "0.4", "0.5"]);
  });

  test("of steps are whole", () => {
    expect(texts(xTicks({ low: 0, high: 3 }, 10, "step"))).toEqual(["0", "1", "2", "3"]);
    expect(texts(xTicks({ low: 0, high: 20_000 }, 4, "step"))).toEqual(["0", "5k", "10k", "15k", "20k"]);
  });

  test("of a clock stand at full minutes and hours of the reader's own zone", () => {
    const noon = Date.UTC(2026, 10, 15, 11, 0, 0) / 1000;
    expect(texts(xTicks({ low: noon, high: noon + 3600 }, 4, "time"))).toEqual(["12:00", "12:15", "12:30", "12:45", "13:00"]);
  });

  test("of time since the start read as minutes and hours", () => {
    expect(texts(xTicks({ low: 0, high: 7200 }, 4, "relative"))).toEqual(["0", "30m", "1h", "1h30m", "2h"]);
  });
});
