import { expect, test } from "vitest";
import { chipText, condition, isFilter, joinFilters, matching, nextOf, searchFilter, splitFilter } from "../src/workspace/filters";

test("words are searched for, and what compares is a filter", () => {
  for (const text of ["lora seed0", '"a = b"', "in", "2e-4"]) expect(isFilter(text), text).toBe(false);
  for (const text of ["a=b", "config.lr > 1", "name ~ x", "state in (a)", "state not in (a, b)"]) expect(isFilter(text), text).toBe(true);
  expect(searchFilter('lora "two words" and')).toBe('"lora" and "two words" and "and"');
  expect(searchFilter('  "open')).toBe('"open"');
});

test("a filter is split into what must all hold, and put together again", () => {
  const text = 'state = crashed and (tags = a or tags = b) and name = "x and y" and state in (a, b)';
  const parts = ["state = crashed", "tags = a or tags = b", 'name = "x and y"', "state in (a, b)"];
  expect(splitFilter(text)).toEqual(parts);
  expect(joinFilters(parts)).toBe(text);
  expect(splitFilter("a = 1 or b = 2 and c = 3")).toEqual(["a = 1 or b = 2 and c = 3"]);
  expect(splitFilter("(a = 1) and (b = 2 or c = 3)")).toEqual(["a = 1", "b = 2 or c = 3"]);
  expect([joinFilters(["", "a = 1"]), joinFilters([]), splitFilter("")]).toEqual(["a = 1", "", []]);
});

test("values are written so that they mean themselves", () => {
  expect(condition("config.lr", 2e-7)).toBe("config.lr = 2e-7");
  expect(condition("config.batch size", "64")).toBe('"config.batch size" = "64"');
  expect([null, "adam", "a b", "null", "Infinity", '"'].map((each) => condition("config.x", each).slice(11))).toEqual(["null", "adam", '"a b"', '"null"', "inf", '"\\""']);
});

test("what could come next is told from what stands before it", () => {
  expect(nextOf("sta")).toMatchObject({ kind: "field", begun: "sta", at: 0 });
  expect(nextOf("state ")).toMatchObject({ kind: "operator", field: "state" });
  expect(nextOf("state =")).toMatchObject({ kind: "value", field: "state", operator: "=", begun: "" });
  expect(nextOf("a = 1 and state = cra")).toMatchObject({ kind: "value", field: "state", begun: "cra", at: 18 });
  expect(nextOf("state = crashed and ")).toMatchObject({ kind: "field", begun: "" });
  expect(nextOf('"config.a b" = ')).toMatchObject({ kind: "value", field: "config.a b" });
  expect(matching(["state", "config.lr", "host", "summary.last"], "l")).toEqual(["config.lr", "summary.last"]);
  expect(chipText("config.lr >= 1e-4")).toBe("lr ≥ 1e-4");
});
