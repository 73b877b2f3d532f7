import { describe, expect, test } from "vitest";
import { parse, plain, toneOf, withHits } from "../src/logs/ansi";

describe("a terminal's text", () => {
  test("has looks, and ends them", () => {
    expect(parse("\x1b[1;32mgood\x1b[0m plain")).toEqual([
      { text: "good", look: { isBold: true, colour: 2 } },
      { text: " plain", look: {} },
    ]);
  });

  test("has colours of all three kinds", () => {
    const look = (codes: string) => parse(`\x1b[${codes}mx`)[0]!.look;
    expect(look("91")).toEqual({ colour: 9 });
    expect(look("38;5;208")).toEqual({ colour: "#ff8700" });
    expect(look("48;2;1;2;300")).toEqual({ ground: "#0102ff" });
    expect(look("31;44;39")).toEqual({ ground: 4 });
  });

  test.each([
    "\x1b]0;a title\x07", "\x1b]8;;javascript:alert(1)\x07", "\x1b[2K", "\x1b[?25l", "\x1bP1$r\x1b\\", "\x00\x08\x7f\x9b", "\x1b[",
  ])("loses the sequence %j, and nothing beside it", (sequence) => {
    expect(plain(`before${sequence}`)).toBe("before");
    expect(parse(`before${sequence}`).map((piece) => piece.text).join("")).toBe("before");
  });

  test("stays text where it looks like markup", () => {
    expect(parse("<script>alert(1)</script>")).toEqual([{ text: "<script>alert(1)</script>", look: {} }]);
  });
});

test("a hit is found across a change of colour, in either case", () => {
  const pieces = withHits(parse("a \x1b[31mNee\x1b[0mdle b"), "needle");
  expect(pieces.filter((piece) => piece.isHit).map((piece) => piece.text)).toEqual(["Nee", "dle"]);
  expect(pieces.map((piece) => piece.text).join("")).toBe("a Needle b");
});

test("lines say their tone by their words", () => {
  expect(toneOf("ValueError: boom")).toBe("death");
  expect(toneOf("torch.OutOfMemoryError: CUDA out of memory")).toBe("death");
  expect(toneOf("train.py:3: UserWarning: slow")).toBe("warn");
  expect(toneOf("WARNING: slow")).toBe("warn");
  expect(toneOf("terror of errors")).toBe("");
});
