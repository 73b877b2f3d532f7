"""Figures of Plotly: the library that draws them, if this server has it, and the frame in which it may do so."""

import importlib.util
import os
from functools import cache

from holter.errors import Refused
from holter.server.api.files import FRAMED
from holter.server.transport.routing import Nothing, Reply, Route, Visit

LIBRARY = os.path.join("package_data", "plotly.min.js")
# What was logged comes as data, and only the library is run; the frame has no origin and no network in any case.
FRAME = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Figure</title>
<style>html, body, #figure { width: 100%; height: 100%; margin: 0; background: #fff; font: 13px sans-serif }</style>
<div id="figure"></div>
<script>
addEventListener("message", async ({ data, source, ports: [port] }) => {
  if (source !== parent || window.Plotly) return;
  try {
    document.head.append(Object.assign(document.createElement("script"), { textContent: data.library }));
    const { data: traces = [], layout = {}, config = {} } = JSON.parse(data.figure);
    delete layout.width;
    delete layout.height;
    const set = { ...config, responsive: true, displaylogo: false };
    // Plotly's own margins are made for a page: here they would be half of the figure.
    const margin = { l: 48, r: 16, t: layout.title ? 48 : 16, b: 40, ...layout.margin };
    await Plotly.newPlot("figure", traces, { ...layout, margin, autosize: true }, set);
    port.postMessage("");
  } catch (error) {
    port.postMessage(String(error).slice(0, 500));
  }
});
</script></html>
"""


def figure_library(visit: Visit, asked: Nothing) -> Reply:
    """Plotly's script, where plotly is installed beside the server"""
    path = _path()
    if path is None:
        raise Refused(404, "plotly is not installed where this server runs", do="pip install plotly there")
    with open(path, "rb") as file:
        data = file.read()
    return Reply(data=data, media="text/javascript", headers={"cache-control": "private, max-age=3600"})


def figure_frame(visit: Visit, asked: Nothing) -> Reply:
    """A page for one frame: told a library and a figure by a message, it draws it"""
    return Reply(data=FRAME, media="text/html; charset=utf-8", headers={"content-security-policy": FRAMED})


@cache
def _path() -> str | None:
    spec = importlib.util.find_spec("plotly")
    places = [os.path.join(folder, LIBRARY) for folder in (spec and spec.submodule_search_locations) or ()]
    return next(filter(os.path.isfile, places), None)


ROUTES = [
    Route(
        method="GET",
        path="/figures/plotly.js",
        touches="server",
        answer=figure_library,
        result=bytes,
        media="text/javascript",
    ),
    Route(method="GET", path="/figures/frame", touches="server", answer=figure_frame, result=bytes, media="text/html"),
]
