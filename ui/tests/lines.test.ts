import { expect, test } from "vitest";
import { differingFirst, findDifferences, packagesOf } from "../src/compare/differences";
import { onlyDifferences, pairLines } from "../src/compare/lines";

const told = (left: string, right: string) => pairLines(left, right).map((pair) => (pair.isSame ? `=${pair.left}` : `${pair.left ?? ""}|${pair.right ?? ""}`));

test("two texts stand beside each other, line by line", () => {
  expect(told("a\nb\nc\n", "a\nx\nc\n")).toEqual(["=a", "b|x", "=c"]);
  expect(told("a\nc\n", "a\nb\nc\nd\n")).toEqual(["=a", "|b", "=c", "|d"]);
  expect(told("x\na\nb\ny\n", "a\nq\nb\n")).toEqual(["x|", "=a", "|q", "=b", "y|"]);
  expect([told("", ""), told("", "a"), told("same", "same\n")]).toEqual([[], ["|a"], ["=same"]]);
});

test("only what differs is shown, with a few lines around it", () => {
  const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
  const pairs = onlyDifferences(pairLines(lines.join("\n"), lines.toSpliced(20, 1, "other").join("\n")));
  expect(pairs.map((pair) => pair?.left ?? null)).toEqual([null, ...lines.slice(17, 24), null]);
});

test("a text that is too long to compare is still shown", () => {
  const many = (word: string) => Array.from({ length: 3000 }, (_, at) => `${word} ${at}`).join("\n");
  expect(pairLines(many("a"), many("b")).length).toBe(3000);
});

test("what differs comes first, and packages are compared by name", () => {
  const rows = findDifferences([{ packages: ["numpy==1", "torch==2"] }, { packages: ["numpy==1", "torch==3", "extra"] }].map(packagesOf));
  expect(differingFirst(rows).map((row) => [row.name, ...row.values])).toEqual([["extra", undefined, ""], ["torch", "2", "3"], ["numpy", "1", "1"]]);
});
