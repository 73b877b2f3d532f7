import { expect, test } from "vitest";
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
