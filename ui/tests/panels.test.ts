import { describe, expect, test } from "vitest";
import type { RunBrief } from "../src/api/client";
import { freeId, joinPanels, splitPanels, type Panel } from "../src/panels/address";
import { absence, beyondWords, makeAxis, placeOf, valueAt } from "../src/panels/axis";
import { brushText, filterText, insideOf, rangeText, readBrushes } from "../src/panels/brushing";
import { figuresOf, gather } from "../src/panels/grouping";
import { nearestLine } from "../src/panels/lines";
import { readMarkdown, readSpans } from "../src/panels/markdown";
import { colouring, rampOf } from "../src/panels/ramp";

describe("panels in the address", () => {
  const panels: Panel[] = [
    { id: "1", kind: "scatter", settings: { x: "config.lr", y: "summary.val/loss" } },
    { id: "7", kind: "markdown", settings: { text: "100 % of **it**_\n* one" } },
  ];

  test("come back as they were, and say nothing of what is not set", () => {
    expect(splitPanels(joinPanels(panels))).toEqual(panels);
    expect(joinPanels([{ id: "1", kind: "bars", settings: { of: "rows", by: "" } }])).toBe("1*bars*of_rows");
  });

  test("are left out where they make no sense", () => {
    expect(splitPanels("")).toEqual([]);
    expect(splitPanels("1**2*bars*_x*of_rows**2*bars")).toEqual([{ id: "2", kind: "bars", settings: { of: "rows" } }]);
  });

  test("get an id that none has", () => {
    expect(freeId([])).toBe("1");
    expect(freeId(panels)).toBe("8");
  });
});

describe("an axis", () => {
  test("of what came out is not flattened by one run that diverged, which stands at its end and is said", () => {
    const losses = [1.2, 1.21, 1.25, 1.3, 1.22, 9];
    const axis = makeAxis("summary.loss", losses);
    expect([axis.low, axis.high, axis.beyond, axis.places[5]]).toEqual([1.2, 1.3, 1, 1]);
    expect(beyondWords([axis])).toBe("1 beyond 1.2 – 1.3 in loss, at the end of its axis");
    const [brush] = readBrushes(brushText([{ column: "summary.loss", low: 0.9, high: 1 }], [axis]), [axis]);
    expect([...insideOf([axis], [brush!], 6)]).toEqual([0, 0, 0, 1, 0, 1]);
    expect(filterText([brush!], [axis])).toBe("summary.loss >= 1.293 and summary.loss <= 9.009");
    for (const all of [makeAxis("summary.loss", losses, { scaling: "lin" }), makeAxis("config.loss", losses)]) expect([all.high, all.beyond]).toEqual([9, 0]);
  });

  test("has a place for each number and says what has none", () => {
    const axis = makeAxis("summary.loss", [1, 2, 3, undefined, NaN, Infinity]);
    expect([axis.kind, axis.missing, axis.odd]).toEqual(["number", 1, 2]);
    expect([...axis.places.slice(0, 3)].map((each) => Number(each.toFixed(3)))).toEqual([0.04, 0.5, 0.96]);
    expect(Number.isNaN(axis.places[4])).toBe(true);
    expect(absence([axis])).toBe("1 without loss, 2 with NaN or Inf in loss");
  });

  test("goes by logarithms where most values are crowded at its low end", () => {
    const rates = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3];
    expect(makeAxis("config.lr", rates).kind).toBe("log");
    expect(makeAxis("config.lr", rates).ticks.map((tick) => tick.text)).toContain("1e-4");
    expect(makeAxis("config.dropout", [0.001, 0.3, 0.5, 0.7, 0.99]).kind).toBe("number");
    expect(makeAxis("config.lr", rates, { scaling: "lin" }).kind).toBe("number");
    expect(makeAxis("config.batch", [32, 64, 128, 192, 256]).kind).toBe("number");
  });

  test("of logarithms leaves out what has none, and says so", () => {
    const axis = makeAxis("config.lr", [0, -1, 0.1, 1], { scaling: "log" });
    expect([axis.low, axis.high, axis.below]).toEqual([0.1, 1, 2]);
    expect(absence([axis])).toContain("2 with lr ≤ 0");
  });

  test("of words has them in order, numbers among them too", () => {
    const axis = makeAxis("config.net", ["r50", "swin", 18, undefined, "r101"]);
    expect(axis.words).toEqual(["18", "r50", "r101", "swin"]);
    expect(axis.places[0]).toBe(0.375);
    expect(axis.missing).toBe(1);
  });

  test("of a constant has it in the middle, and one of nothing has no ticks", () => {
    const axis = makeAxis("config.epochs", [50, 50]);
    expect([axis.isConstant, axis.places[0], axis.ticks.map((tick) => tick.text)]).toEqual([true, 0.5, ["50"]]);
    expect(makeAxis("config.none", [undefined]).ticks).toEqual([]);
  });

  test("leads from values to places and back", () => {
    for (const axis of [makeAxis("a", [2, 4]), makeAxis("b", [1, 2, 3, 1000])]) {
      expect(valueAt(axis, placeOf(axis, 3))).toBeCloseTo(3, 9);
    }
  });
});

describe("ranges on axes", () => {
  const rate = makeAxis("config.lr", [1e-4, 2e-4, 3e-4, undefined, 5e-4]);
  const net = makeAxis("config.the net", ["r50", "r101", "swin", "r50", "it's \"x\""]);
  const axes = [rate, net];

  test("hold the runs that lie in all of them; a run without a value lies in none", () => {
    const some = readBrushes("config.lr,0.00015,0.0005", axes);
    expect([...insideOf(axes, some, 5)]).toEqual([0, 1, 1, 0, 1]);
    const both = readBrushes("config.lr,0.00015,0.0005,config.the net,r50,r101", axes);
    expect([...insideOf(axes, both, 5)]).toEqual([0, 1, 0, 0, 0]);
    expect([...insideOf(axes, [], 5)]).toEqual([1, 1, 1, 1, 1]);
  });

  test("are kept as values and mean the same when runs are added", () => {
    const kept = brushText(readBrushes("config.lr,0.0002,0.0003,config.the net,r50,r101", axes), axes);
    expect(kept).toBe("config.lr,0.0002,0.0003,config.the net,r50,r101");
    const more = makeAxis("config.lr", [1e-4, 2e-4, 3e-4, 8e-4]);
    expect([...insideOf([more], readBrushes(kept, [more]), 4)]).toEqual([0, 1, 1, 0]);
  });

  test("that nobody can read, or that are on a constant, are none", () => {
    expect(readBrushes("config.lr,x,y", axes)).toEqual([]);
    expect(readBrushes("config.other,1,2", axes)).toEqual([]);
    expect(readBrushes("config.lr", axes)).toEqual([]);
    expect(readBrushes("config.e,1,2", [makeAxis("config.e", [1, 1])])).toEqual([]);
  });

  test("become the filter that finds the same runs", () => {
    const brushes = readBrushes("config.lr,0.0002,0.0005,config.the net,it's \"x\",r50", axes);
    expect(filterText(brushes, axes)).toBe('config.lr >= 0.0002 and config.lr <= 0.0005 and "config.the net" in ("it\'s \\"x\\"", "r50")');
    const flag = makeAxis("config.amp", ["true", "false"]);
    expect(filterText(readBrushes("config.amp,true,true", [flag]), [flag])).toBe("config.amp = true");
    expect(rangeText(brushes[0]!, rate)).toBe("2e-4 – 5e-4");
  });

  test("leave the line under the pointer to be found, never one that is outside", () => {
    const shape = { axes: [makeAxis("a", [0, 1]), makeAxis("b", [1, 0])], x: (at: number) => at * 100, y: (place: number) => 100 - place * 100, isCurved: true };
    expect(nearestLine(shape, new Uint8Array([1, 1]), 2, 95, 8)).toBe(0);
    expect(nearestLine(shape, new Uint8Array([1, 1]), 98, 95, 8)).toBe(1);
    expect(nearestLine(shape, new Uint8Array([0, 1]), 2, 95, 8)).toBe(-1);
  });
});

describe("text in Markdown", () => {
  test("has the blocks that notes need", () => {
    const blocks = readMarkdown("# Title\n\nOne\ntwo\n\n- a\n- b\n  goes on\n\n1. c\n\n> q\n\n---\n```\n# code\n```");
    expect(blocks.map((block) => block.is)).toEqual(["heading", "paragraph", "list", "list", "quote", "rule", "code"]);
    expect(blocks[2]).toEqual({ is: "list", isNumbered: false, items: [[{ is: "text", text: "a" }], [{ is: "text", text: "b goes on" }]] });
    expect(blocks[6]).toEqual({ is: "code", text: "# code" });
  });

  test("has bold, italic, code and links inside", () => {
    expect(readSpans("a **b *c*** `d**` [e](https://f.g) https://h.i.")).toMatchObject([
      { is: "text", text: "a " },
      { is: "bold", inside: [{ is: "text", text: "b " }, { is: "italic" }] },
      { is: "text", text: " " },
      { is: "code", text: "d**" },
      { is: "text", text: " " },
      { is: "link", href: "https://f.g", text: "e" },
      { is: "text", text: " " },
      { is: "link", href: "https://h.i" },
      { is: "text", text: "." },
    ]);
  });

  test("makes no link that runs something, and no markup of HTML", () => {
    for (const text of ["[a](javascript:alert(1))", "[a](data:text/html,x)", "<img src=x onerror=alert(1)>"]) {
      expect(JSON.stringify(readMarkdown(text))).not.toContain('"link"');
    }
  });
});

describe("runs together", () => {
  const run = (id: string, loss: unknown, net?: string) => ({ id, name: id, started_at: Number(id.slice(1)), state: "finished", values: { "summary.loss": loss, ...(net && { "config.net": net }) } }) as unknown as RunBrief;
  const runs = [run("r1", 3, "a"), run("r2", 1, "a"), run("r3", "NaN", "b"), run("r4", undefined), run("r5", 8, "b")];

  test("have a best, a newest and a mean of what is a number, and say what is none", () => {
    const found = figuresOf(runs, "summary.loss");
    expect([found.least?.id, found.most?.id, found.newest?.id]).toEqual(["r2", "r5", "r5"]);
    expect([found.count, found.mean, found.median, found.missing, found.odd]).toEqual([3, 4, 3, 1, 1]);
    expect(found.std).toBeCloseTo(Math.sqrt(13), 9);
    expect(figuresOf([], "summary.loss")).toMatchObject({ count: 0, least: null, std: 0 });
  });

  test("are gathered by a column as charts gather them, those without it too", () => {
    expect(gather(runs, "config.net").map(({ id, name, runs }) => [id, name, runs.length])).toEqual([
      ['group "a"', "a", 2],
      ['group "b"', "b", 2],
      ["group null", "none", 1],
    ]);
  });

  test("are coloured by themselves, by their group, or by a column; grey is who has nothing there", () => {
    const asked = { column: "", group: "", isDark: false, grey: "grey", colourOf: (id: string) => id };
    expect(colouring(runs, asked).colours[0]).toBe("r1");
    expect(colouring(runs, { ...asked, group: "config.net" }).colours[0]).toBe('group "a"');
    const { colours, axis } = colouring(runs, { ...asked, column: "summary.loss" });
    expect([colours[2], colours[3], axis?.kind]).toEqual(["grey", "grey", "number"]);
    expect(colours[1]).toBe(rampOf(false)[0]);
    expect(colours[4]).toBe(rampOf(false).at(-1));
    expect(new Set(colouring(runs, { ...asked, column: "config.net" }).colours).size).toBe(3);
  });
});
