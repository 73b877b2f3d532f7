/** A chart to take along: as a picture with its title and legend, or every point of it as CSV. */
import { apiUrl } from "../api/client";
import type { Line } from "../chart/line";
import { dot, paintOn, readInk, type Size } from "../chart/painter";
import { joinNames } from "../api/names";
import type { Look } from "../workspace/look";
import { SvgContext } from "./svg";

export interface Picture {
  title: string;
  lines: Line[];
  look: Look;
  kept: ReadonlySet<string>;
}

export const SIZES: Record<string, Size> = {
  "1600 × 900": { width: 1600, height: 900 },
  "1200 × 1200": { width: 1200, height: 1200 },
  "3200 × 1800": { width: 3200, height: 1800 },
};
/** Pixels for each unit, so that words are large enough on a slide. */
const SCALE = 2;
const [EDGE, TITLE, ROW, GAP] = [16, 30, 18, 18];
const MOST_NAMED = 40;

export function savePicture(kind: "png" | "svg", picture: Picture, size: Size = SIZES["1600 × 900"]!): void {
  const name = `${fileName(picture.title)}.${kind}`;
  const inner = { width: size.width / SCALE, height: size.height / SCALE };
  if (kind === "svg") {
    const written = new SvgContext(inner.width, inner.height);
    compose(written as unknown as CanvasRenderingContext2D, picture, inner);
    save(new Blob([written.toString()], { type: "image/svg+xml" }), name);
    return;
  }
  const canvas = Object.assign(document.createElement("canvas"), size);
  const context = canvas.getContext("2d")!;
  context.scale(SCALE, SCALE);
  compose(context, picture, inner);
  canvas.toBlob((blob) => blob && save(blob, name));
}

/** The server sends it piece by piece: all points, however many, or a download that the browser calls broken. */
export function saveCsv(look: Look, runs: string[]): void {
  const name = fileName(look.metrics.join(", "));
  click(apiUrl("series.csv", { runs: runs.join(","), keys: joinNames(look.metrics), name }), `${name}.csv`);
}

function fileName(title: string): string {
  return title.replaceAll("/", "-").slice(0, 150);
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  click(url, name);
  // The browser has begun to read it by the next turn.
  setTimeout(() => URL.revokeObjectURL(url));
}

function click(href: string, download: string): void {
  const link = Object.assign(document.createElement("a"), { href, download });
  document.body.append(link);
  link.click();
  link.remove();
}

interface Entry {
  name: string;
  colour: string;
  shape: number;
}

/** Title above, lines in the middle, names below; the chart itself is drawn where it is alone, at the upper left. */
function compose(context: CanvasRenderingContext2D, { title, lines, look, kept }: Picture, size: Size): void {
  const ink = readInk();
  const style = getComputedStyle(document.documentElement);
  const [sans, text] = [style.getPropertyValue("--sans").trim(), style.getPropertyValue("--text").trim()];
  context.fillStyle = ink.ground;
  context.fillRect(0, 0, size.width, size.height);
  context.font = `11px ${sans}`;
  const rows = legendRows(context, entriesOf(lines), size.width - 2 * EDGE);
  const height = size.height - rows.length * ROW - EDGE / 2;
  const { xKind, isLog, zoom, low, high, isRobust, hasLabels } = look;
  // The room for the title is taken from the chart by an upper edge that lies lower.
  paintOn(context, { lines, xKind, yKind: "number", isLog, zoom, low, high, robust: isRobust ? kept : null, hasLabels, limits: [], moments: [], ticks: [], top: TITLE }, ink, { width: size.width - EDGE / 2, height });
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = text;
  context.font = `600 14px ${sans}`;
  context.fillText(title, EDGE, 20);
  context.font = `11px ${sans}`;
  for (const [at, row] of rows.entries()) {
    let left = EDGE;
    for (const { name, colour, shape, width } of row) {
      const y = height + at * ROW + 10;
      context.fillStyle = context.strokeStyle = colour;
      context.fillRect(left, y - 4.5, 14, 2);
      if (shape) {
        context.beginPath();
        dot(context, left + 7, y - 3.5, shape);
        context.fill();
      }
      context.fillStyle = text;
      context.fillText(name, left + 20, y);
      left += width;
    }
  }
}

function entriesOf(lines: Line[]): Entry[] {
  const named = lines.slice(0, MOST_NAMED).map((line) => ({ name: line.metric ? `${line.metric} · ${line.name}` : line.name, colour: line.colour, shape: line.shape ?? 0 }));
  return lines.length > MOST_NAMED ? [...named, { name: `and ${lines.length - MOST_NAMED} more`, colour: "transparent", shape: 0 }] : named;
}

function legendRows(context: CanvasRenderingContext2D, entries: Entry[], room: number): (Entry & { width: number })[][] {
  const rows: (Entry & { width: number })[][] = [];
  let left = Infinity;
  for (const entry of entries) {
    const width = 20 + context.measureText(entry.name).width + GAP;
    if (left + width > room) {
      rows.push([]);
      left = 0;
    }
    rows.at(-1)!.push({ ...entry, width });
    left += width;
  }
  return rows;
}
