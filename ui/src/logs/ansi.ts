/**
 * Reads the colours in a terminal's text. What comes out is text with a look, never markup: whatever a program prints
 * stays words on the page. Every other sequence is passed over.
 */
export interface Look {
  /** 0–15 of the palette, or "#rrggbb". */
  colour?: number | string;
  ground?: number | string;
  isBold?: boolean;
  isDim?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isStruck?: boolean;
  isInverse?: boolean;
}

export interface Piece {
  text: string;
  look: Look;
  /** Part of what was searched for. */
  isHit?: boolean;
}

const ESCAPE = "\x1b";
// A control sequence; a string for the terminal itself, such as its title; another escape; a control character.
const SEQUENCE = /\x1b\[([0-9;:]*)([ -/]*[@-~])|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

export function parse(text: string): Piece[] {
  const pieces: Piece[] = [];
  let look: Look = {};
  let from = 0;
  const add = (to: number) => {
    if (to > from) pieces.push({ text: text.slice(from, to).replaceAll("\n", " "), look });
  };
  for (const found of text.matchAll(SEQUENCE)) {
    add(found.index);
    from = found.index + found[0].length;
    if (found[2] === "m") look = changed(look, found[1]!);
  }
  add(text.length);
  return pieces;
}

/** The text without what only a terminal understands. */
export function plain(text: string): string {
  return /[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(text) ? text.replace(SEQUENCE, "") : text;
}

export function hasColours(text: string): boolean {
  return text.includes(ESCAPE);
}

function changed(before: Look, words: string): Look {
  const numbers = words.split(/[;:]/).map((word) => (word === "" ? 0 : Number(word)));
  let look = { ...before };
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at]!;
    if (code === 38 || code === 48) {
      const { value, used } = extended(numbers, at + 1);
      if (value !== undefined) look = { ...look, [code === 38 ? "colour" : "ground"]: value };
      at += used;
    } else look = withCode(look, code);
  }
  return look;
}

const FLAGS: Record<number, Look> = {
  1: { isBold: true }, 2: { isDim: true }, 3: { isItalic: true }, 4: { isUnderlined: true }, 7: { isInverse: true }, 9: { isStruck: true },
  22: { isBold: false, isDim: false }, 23: { isItalic: false }, 24: { isUnderlined: false }, 27: { isInverse: false }, 29: { isStruck: false },
};

function withCode(look: Look, code: number): Look {
  if (code === 0) return {};
  if (code in FLAGS) return { ...look, ...FLAGS[code] };
  if (code >= 30 && code <= 37) return { ...look, colour: code - 30 };
  if (code >= 90 && code <= 97) return { ...look, colour: code - 82 };
  if (code >= 40 && code <= 47) return { ...look, ground: code - 40 };
  if (code >= 100 && code <= 107) return { ...look, ground: code - 92 };
  if (code !== 39 && code !== 49) return look;
  const { colour, ground, ...rest } = look;
  return code === 39 ? { ...rest, ...(ground !== undefined && { ground }) } : { ...rest, ...(colour !== undefined && { colour }) };
}

function extended(numbers: number[], at: number): { value?: number | string; used: number } {
  if (numbers[at] === 5) return { value: fromPalette(numbers[at + 1] ?? 0), used: 2 };
  if (numbers[at] !== 2) return { used: 1 };
  return { value: hex([numbers[at + 1], numbers[at + 2], numbers[at + 3]]), used: 4 };
}

function hex(parts: (number | undefined)[]): string {
  return "#" + parts.map((part) => Math.max(0, Math.min(255, part || 0)).toString(16).padStart(2, "0")).join("");
}

function fromPalette(number: number): number | string {
  if (number < 16) return Math.max(0, number);
  if (number >= 232) return hex(Array(3).fill(8 + (Math.min(255, number) - 232) * 10) as number[]);
  const level = (at: number) => [0, 95, 135, 175, 215, 255][at % 6]!;
  const cube = number - 16;
  return hex([level(Math.floor(cube / 36)), level(Math.floor(cube / 6)), level(cube)]);
}

/** Cut pieces where what was searched for begins and ends; letters of either case are the same. */
export function withHits(pieces: Piece[], search: string): Piece[] {
  if (!search) return pieces;
  const whole = pieces.map((piece) => piece.text).join("").toLowerCase();
  const wanted = search.toLowerCase();
  const edges: [number, number][] = [];
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + wanted.length)) edges.push([at, at + wanted.length]);
  if (!edges.length) return pieces;
  const found: Piece[] = [];
  let start = 0;
  for (const piece of pieces) {
    const end = start + piece.text.length;
    let at = start;
    for (const [low, high] of edges) {
      if (high <= at || low >= end) continue;
      if (low > at) found.push({ ...piece, text: piece.text.slice(at - start, low - start) });
      const from = Math.max(low, at);
      const to = Math.min(high, end);
      found.push({ ...piece, text: piece.text.slice(from - start, to - start), isHit: true });
      at = to;
    }
    if (at < end) found.push({ ...piece, text: piece.text.slice(at - start) });
    start = end;
  }
  return found;
}

/** What a line without colours of its own says by its words. */
export function toneOf(text: string): "" | "warn" | "death" {
  if (/\b(error|exception|traceback|fatal|critical)\b/i.test(text) || /^[\w.]*(Error|Exception)\b/.test(text)) return "death";
  return /\bwarn(ing)?\b/i.test(text) || /\b\w+Warning:/.test(text) ? "warn" : "";
}
