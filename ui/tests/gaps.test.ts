import { expect, test } from "vitest";
import { countRows, rowAt, rowOf, stretches, type Gap } from "../src/logs/gaps";

const COUNTED: Gap = { first: 100, lines: 900, size_bytes: 9000 };
const UNCOUNTED: Gap = { first: 1050, lines: 0, size_bytes: 70 };

test("a gap is one row, and the lines behind it keep their numbers", () => {
  const gaps = [COUNTED, UNCOUNTED];
  expect(countRows(1100, gaps)).toBe(100 + 1 + 50 + 1 + 50);
  expect(rowAt(99, gaps)).toEqual({ number: 99 });
  expect(rowAt(100, gaps)).toEqual({ number: 100, gap: COUNTED });
  expect(rowAt(101, gaps)).toEqual({ number: 1000 });
  expect(rowAt(150, gaps)).toEqual({ number: 1049 });
  expect(rowAt(151, gaps)).toEqual({ number: 1050, gap: UNCOUNTED });
  expect(rowAt(152, gaps)).toEqual({ number: 1050 });
  expect(rowAt(201, gaps)).toEqual({ number: 1099 });
});

test("every line has its row, and one that was not kept has that of its gap", () => {
  const gaps = [COUNTED, UNCOUNTED];
  for (const row of [0, 99, 101, 150, 152, 201]) expect(rowOf(rowAt(row, gaps).number, gaps)).toBe(row);
  expect(rowOf(100, gaps)).toBe(100);
  expect(rowOf(999, gaps)).toBe(100);
  expect(rowOf(7, [])).toBe(7);
});

test("only lines that were kept are asked for", () => {
  const rows = [98, 99, 100, 101, 102].map((row) => rowAt(row, [COUNTED]));
  expect(stretches(rows)).toEqual([[98, 99], [1000, 1001]]);
});
