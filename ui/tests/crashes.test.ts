import { expect, test } from "vitest";
import { axis, headline, ranked, trendOf } from "../src/crashes/words";

const share = (name: string, weeks: number[]) => ({ name, deaths: 1, hours_lost: weeks.reduce((sum, each) => sum + each, 0), by_week: weeks });

test.each([
  [[10, 10, 5, 5], { words: "−50 %", isWorse: false }],
  [[4, 5], { words: "+25 %", isWorse: true }],
  [[1, 7], { words: "× 7", isWorse: true }],
  [[0, 7], { words: "new", isWorse: true }],
  [[9, 3, 3], { words: "same", isWorse: false }],
  [[0, 0], null],
  [[3], null],
])("of the weeks %s the later half is held against the one before", (weeks, found) => expect(trendOf(weeks)).toEqual(found));

test("what is not told apart is one, in all and in each week", () => {
  const shares = Array.from({ length: 10 }, (_, at) => share(`cause ${at}`, [10 - at, 1]));
  const { told, others } = ranked(shares);
  expect(told).toHaveLength(7);
  expect(others).toEqual({ name: "3 others", deaths: 3, hours_lost: 9, by_week: [6, 3] });
  expect(ranked(shares.slice(0, 8))).toEqual({ told: shares.slice(0, 8), others: null });
});

test("an axis has full marks from nothing to above all", () => {
  expect(axis(115)).toEqual([0, 50, 100, 150]);
  expect(axis(0.3)).toEqual([0, 0.1, 0.2, 0.3].map((mark) => expect.closeTo(mark)));
  expect(axis(0)).toEqual([0]);
});

test("a host is blamed from its second fault on", () => {
  const host = { host: "gpu-07", deaths: 3, faults: 1, hours_lost: 5, causes: {}, marks: [] };
  const found = { weeks: [0], runs: 9, deaths: 3, hours_lost: 30, shares: [share("host-lost", [12])], hosts: [host], newest: [] };
  expect(headline(found)).toEqual({ title: "Host lost costs the most: 12 h of 30 h", more: "" });
  expect(headline({ ...found, hosts: [{ ...host, faults: 2 }] }).more).toContain("2 hardware faults on gpu-07");
  expect(headline({ ...found, shares: [] }).title).toBe("No run has died in this time");
});
