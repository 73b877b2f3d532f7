/** Takes the orders of a canvas, as far as charts give them, and writes them down as SVG. */

type Look = "fillStyle" | "strokeStyle";

export class SvgContext {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineJoin = "miter";
  lineCap = "butt";
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign = "left";
  textBaseline = "alphabetic";
  #path: string[] = [];
  #dash: number[] = [];
  #parts: string[] = [];
  #clips = 0;
  #open: number[] = [];
  #inside = 0;
  #ruler: CanvasRenderingContext2D;

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {
    this.#ruler = document.createElement("canvas").getContext("2d")!;
  }

  beginPath(): void {
    this.#path = [];
  }

  moveTo(x: number, y: number): void {
    this.#path.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.#path.push(`${this.#path.length ? "L" : "M"}${short(x)} ${short(y)}`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.#path.push(`M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`);
  }

  /** Whole circles only: charts have no others. */
  arc(x: number, y: number, radius: number): void {
    const way = short(2 * radius);
    this.#path.push(`M${short(x - radius)} ${short(y)}a${short(radius)} ${short(radius)} 0 1 0 ${way} 0a${short(radius)} ${short(radius)} 0 1 0 -${way} 0z`);
  }

  stroke(): void {
    if (!this.#path.length) return;
    const dash = this.#dash.length ? ` stroke-dasharray="${this.#dash.join(" ")}"` : "";
    this.#put(`<path d="${this.#path.join("")}" fill="none"${this.#paint("stroke", "strokeStyle")} stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}" stroke-linecap="${this.lineCap}"${dash}/>`);
  }

  fill(): void {
    if (this.#path.length) this.#put(`<path d="${this.#path.join("")}"${this.#paint("fill", "fillStyle")}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.#put(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"${this.#paint("fill", "fillStyle")}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign] ?? "start";
    const middle = this.textBaseline === "middle" ? ' dominant-baseline="central"' : "";
    this.#put(`<text x="${short(x)}" y="${short(y)}" text-anchor="${anchor}"${middle} style="font:${escaped(this.font)}"${this.#paint("fill", "fillStyle")}>${escaped(text)}</text>`);
  }

  measureText(text: string): TextMetrics {
    this.#ruler.font = this.font;
    return this.#ruler.measureText(text);
  }

  setLineDash(dash: number[]): void {
    this.#dash = dash;
  }

  save(): void {
    this.#open.push(this.#inside);
    this.#inside = 0;
  }

  restore(): void {
    this.#parts.push("</g>".repeat(this.#inside));
    this.#inside = this.#open.pop() ?? 0;
  }

  clip(): void {
    const id = `clip${++this.#clips}`;
    this.#parts.push(`<clipPath id="${id}"><path d="${this.#path.join("")}"/></clipPath><g clip-path="url(#${id})">`);
    this.#inside++;
  }

  toString(): string {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.#parts.join("")}</svg>\n`;
  }

  #paint(name: "fill" | "stroke", look: Look): string {
    return ` ${name}="${escaped(this[look])}"${this.globalAlpha < 1 ? ` ${name}-opacity="${short(this.globalAlpha)}"` : ""}`;
  }

  #put(part: string): void {
    this.#parts.push(part);
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]!);
}
