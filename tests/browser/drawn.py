"""What charts have drawn: every stroke, fill and word on their canvases since they were last cleared."""

from typing import Any

from playwright.sync_api import Page

SPY = """
(() => {
  const ours = CanvasRenderingContext2D.prototype;
  const notes = (context) => (context.canvas.drawn ??= []);
  const spy = (name, note) => {
    const original = ours[name];
    ours[name] = function (...words) {
      note(this, ...words);
      return original.apply(this, words);
    };
  };
  const look = (context, how, style) => ({
    how, style, alpha: context.globalAlpha, dash: context.getLineDash(), path: context.canvas.path ?? [],
  });
  spy("clearRect", (context) => (context.canvas.drawn = []));
  spy("beginPath", (context) => (context.canvas.path = []));
  spy("moveTo", (context, x, y) => context.canvas.path?.push([x, y]));
  spy("lineTo", (context, x, y) => context.canvas.path?.push([x, y]));
  spy("stroke", (context) => notes(context).push(look(context, "stroke", context.strokeStyle)));
  spy("fill", (context) => notes(context).push(look(context, "fill", context.fillStyle)));
  spy("fillText", (context, text, x, y) => notes(context).push({how: "text", text, x, y}));
})();
"""
DRAWN = """
(title) => {
  const titles = [...document.querySelectorAll("h2, h3")].filter((each) => each.textContent.trim() === title);
  return titles.map((each) => each.closest("article, section").querySelector("canvas")).filter(Boolean)[0]?.drawn ?? [];
}
"""


def drawn(page: Page, title: str, how: str) -> list[dict[str, Any]]:
    """The strokes, fills or texts of the chart with a title. The page must have been opened with SPY."""
    return [each for each in page.evaluate(DRAWN, title) if each["how"] == how]


def words(page: Page, title: str) -> list[str]:
    return [each["text"] for each in drawn(page, title, "text")]


def token(page: Page, name: str) -> str:
    """A colour of the theme."""
    found: str = page.evaluate("name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()", name)
    return found
