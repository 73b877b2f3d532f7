import { describe, expect, test } from "vitest";
import type { MediaItem } from "../src/api/client";
import { boxesOf, classesOf, masksOf } from "../src/media/about";
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
