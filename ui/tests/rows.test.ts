import { expect, test } from "vitest";
import type { GroupBrief, RunBrief } from "../src/api/client";
import { GroupRows, PlainRows } from "../src/workspace/rows";

const table = (prefix: string) => {
  const looked: [number, number][] = [];
  return { looked, row: (index: number) => ({ id: `${prefix}${index}` }) as RunBrief, look: (first: number, last: number) => void looked.push([first, last]) };
};
const group = (value: string, runs: number) => ({ value, runs, states: {}, columns: {} }) as GroupBrief;

test("runs stand below those on top", () => {
  const all = table("r");
  const rows = new PlainRows(all, 2, 5);
  expect(rows.item(0)).toEqual({ run: { id: "r2" }, index: 2 });
  rows.look(1, 3);
  expect(all.looked).toEqual([[3, 5]]);
});

test("the runs of an open group stand below it, and only those in sight are asked for", () => {
  const inner = table("b");
  const rows = new GroupRows([group("a", 3), group("b", 4), group("c", 2)], (each) => (each.value === "b" ? inner : undefined), (id) => (id === "b0" ? 7 : Infinity));
  expect(rows.count).toBe(7);
  expect(Array.from({ length: 7 }, (_, at) => rows.item(at)).map((item) => (!item ? "" : "run" in item ? `${item.run.id} ${item.index}` : `${item.group.value}${item.isOpen ? " open" : ""}`))).toEqual([
    "a", "b open", "b0 7", "b1 Infinity", "b2 Infinity", "b3 Infinity", "c",
  ]);
  rows.look(3, 20);
  rows.look(0, 1);
  expect(inner.looked).toEqual([[1, 4]]);
  expect(new GroupRows([], () => undefined, () => 0).item(0)).toBeUndefined();
});
