import { expect, test } from "vitest";
import type { Resume } from "../src/api/client";
import { attemptsWords, attemptWords } from "../src/run/attempts";
import { sparkline, tellingMetrics } from "../src/run/figures";
import { readPatch } from "../src/run/patch";

const PATCH = `diff --git a/train.py b/train.py
index 1..2 100644
--- a/train.py
+++ b/train.py
@@ -3,3 +3,4 @@ def step():
 same
-old
+new
+newer
 end
\\ No newline at end of file
diff --git a/data/packing.py b/data/packing.py
new file mode 100644
--- /dev/null
+++ b/data/packing.py
@@ -0,0 +1 @@
+-- only
# not in git, its content is not kept: notes.txt
`;

test("a patch is read as files with the numbers of their lines", () => {
  const [train, packing] = readPatch(PATCH);
  expect([train!.path, train!.added, train!.removed, train!.isNew]).toEqual(["train.py", 2, 1, false]);
  expect(train!.lines.slice(1)).toEqual([
    { kind: "same", before: 3, after: 3, text: "same" },
    { kind: "removed", before: 4, after: null, text: "old" },
    { kind: "added", before: null, after: 4, text: "new" },
    { kind: "added", before: null, after: 5, text: "newer" },
    { kind: "same", before: 5, after: 6, text: "end" },
  ]);
  expect([packing!.path, packing!.isNew, packing!.lines.at(-1)!.text]).toEqual(["data/packing.py", true, "-- only"]);
  expect(readPatch("")).toEqual([]);
});

test("held-out metrics are told before others, losses before scores, and counters never", () => {
  const summary = { "train/loss": 1, "val/loss": 2, "val/accuracy": 0.5, epoch: 3, "perf/tokens": 9, text: "x" };
  expect(tellingMetrics(summary, [...Object.keys(summary), "system/h/cpu"], 4)).toEqual(["val/loss", "val/accuracy", "train/loss", "perf/tokens"]);
});

test("a small line has gaps where there is no number", () => {
  expect(sparkline([0, 1, NaN, 1, 0], 8, 10)).toBe("M0.0 9.0L2.0 1.0M6.0 1.0L8.0 9.0");
  expect(sparkline([5, 5], 8, 10)).toBe("M0.0 5.0L8.0 5.0");
  expect(sparkline([5], 8, 10)).toBe("");
});

test("attempts say from which step they went on, and how many steps were done again", () => {
  const resume = (attempt: number, step: number, more: Partial<Resume> = {}): Resume => ({ attempt, step, at: 0, steps_lost: 0, lost: {}, is_rewind: false, ...more });
  const resumes = [resume(2, 1000, { steps_lost: 190 }), resume(4, 500, { steps_lost: 700, is_rewind: true })];
  expect([1, 2, 3, 4].map((attempt) => attemptWords(attempt, 7440, resumes))).toEqual(["Attempt 1 · 2 h 4 min", "Attempt 2 · from step 1,000 · 2 h 4 min", "Attempt 3 · 2 h 4 min", "Attempt 4 · from step 500 · 2 h 4 min"]);
  expect(attemptsWords(4, 480, resumes)).toBe("4 attempts · 190 steps trained twice · 8 min between them");
  expect(attemptsWords(2, 480, [])).toBe("2 attempts · 8 min between them");
});
