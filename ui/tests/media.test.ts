import { describe, expect, test } from "vitest";
import type { MediaItem } from "../src/api/client";
import { boxesOf, classesOf, masksOf } from "../src/media/about";
import { cellText, shareOf } from "../src/media/cells";
import { isSure, scoreEnds, talliesOf, tallyText, tallyWords } from "../src/media/scores";
import { barsOf, binsOf, matrixOf, seriesOf } from "../src/media/figures";

const DIGEST = "a".repeat(64);

function picture(meta: Record<string, unknown>): MediaItem {
  return { path: `media/${DIGEST}.png`, ext: "png", size: 1, small: "", meta: { width: 200, height: 100, ...meta } as unknown as MediaItem["meta"] };
}

describe("what a picture says of itself", () => {
  test("places boxes by parts, by pixels and by their middle", () => {
    const item = picture({
      boxes: {
        guessed: {
          class_labels: { 1: "cat" },
          box_data: [
            { position: { minX: 0.25, maxX: 0.75, minY: 0, maxY: 0.5 }, class_id: 1, scores: { p: 0.9 } },
            { position: { middle: [100, 50], width: 20, height: 10 }, domain: "pixel", class_id: 2 },
            { position: { minX: 0, maxX: 1, minY: 0, maxY: 1 }, box_caption: "all" },
          ],
        },
      },
    });
    const boxes = boxesOf(item);
    expect(boxes.map(({ left, top, width, height }) => [left, top, width, height])).toEqual([[0.25, 0, 0.5, 0.5], [0.45, 0.45, 0.1, 0.1], [0, 0, 1, 1]]);
    expect(boxes.map(({ words, score, of }) => [words, score, of.name])).toEqual([["cat 0.90", 0.9, "cat"], ["class 2", null, "class 2"], ["all", null, "guessed"]]);
    expect(classesOf(item).map((each) => each.id)).toEqual(["guessed/1", "guessed/2", "guessed/-1"]);
  });

  test("is left out where it makes no sense, and never leads elsewhere", () => {
    for (const boxes of [null, 3, [], { a: 1 }, { a: { box_data: 2 } }, { a: { box_data: [null, { position: { minX: "0" } }, { position: { middle: [1] } }] } }]) expect(boxesOf(picture({ boxes }))).toEqual([]);
    const masks = { good: { path: `media/${DIGEST}.png`, class_labels: { 0: "none", 1: "cat", x: "?" } }, far: { path: "../secrets" }, web: { path: "https://evil/x.png" }, none: 4 };
    expect(masksOf(picture({ masks })).map((mask) => [mask.set, mask.classes.map((each) => each.name)])).toEqual([["good", ["cat"]]]);
  });
});

describe("scores of boxes", () => {
  function found(...scores: (number | null)[]) {
    const position = { minX: 0, maxX: 1, minY: 0, maxY: 1 };
    return boxesOf(picture({ boxes: { guessed: { class_labels: { 1: "cat" }, box_data: scores.map((score) => ({ position, class_id: 1, ...(score !== null && { scores: { p: score } }) })) } } }));
  }
  const told = (boxes: ReturnType<typeof found>, least = -Infinity) => [...talliesOf(boxes, least).values()].map((tally) => [tallyText(tally), tallyWords(tally)]);

  test("stand beside their class, from the lowest to the highest", () => {
    expect(told(found(0.91))).toEqual([["0.91", "1 box, score 0.91"]]);
    expect(told(found(0.97, 0.58))).toEqual([["2 · 0.58 – 0.97", "2 boxes, score 0.58 to 0.97"]]);
    expect(told(found(0.501, 0.499))).toEqual([["2 · 0.50", "2 boxes, score 0.50"]]);
    expect(told(found(null, null))).toEqual([["2", "2 boxes"]]);
    expect(told(found(null, 0.4))).toEqual([["2 · 0.40", "2 boxes, score 0.40"]]);
  });

  test("hide boxes below a least one, but none that has no score", () => {
    expect(found(0.97, 0.58, null).map((box) => isSure(box, 0.6))).toEqual([true, false, true]);
    expect(told(found(0.97, 0.58), 0.6)).toEqual([["1 of 2 · 0.58 – 0.97", "1 of 2 boxes, score 0.58 to 0.97"]]);
    expect(told(found(0.2), 0.6)).toEqual([["0 of 1 · 0.20", "0 of 1 box, score 0.20"]]);
  });

  test("have ends that hide none at first, whatever they are measured in", () => {
    expect(scoreEnds(found(0.2, 0.9))).toEqual({ low: 0, high: 1, step: 0.01 });
    expect(scoreEnds(found(12.5, 87.33))).toEqual({ low: 0, high: 87.4, step: 0.1 });
    expect(scoreEnds(found(-3.21))).toEqual({ low: -3.21, high: 1, step: 0.01 });
    expect(scoreEnds(found(null))).toBeNull();
    expect(told(found(-3.21))).toEqual([["−3.21", "1 box, score −3.21"]]);
  });
});

describe("cells of tables", () => {
  test("have a bar from the least number of their column to the largest, but none for what is no number", () => {
    expect([-1, 0, 0.5, 3, 9, -9].map((cell) => shareOf(cell, [-1, 3]))).toEqual([0, 0.25, 0.375, 1, 1, 0]);
    expect([null, "nan", "3", NaN, true].map((cell) => shareOf(cell, [-1, 3]))).toEqual([null, null, null, null, null]);
    expect([shareOf(7, [7, 7]), shareOf(7, undefined)]).toEqual([null, null]);
    expect(shareOf(0, [-1.7e308, 1.7e308])).toBe(0.5);
  });

  test("say what is no number as all of the page does", () => {
    expect(["nan", "inf", "-inf", 0.25, null].map((cell) => cellText(cell, "number"))).toEqual(["NaN", "Inf", "−Inf", "0.25", "–"]);
    expect(["nan", "toString", { a: 1 }, true].map((cell) => cellText(cell, "text"))).toEqual(["nan", "toString", '{"a":1}', "true"]);
  });
});

describe("figures of tables", () => {
  test("are made of the rows that have numbers", () => {
    const rows = [[0, 1, "a"], [1, "NaN", "a"], [2, 3, "b"], [null, 3, "b"]];
    expect(seriesOf(rows, ["x", "y", "of"], { x: "x", y: "y", series: "of" })).toEqual([{ name: "a", points: [[0, 1]] }, { name: "b", points: [[2, 3]] }]);
    expect(seriesOf(rows, ["x", "y", "of"], { x: "gone", y: "y" })).toEqual([]);
    expect(barsOf([["cat", 2], ["dog", null]], ["name", "count"], { label: "name", value: "count" })).toEqual([{ name: "cat", value: 2 }]);
    expect(binsOf([["x"]], ["v"], { value: "v" })).toBeNull();
    const bins = binsOf(Array.from({ length: 100 }, (_, at) => [at]), ["v"], { value: "v" })!;
    expect([bins.low, bins.high, bins.counts.reduce((sum, each) => sum + each, 0)]).toEqual([0, 99, 100]);
    expect(binsOf([[5], [5]], ["v"], { value: "v" })).toMatchObject({ low: 5, high: 6 });
  });

  test("count who was taken for whom", () => {
    const rows = [["cat", "cat", 3], ["cat", "dog", 1], ["dog", "dog", 2]];
    expect(matrixOf(rows, ["is", "said", "n"], { actual: "is", predicted: "said", count: "n" })).toEqual({ rows: ["cat", "dog"], columns: ["cat", "dog"], counts: [[3, 1], [0, 2]] });
  });
});
