import { expect, test } from "vitest";
import { decodeTables } from "../src/api/columns";
import { deltaWords, findDifferences } from "../src/compare/differences";
import { confidenceWords, deathWord, sentence } from "../src/diagnosis/words";
import { number } from "../src/format";
import { matching, runFilter } from "../src/parts/search";
import { findRoute } from "../src/routes";
import { usualColumns } from "../src/workspace/columns";

test("binary columns are read where they lie", () => {
  const head = new TextEncoder().encode(
    JSON.stringify({ tables: [{ about: { run: "r", key: "k", points: 2 }, columns: [{ name: "x", type: "f8", at: 0, count: 2 }, { name: "marks", type: "u1", at: 16, count: 2 }] }] }),
  );
  const padded = Math.ceil((4 + head.length) / 8) * 8 - 4;
  const data = new ArrayBuffer(4 + padded + 18);
  new DataView(data).setUint32(0, padded, true);
  new Uint8Array(data, 4).fill(32, 0, padded).set(head);
  new Float64Array(data, 4 + padded, 2).set([1.5, -2]);
  new Uint8Array(data, 4 + padded + 16, 2).set([0, 4]);
  const [table] = decodeTables(data);
  expect(table!.about.key).toBe("k");
  expect([...table!.columns.x!]).toEqual([1.5, -2]);
  expect([...table!.columns.marks!]).toEqual([0, 4]);
});

test("runs differ where any value differs, in nested settings too", () => {
  const rows = findDifferences([{ lr: 0.1, model: { depth: 2 } }, { lr: 0.1, model: { depth: 4 }, extra: null }]);
  expect(rows.map((row) => [row.name, row.isSame])).toEqual([["extra", false], ["lr", true], ["model.depth", false]]);
  expect(deltaWords(2, 1.5, number)).toBe("−0.5 (−25 %)");
  expect(deltaWords(0, 1, number)).toBe("+1");
  expect(deltaWords(1.174, 9598, number)).toBe("+9,596.8 (× 8,180)");
  expect(deltaWords(0.001, -9, number)).toBe("−9.001");
});

test("how sure a verdict is, is said in words", () => {
  expect([0.99, 0.9, 0.7, 0.4, 0.1].map(confidenceWords)).toEqual(["Almost certain", "Very likely", "Likely", "Possible", "A guess among others"]);
  expect(sentence("the kernel said so")).toBe("The kernel said so.");
  expect(sentence("oom_kill went up (read by cgroup)")).toBe("oom_kill went up.");
  expect(deathWord({ evidence: [{ source: "exit status", at: 1, text: "SIGKILL ended process 7" }] } as never)).toBe("SIGKILL");
});

test("addresses lead to pages, and wrong ones nowhere", () => {
  expect(findRoute("/p/a%2Fb/r/x1/logs")?.params).toEqual({ project: "a/b", run: "x1", tab: "logs" });
  expect(findRoute("/p/v/compare")?.route.title).toBe("compare");
  expect(findRoute("/p/%E0%A4%A/r/x")).toBeNull();
  expect(findRoute("/nowhere")).toBeNull();
});

test("the first columns are a loss and a learning rate where there are such", () => {
  expect(usualColumns(["summary.train/loss", "summary.val/loss", "config.lr"])).toEqual(["summary.val/loss", "config.lr"]);
  expect(usualColumns(["summary.reward"])).toEqual(["started_at"]);
});

test("places are found by any of their words, those that begin so first", () => {
  const targets = ["Crashes of vision", "vision", "speech"].map((title) => ({ href: `/${title}`, title, about: "project" }));
  expect(matching(targets, "vis").map((each) => each.title)).toEqual(["vision", "Crashes of vision"]);
  expect(matching(targets, "project spee").map((each) => each.title)).toEqual(["speech"]);
  expect(runFilter('a "b\\')).toBe('name ~ "a \\"b\\\\" or id ~ "a \\"b\\\\"');
  expect(runFilter("  ")).toBeNull();
});
