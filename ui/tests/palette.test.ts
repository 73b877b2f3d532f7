import { describe, expect, test } from "vitest";
import { DARK, LIGHT, slotColour } from "../src/chart/palette";
import { contrast, distance, seenAs, SIGHTS } from "../src/chart/vision";

/** Oklab; about 0.02 is what people just see side by side. Okabe and Ito's palette has 0.076. */
const LEAST = 0.1;
const LEAST_ALL_CONES = 0.15;
const GROUNDS = { light: ["#ffffff"], dark: ["#14171d", "#1b1f27"] };

describe.each([["light", LIGHT], ["dark", DARK]] as const)("the %s palette", (name, palette) => {
  test.each(SIGHTS)("is told apart with: $title", ({ sight }) => {
    const found = palette.flatMap((one, at) => palette.slice(at + 1).map((other) => [distance(one, other, sight), one, other]));
    const [least] = found.sort(([one], [other]) => Number(one) - Number(other));
    expect(least![0], `${least![1]} and ${least![2]}`).toBeGreaterThan(sight === "all" ? LEAST_ALL_CONES : LEAST);
  });

  test.each(palette)("%s stands out at 3:1", (colour) => {
    for (const ground of GROUNDS[name]) expect(contrast(colour, ground)).toBeGreaterThanOrEqual(3);
  });
});

test("the measure is right for what is known", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21, 6);
  expect(distance("#000000", "#ffffff", "all")).toBeCloseTo(1, 3);
  expect(distance("#ff0000", "#00ff00", "all")).toBeGreaterThan(5 * distance("#b06000", "#8a7a00", "no-green"));
  // Grey is grey to everybody.
  for (const { sight } of SIGHTS) expect(seenAs("#808080", sight)).toBe("#808080");
  // Without red cones red is a dark brown: Machado's own figure for it.
  expect(seenAs("#ff0000", "no-red")).toBe("#6d5f00");
});

test("when the colours are used up they come again", () => {
  expect(slotColour(LIGHT.length, false)).toBe(LIGHT[0]);
  expect(slotColour(LIGHT.length + 1, true)).toBe(DARK[1]);
});
