import { expect, test } from "vitest";
import * as format from "../src/format";

test.each([
  [0, "0"], [0.5, "0.5"], [0.00031, "3.1e-4"], [12431, "12,431"], [1200, "1,200"], [-4096, "-4,096"], [1.23456, "1.2346"], [1e9, "1e9"], [NaN, "NaN"], [Infinity, "Inf"], [-Infinity, "−Inf"], [null, ""],
])("the number %s reads %s", (value, text) => expect(format.number(value)).toBe(text));

test.each([["NaN", "NaN"], ["Infinity", "Inf"], ["-Infinity", "−Inf"]])("what the server writes as %s reads %s and is odd", (found, text) => {
  expect(format.value(found)).toBe(text);
  expect(format.isOdd(found)).toBe(true);
});

test.each([0, 1e300, null, undefined, "nan", "", [NaN]])("%s is not odd", (found) => expect(format.isOdd(found)).toBe(false));

test.each([[4.2, "4.2 s"], [59, "59 s"], [250, "4 min 10 s"], [24_060, "6 h 41 min"], [266_400, "3 d 2 h"]])(
  "%s seconds read %s", (seconds, text) => expect(format.duration(seconds)).toBe(text));

test.each([[512, "512 B"], [0.6000000000000001, "0.6 B"], [9.1 * 1024 ** 3, "9.1 GiB"], [79.6 * 1024 ** 3, "79.6 GiB"], [128 * 1024 ** 3, "128 GiB"]])(
  "%s bytes read %s", (count, text) => expect(format.bytes(count)).toBe(text));

test("times are those of the reader's zone", () => {
  const at = Date.UTC(2026, 0, 1, 23, 30, 5) / 1000;
  expect(format.dateTime(at)).toBe("2026-01-02 00:30:05");
  expect(format.ago(at, (at + 190) * 1000)).toBe("3 min ago");
});

test("one is one, and several are several", () => {
  expect(format.count(1, "run")).toBe("1 run");
  expect(format.count(12431, "run")).toBe("12,431 runs");
});

test.each([[0, "0 h"], [0.01, "36 s"], [0.0001, "0.4 s"], [2.24, "2.2 h"], [1101.4, "1,101 h"]])("%s hours read %s", (many, text) => expect(format.hours(many)).toBe(text));
