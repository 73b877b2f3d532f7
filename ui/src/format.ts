/** Numbers and times as people read them. */

/** A number in about seven characters: 0.0314, 3e-4, 12,431, 1.2M. */
export function number(value: unknown): string {
  if (typeof value !== "number") return value === null || value === undefined ? "" : String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "−Inf";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return grouped(value);
  if (size >= 1e7 || size < 1e-3) return shortExponent(value);
  const [whole, part = ""] = value.toPrecision(size >= 1 ? 5 : 4).replace(/(\.\d*?)0+$/, "$1").split(".");
  return grouped(whole!) + (part && `.${part}`);
}

/** In as few characters as still tell settings apart: 5.33e-3, 0.05, 256. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || Number.isInteger(value)) return number(value);
  return size < 1e-2 || size >= 1e4 ? shortExponent(value, 2) : String(Number(value.toPrecision(3)));
}

function shortExponent(value: number, digits = 3): string {
  return value.toExponential(digits).replace(/\.?0+e/, "e").replace("e+", "e");
}

export function grouped(value: number | string): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** As the server writes the numbers for which JSON has no word. */
const ODD = new Map([["NaN", NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]]);

/** Whether it is NaN or infinite: something was logged, and something is wrong. */
export function isOdd(found: unknown): boolean {
  return typeof found === "number" ? !Number.isFinite(found) : ODD.has(found as string);
}

/** Any value of a configuration or summary, in one line. */
export function value(found: unknown): string {
  if (found === null || found === undefined) return "";
  if (ODD.has(found as string)) return number(ODD.get(found as string));
  if (typeof found === "number") return number(found);
  return typeof found === "object" ? JSON.stringify(found) : String(found);
}

const PREFIXES: [number, string][] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** For axes: 0, 500, 5k, 1.2M, 3e-4; 1e-3 beside 5e-4. */
export function tick(value: number, step: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  for (const [unit, letter] of PREFIXES) {
    if (size >= unit && (unit > 1e3 || size >= 1e4 || step >= 500)) {
      return trimmed(value / unit, step / unit) + letter;
    }
  }
  if (size < 1e-3 || size >= 1e15 || (size < 1e-2 && step < 1e-3 * (1 - 1e-9))) return shortExponent(value);
  return trimmed(value, step);
}

function trimmed(value: number, step: number): string {
  const digits = Math.max(0, Math.min(12, Math.ceil(-Math.log10(Math.abs(step) || 1) - 1e-9)));
  const text = value.toFixed(digits + 1);
  return text.replace(/0$/, "").replace(/\.0*$/, "") || "0";
}

/** With as many digits as tell values apart that are a step away from each other. */
export function bytes(count: number, step?: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let size = count;
  while (Math.abs(size) >= 1024 && at < units.length - 1) {
    size /= 1024;
    at++;
  }
  if (step && at > 0) return `${trimmed(size, step / 1024 ** at)} ${units[at]}`;
  // With as many digits as verdicts have, so that a curve and what is said of it are the same figure.
  return `${at === 0 ? Number(size.toFixed(1)) : size.toFixed(Math.abs(size) >= 99.95 ? 0 : 1)} ${units[at]}`;
}

/** 12 s, 4 min 10 s, 6 h 41 min, 3 d 2 h. */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "";
  const whole = Math.max(0, seconds);
  if (whole < 10) return `${whole.toFixed(1)} s`;
  if (whole < 60) return `${Math.floor(whole)} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return two(minutes, "min", Math.floor(whole % 60), "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

function two(first: number, unit: string, second: number, part: string): string {
  return second ? `${first} ${unit} ${second} ${part}` : `${first} ${unit}`;
}

/** 2.2 h, 1,101 h; less than that in minutes or seconds. */
export function hours(many: number): string {
  if (many > 0 && many < 0.05) return duration(many * 3600);
  return `${many < 10 ? Number(many.toFixed(1)) : grouped(Math.round(many))} h`;
}

/** "just now", "3 min ago", "2 d ago". Times are seconds since 1970, `nowMs` as from the clock. */
export function ago(at: number | null | undefined, nowMs: number): string {
  if (!at) return "";
  const seconds = Math.max(0, nowMs / 1000 - at);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

const pad = (count: number, digits = 2) => String(count).padStart(digits, "0");

/** 14:32:07 of a time in seconds since 1970, in the reader's time zone. */
export function time(at: number): string {
  const date = new Date(at * 1000);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** 2026-11-15 14:32:07. */
export function dateTime(at: number | null | undefined): string {
  if (!at) return "";
  return `${date(at)} ${time(at)}`;
}

export function date(at: number): string {
  const found = new Date(at * 1000);
  return `${found.getFullYear()}-${pad(found.getMonth() + 1)}-${pad(found.getDate())}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** 9 Nov. */
export function day(at: number): string {
  const found = new Date(at * 1000);
  return `${found.getDate()} ${MONTHS[found.getMonth()]}`;
}

export function count(many: number, one: string, several = `${one}s`): string {
  return `${grouped(many)} ${many === 1 ? one : several}`;
}
