/** Filters as text: what is a word to search for, what a condition, and what could come next. Pure. */

const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|!=|!~|<=|>=|[=<>~(),]|[^\s"'=!<>~(),]+|!/g;
const QUOTED = /"[^"]*"?|'[^']*'?/g;
export const OPERATORS: Record<string, string> = {
  "=": "is", "!=": "is not", ">": "greater than", ">=": "at least", "<": "less than", "<=": "at most", "~": "contains", "!~": "does not contain",
};
const MOST_OPTIONS = 8;

/** Whether something is compared: else it is words to search for. */
export function isFilter(text: string): boolean {
  return /[=<>~]|\s(not\s+)?in\s*\(/i.test(text.replace(QUOTED, " "));
}

/** Words as the server searches for them, each by itself; what stands in quotes is one. */
export function searchFilter(text: string): string {
  const words = [...text.matchAll(/"([^"]*)"?|(\S+)/g)].map((found) => found[1] ?? found[2] ?? "").filter(Boolean);
  return words.map((word) => JSON.stringify(word)).join(" and ");
}

/** Conditions that must all hold, as text. */
export function joinFilters(parts: string[]): string {
  const kept = parts.filter((part) => part.trim());
  return kept.length < 2 ? (kept[0] ?? "") : kept.map((part) => (placesOf("or", part).length ? `(${part})` : part)).join(" and ");
}

/** The conditions of a filter that must all hold, each as text; one that has an "or" is one. */
export function splitFilter(text: string): string[] {
  const cuts = placesOf("or", text).length ? [] : placesOf("and", text);
  const starts = [0, ...cuts.map((at) => at + "and".length)];
  return starts.map((start, at) => unwrapped(text.slice(start, cuts[at] ?? text.length).trim())).filter(Boolean);
}

/** Where a word stands outside of brackets. */
function placesOf(word: string, text: string): number[] {
  let depth = 0;
  const found: number[] = [];
  for (const token of text.matchAll(TOKEN)) {
    if (token[0] === "(") depth++;
    else if (token[0] === ")") depth--;
    else if (depth === 0 && token[0].toLowerCase() === word) found.push(token.index);
  }
  return found;
}

/** Without the brackets around all of it. */
function unwrapped(text: string): string {
  if (!text.startsWith("(") || !text.endsWith(")")) return text;
  let depth = 0;
  for (const token of text.matchAll(TOKEN)) {
    if (token[0] === "(") depth++;
    else if (token[0] === ")" && --depth === 0 && token.index < text.length - 1) return text;
  }
  return text.slice(1, -1).trim();
}

/** A field beside a value, as people would write it. */
export function condition(field: string, value: unknown): string {
  return `${fieldText(field)} = ${valueText(value)}`;
}

export function fieldText(field: string): string {
  return /^[\w./@%+-]+$/.test(field) ? field : JSON.stringify(field);
}

/** Text that looks like a number, or like a word of the language, is in quotes. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value === "Infinity" || value === "-Infinity") return value.replace("inity", "").toLowerCase();
  if (typeof value === "number") return String(value);
  const text = String(value);
  const isPlain = /^[a-z][\w./@-]*$/i.test(text) && !/^(and|or|not|in|null|true|false|nan|inf)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}

export interface Suggestion {
  /** Where what is being typed begins. */
  at: number;
  kind: "field" | "operator" | "value";
  /** Of a value. */
  field: string;
  operator: string;
  /** What is typed of it so far, in small letters. */
  begun: string;
}

/** What could come next behind a text. */
export function nextOf(text: string): Suggestion {
  const tokens = [...text.matchAll(TOKEN)].map((found) => ({ text: found[0], at: found.index }));
  const isOpen = tokens.length > 0 && !/\s$/.test(text);
  const last = tokens.at(-1);
  const isSign = last !== undefined && last.text in OPERATORS;
  const begun = isOpen && last && !isSign && !/^[(),]$/.test(last.text) ? last : null;
  const before = begun ? tokens.slice(0, -1) : tokens;
  const [sign, field] = [before.at(-1)?.text ?? "", before.at(-2)?.text ?? ""];
  const typed = { at: begun?.at ?? text.length, begun: (begun?.text ?? "").replace(/^["']|["']$/g, "").toLowerCase() };
  if (sign in OPERATORS) return { ...typed, kind: "value", field: field.replace(/^["']|["']$/g, ""), operator: sign };
  const isField = sign !== "" && !/^(and|or|not|[(),])$/i.test(sign);
  return { ...typed, kind: isField && !begun ? "operator" : "field", field: isField ? sign : "", operator: "" };
}

/** The names that what is typed could become: those that begin so first. */
export function matching(names: string[], begun: string): string[] {
  const rank = (name: string) => {
    const low = name.toLowerCase();
    return low.startsWith(begun) || low.replace(/^(config|summary)\./, "").startsWith(begun) ? 0 : low.includes(begun) ? 1 : 2;
  };
  return names.filter((name) => rank(name) < 2).sort((one, other) => rank(one) - rank(other)).slice(0, MOST_OPTIONS);
}

/** A condition as a chip says it: without the prefix that everybody knows. */
export function chipText(part: string): string {
  const chosen = /^id in \(([^)]*)\)$/.exec(part);
  if (chosen) return `${chosen[1]!.split(",").length} chosen`;
  return part.replace(/\bconfig\.|\bsummary\./g, "").replace(/\s*!=\s*/g, " ≠ ").replace(/\s*>=\s*/g, " ≥ ").replace(/\s*<=\s*/g, " ≤ ").replace(/\s*([=<>~])\s*/g, " $1 ");
}
