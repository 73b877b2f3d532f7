import { expect, test } from "vitest";
import { lowerBound, nearest, smooth } from "../src/chart/line";

test("smoothing is not pulled to zero at the start, and a constant stays what it is", () => {
  expect([...smooth(Float64Array.of(5, 5, 5, 5), 0.9)]).toEqual([5, 5, 5, 5].map((value) => expect.closeTo(value, 12)));
  const [first, second] = smooth(Float64Array.of(1, 0), 0.5);
  expect(first).toBe(1);
  expect(second).toBeCloseTo(1 / 3, 12);
});

test("smoothing keeps gaps and does not carry them on", () => {
  const found = smooth(Float64Array.of(2, NaN, 2, Infinity, 2), 0.6);
  expect(found[1]).toBeNaN();
  expect(found[3]).toBeNaN();
  expect(found[4]).toBeCloseTo(2, 12);
});

test("the nearest place is found in both directions and at both ends", () => {
  const x = Float64Array.of(0, 10, 20);
  expect([-5, 4, 6, 15, 99].map((value) => nearest(x, value))).toEqual([0, 0, 1, 1, 2]);
  expect(nearest(new Float64Array(), 3)).toBe(-1);
  expect([0, 1, 20, 21].map((value) => lowerBound(x, value))).toEqual([0, 1, 2, 3]);
});
