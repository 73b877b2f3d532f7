import { expect, test } from "vitest";
import { isSparse, lowerBound, nearest, smooth, smoothingUnit, type Line } from "../src/chart/line";
import { paintMarks } from "../src/chart/marks";
import type { Drawing, Frame, Ink } from "../src/chart/painter";
import { makeScale } from "../src/chart/scales";

const steps = (many: number) => Float64Array.from({ length: many }, (_, at) => at);

test("smoothing is not pulled to zero at the start, and a constant stays what it is", () => {
  expect([...smooth(steps(4), Float64Array.of(5, 5, 5, 5), 0.9, 1)]).toEqual([5, 5, 5, 5].map((value) => expect.closeTo(value, 12)));
  const [first, second] = smooth(steps(2), Float64Array.of(1, 0), 0.5, 1);
  expect(first).toBe(1);
  expect(second).toBeCloseTo(1 / 3, 12);
});

test("smoothing keeps gaps and does not carry them on", () => {
  const found = smooth(steps(5), Float64Array.of(2, NaN, 2, Infinity, 2), 0.6, 1);
  expect(found[1]).toBeNaN();
  expect(found[3]).toBeNaN();
  expect(found[4]).toBeCloseTo(2, 12);
});

test("smoothing goes by the axis: points that are far apart hardly lag", () => {
  const unit = smoothingUnit([{ x: steps(501) }, { x: new Float64Array() }]);
  expect(unit).toBe(1);
  const jump = (many: number) => Float64Array.from({ length: many }, (_, at) => (at < many / 2 ? 1 : 0));
  const [dense, sparse] = [smooth(steps(500), jump(500), 0.9, unit), smooth(steps(20).map((x) => x * 25), jump(20), 0.9, unit)];
  expect(dense[251]).toBeGreaterThan(0.5);
  expect(sparse[10]).toBeLessThan(0.1);
  expect(smoothingUnit([{ x: Float64Array.of(3) }])).toBe(0);
});

test("the nearest place is found in both directions and at both ends", () => {
  const x = Float64Array.of(0, 10, 20);
  expect([-5, 4, 6, 15, 99].map((value) => nearest(x, value))).toEqual([0, 0, 1, 1, 2]);
  expect(nearest(new Float64Array(), 3)).toBe(-1);
  expect([0, 1, 20, 21].map((value) => lowerBound(x, value))).toEqual([0, 1, 2, 3]);
});

test("a run that died early does not make a curve a row of measurements", () => {
  expect([isSparse([30, 20]), isSparse([300, 20]), isSparse([199]), isSparse([200])]).toEqual([true, false, true, false]);
});

test("a stretch of values that were none is one mark, which tells all of it", () => {
  const x = Float64Array.from({ length: 100 }, (_, at) => at);
  const marks = Uint8Array.from(x, (at) => (at === 10 ? 2 : at >= 50 && at < 90 ? 1 : 0));
  const line = { id: "a", name: "a", colour: "#000", x, y: x, marks } as Line;
  const wedges: number[] = [];
  const context = new Proxy({}, { get: (_, name) => (name === "moveTo" ? (px: number) => wedges.push(px) : () => undefined), set: () => true }) as CanvasRenderingContext2D;
  const scale = makeScale({ low: 0, high: 99 }, 0, 297);
  const frame = { x: scale, y: scale, top: 10, bottom: 200, right: 300, marks: [] } as unknown as Frame;
  paintMarks(context, frame, { lines: [line], xKind: "step" } as unknown as Drawing, { death: "#f00" } as Ink);
  expect(wedges).toEqual([26, 146]);
  expect([...new Set(frame.marks.map((mark) => mark.tell()))]).toEqual(["Inf at step 10", "NaN from step 50 to step 89"]);
});
