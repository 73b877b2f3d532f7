import { describe, expect, it } from "vitest";
import { asEdits, changesBetween, inWords, settingsOf, withChanges } from "../src/workspace/settings";
import { Undo } from "../src/workspace/undo";

describe("settings", () => {
  it("are all that the address has but for what is of the moment", () => {
    const query = new URLSearchParams("view=abc&q=lr > 1&row=7&select=a,b&from=1&to=2&table=300&panels=new&hide=a&hide=b");
    expect(settingsOf(query)).toEqual({ q: "lr > 1", panels: "new", hide: "a,b" });
  });

  it("differ by what came, went and changed", () => {
    const before = { q: "a", sort: "name", x: "time" };
    const after = { q: "b", x: "time", group: "lr" };
    const changes = changesBetween(before, after);
    expect(changes).toEqual({ q: "b", sort: null, group: "lr" });
    expect(withChanges(before, changes)).toEqual(after);
  });

  it("are kept as what differs from the view", () => {
    const view = { sort: "name", x: "time" };
    const edits = asEdits({ sort: null, x: "time", group: "lr", q: null }, view);
    expect(edits).toEqual({ sort: "", x: null, group: "lr", q: null });
    expect(withChanges(view, { sort: "", group: "lr" })).toEqual({ x: "time", group: "lr" });
  });

  it("are named for people", () => {
    expect(inWords(["smooth"])).toBe("smoothing");
    expect(inWords(["smooth", "cols"])).toBe("columns and smoothing");
    expect(inWords(["a", "b", "c", "d"])).toBe("a, b and 2 more");
  });
});

describe("undo", () => {
  it("goes back and forward, and forgets what was undone with the next change", () => {
    const undo = new Undo();
    undo.note({}, { sort: "name" }, 0);
    undo.note({ sort: "name" }, { sort: "id" }, 5000);
    expect(undo.back()).toEqual({ sort: "name" });
    expect(undo.back()).toEqual({ sort: null });
    expect(undo.back()).toBeNull();
    expect(undo.forward()).toEqual({ sort: "name" });
    undo.note({ sort: "name" }, { x: "time" }, 9000);
    expect(undo.forward()).toBeNull();
    expect(undo.back()).toEqual({ x: null });
  });

  it("takes what is typed in one go as one step", () => {
    const undo = new Undo();
    undo.note({}, { q: "l" }, 0);
    undo.note({ q: "l" }, { q: "lr" }, 300);
    undo.note({ q: "lr" }, { q: "lr >" }, 600);
    expect(undo.back()).toEqual({ q: null });
    expect(undo.forward()).toEqual({ q: "lr >" });
  });
});
