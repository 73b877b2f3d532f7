import { expect, test } from "vitest";
import { findSpans } from "../src/chart/painter";
import { heldRange } from "../src/diagnosis/curves";
import type { Drawn, Panel } from "../src/run/system";

const GIB = 1024 ** 3;
const panel: Panel = { id: "rss", title: "Memory", group: "Program", yKind: "bytes", lines: [], limits: [] };

function drawn(values: number[], limits: number[]): Drawn {
  const line = { id: "a", name: "a", colour: "#000", x: Float64Array.from(values.keys()), y: Float64Array.from(values) };
  return { lines: [line], limits: limits.map((y) => ({ y, label: "" })) };
}

test("a curve starts at nothing and has the limit in it that it is held against", () => {
  expect(heldRange(panel, drawn([GIB, 2 * GIB], [64 * GIB, 8 * GIB]))).toEqual({ low: 0, high: 8 * GIB * 1.08 });
});

test("one that went beyond its limit is seen whole", () => {
  expect(heldRange(panel, drawn([GIB, 9 * GIB], [8 * GIB]))).toEqual({ low: 0, high: 9 * GIB * 1.08 });
  expect(heldRange(panel, drawn([GIB, NaN], []))).toEqual({ low: 0, high: GIB * 1.08 });
});

test("what a program logged has its own range", () => {
  expect(heldRange({ ...panel, id: "metric" }, drawn([1, 2], []))).toBe(null);
});

test("the axis ends where it is told to, however the lines lie", () => {
  const { lines, limits } = drawn([4 * GIB, 5 * GIB], [64 * GIB]);
  const drawing = { lines, limits, xKind: "time" as const, yKind: "bytes" as const, isLog: false, zoom: null, robust: null, moments: [], ticks: [] };
  expect(findSpans({ ...drawing, low: 0, high: 64 * GIB }).y).toEqual({ low: 0, high: 64 * GIB });
  expect(findSpans(drawing).y.high).toBeLessThan(6 * GIB);
});
