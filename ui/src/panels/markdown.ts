/**
 * The little of Markdown that notes need, as a tree and never as HTML: headings, lists, quotes, code, rules, **bold**, *italic*,
 * `code` and links. Whatever is none of these stays the text that it is. Pure.
 */
export type Span =
  | { is: "text" | "code"; text: string }
  | { is: "bold" | "italic"; inside: Span[] }
  | { is: "link"; href: string; text: string };

export type Block =
  | { is: "heading"; level: number; inside: Span[] }
  | { is: "paragraph" | "quote"; inside: Span[] }
  | { is: "list"; isNumbered: boolean; items: Span[][] }
  | { is: "code"; text: string }
  | { is: "rule" };

const ITEM = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/;
const FENCE = /^\s{0,3}(```|~~~)/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;

export function readMarkdown(text: string): Block[] {
  const lines = text.replaceAll("\r", "").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const heading = HEADING.exec(line);
    const fence = FENCE.exec(line);
    if (!line.trim()) at++;
    else if (fence) {
      const end = lines.findIndex((each, index) => index > at && each.trim().startsWith(fence[1]!));
      blocks.push({ is: "code", text: lines.slice(at + 1, end < 0 ? undefined : end).join("\n") });
      at = end < 0 ? lines.length : end + 1;
    } else if (heading) {
      blocks.push({ is: "heading", level: heading[1]!.length, inside: readSpans(heading[2]!) });
      at++;
    } else if (RULE.test(line)) {
      blocks.push({ is: "rule" });
      at++;
    } else {
      const end = endOfBlock(lines, at);
      blocks.push(blockOf(lines.slice(at, end)));
      at = end;
    }
  }
  return blocks;
}

/** Lines that belong together: items of one list, lines of a quote, or of a paragraph. */
function endOfBlock(lines: string[], start: number): number {
  const kindOf = (line: string) => (ITEM.test(line) ? "item" : /^\s{0,3}>/.test(line) ? "quote" : "text");
  const kind = kindOf(lines[start]!);
  let at = start + 1;
  while (at < lines.length && lines[at]!.trim() && !HEADING.test(lines[at]!) && !FENCE.test(lines[at]!)) {
    const next = kindOf(lines[at]!);
    // A line that goes on belongs to the item before it.
    if (next !== kind && !(kind === "item" && next === "text")) break;
    at++;
  }
  return at;
}

function blockOf(lines: string[]): Block {
  const first = ITEM.exec(lines[0]!);
  if (first) {
    const items: string[] = [];
    for (const line of lines) {
      const item = ITEM.exec(line);
      if (item) items.push(item[2]!);
      else items.push(`${items.pop()} ${line.trim()}`);
    }
    return { is: "list", isNumbered: first[1] !== undefined, items: items.map(readSpans) };
  }
  if (/^\s{0,3}>/.test(lines[0]!)) return { is: "quote", inside: readSpans(lines.map((line) => line.replace(/^\s*>\s?/, "")).join("\n")) };
  return { is: "paragraph", inside: readSpans(lines.join("\n")) };
}

const MARKS = /`([^`]+)`|\*\*(?=\S)(.+?)(?<=\S)\*\*(?!\*)|\*(?=\S)([^*]+?)(?<=\S)\*|\[([^\]\n]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?])/s;

export function readSpans(text: string): Span[] {
  const found = MARKS.exec(text);
  if (!found) return text ? [{ is: "text", text }] : [];
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  return [...(before ? [{ is: "text" as const, text: before }] : []), spanOf(found), ...readSpans(after)];
}

function spanOf([whole, code, bold, italic, label, target, address]: RegExpExecArray): Span {
  if (code !== undefined) return { is: "code", text: code };
  if (bold !== undefined) return { is: "bold", inside: readSpans(bold) };
  if (italic !== undefined) return { is: "italic", inside: readSpans(italic) };
  const href = address ?? target!;
  if (!isSafe(href)) return { is: "text", text: whole };
  return { is: "link", href, text: address ?? label! };
}

/** To the web or by mail, and nothing that would run here. */
function isSafe(href: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(href);
}
