import { expect, test } from "vitest";
import type { RunBrief } from "../src/api/client";
import { betterOf } from "../src/metrics";
import { told } from "../src/state/better.svelte";
import { csvOfRuns } from "../src/workspace/exporting";
import { cellText, differenceOf, digitsOf, endWords, progressWords } from "../src/workspace/cells";

const run = (known: object): RunBrief => ({ id: "r", state: "finished", attempt: 1, tags: [], values: {}, started_at: 0, ended_at: 60, duration_s: 60, last_step: 1310, ...known }) as unknown as RunBrief;

test("which way a metric is better is told by its name, or not at all", () => {
  for (const name of ["summary.val/loss", "val_loss", "evalLoss", "valloss", "top1_error", "test/rmse", "eval/ppl"]) expect(betterOf(name), name).toBe("low");
  for (const name of ["acc", "val/accuracy", "top1_acc", "eval/win_rate", "train/tokens_per_s", "f1", "mAP", "pass@1"]) expect(betterOf(name), name).toBe("high");
  for (const name of ["epoch", "lr", "grad_norm", "glossary", "mapping"]) expect(betterOf(name), name).toBeNull();
});

test("what a program said of a metric goes before its name", () => {
  told.take([{ key: "top1_error", better: "high" }, { key: "elo", better: "high" }, { key: "val/loss", better: "" }]);
  for (const name of ["summary.top1_error", "elo", "elo.best"]) expect(betterOf(name), name).toBe("high");
  expect(betterOf("val/loss")).toBe("low");
  told.take([]);
  expect(betterOf("elo")).toBeNull();
});

test("the second line of a row says how it ended and how far it came", () => {
  const dead = run({ state: "crashed", cause: "gpu-out-of-memory" });
  expect([endWords(dead), progressWords(dead, 0)]).toEqual(["GPU out of memory", "step 1,310"]);
  expect(endWords(run({ state: "preempted", cause: "scheduler-preempted" }))).toBe("Preempted");
  expect(progressWords(run({ attempt: 2 }), 0)).toBe("1 min · resumed once");
  expect(progressWords(run({ state: "failed", last_step: null }), 0)).toBe("1 min");
});

test("the numbers of a column end alike, and odd ones are written", () => {
  const digits = digitsOf([1.2113, 0.3, "NaN", 0.00001]);
  expect(digits).toBe(4);
  const text = (value: unknown) => cellText(run({ values: { "summary.loss": value } }), "summary.loss", 0, digits);
  expect([text(1.2), text(-0.5), text(0), text(0.00001), text("NaN"), text("-Infinity")]).toEqual(["1.2000", "−0.5000", "0.0000", "1e-5", "NaN", "−Inf"]);
  expect([digitsOf([1, 2, 300]), digitsOf([123456.5]), digitsOf([57.25, 8]), digitsOf([])]).toEqual([null, null, 3, null]);
});

test("runs that diverged take no digits from the others, and settings are short", () => {
  const losses = [0.6123, 0.5871, 0.4412, 0.7133, 1266.925, 98000];
  const digits = digitsOf(losses);
  const text = (column: string, value: unknown) => cellText(run({ values: { [column]: value } }), column, 0, digits);
  expect(losses.map((loss) => text("summary.loss", loss))).toEqual(["0.6123", "0.5871", "0.4412", "0.7133", "1,266.9", "98,000"]);
  expect([0.0053312, 1.278e-4, 0.05, 256, 0.0123456, "adamw"].map((each) => text("config.lr", each))).toEqual(["5.33e-3", "1.28e-4", "0.05", "256", "0.0123", "adamw"]);
});

test("a metric stands beside the baseline's, and says whether it is better", () => {
  expect(differenceOf("summary.loss", 1.1885, 1.2113, 4)).toEqual({ text: "−0.0228", isBetter: true });
  expect(differenceOf("summary.acc", 0.5, 0.6, 4)).toEqual({ text: "−0.1000", isBetter: false });
  expect(differenceOf("summary.epoch", 2, 3, null)).toEqual({ text: "−1", isBetter: false });
  expect(differenceOf("summary.loss", 1, 1, 4)?.text).toBe("±0");
  for (const [column, found] of [["config.lr", 2], ["summary.loss", "NaN"], ["summary.loss", undefined]] as const) expect(differenceOf(column, found, 1, 4)).toBeNull();
});

test("rows are exported with all that they have, and nothing that a spreadsheet would run", () => {
  const text = csvOfRuns([run({ id: "a", name: "=1+1", tags: ["x", "y"], values: { config: { lr: 0.1 }, summary: { loss: "NaN" } } }), run({ id: "b", name: 'say "hi"', values: { config: { net: { depth: 2 } } } })]);
  const [head, first, second] = text.trimEnd().split("\n");
  expect(head!.split(",").slice(-3)).toEqual(["config.lr", "config.net.depth", "summary.loss"]);
  expect(first).toMatch(/^a,'=1\+1,finished,.*"x, y".*,0\.1,,NaN$/);
  expect(second).toMatch(/^b,"say ""hi""",.*,,2,$/);
});
