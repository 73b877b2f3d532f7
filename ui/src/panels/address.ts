/** The panels of a view as one short text for the address: `1*scatter*x_config.lr*y_summary.loss**2*value*…`. Pure. */
import type { Settings } from "./kind";

export interface Panel {
  /** Unique in its view; others keep their places by it. */
  id: string;
  kind: string;
  settings: Settings;
}

export function joinPanels(panels: Panel[]): string {
  return panels.map(({ id, kind, settings }) => {
    const fields = Object.entries(settings).filter(([, value]) => value !== "");
    return [id, kind, ...fields.map(([key, value]) => `${key}_${escaped(value)}`)].join("*");
  }).join("**");
}

/** What nobody can read is left out: a link of a newer version still shows the rest. */
export function splitPanels(text: string): Panel[] {
  const found = new Map<string, Panel>();
  for (const part of text.split("**")) {
    const [id, kind, ...fields] = part.split("*");
    if (!id || !kind || found.has(id)) continue;
    const settings = fields.map((field) => [field.slice(0, field.indexOf("_")), unescaped(field.slice(field.indexOf("_") + 1))] as const);
    found.set(id, { id, kind, settings: Object.fromEntries(settings.filter(([key]) => key)) });
  }
  return [...found.values()];
}

export function freeId(panels: Panel[]): string {
  return String(1 + Math.max(0, ...panels.map((panel) => Number(panel.id) || 0)));
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("*", "%2A");
}

function unescaped(text: string): string {
  return text.replaceAll("%2A", "*").replaceAll("%25", "%");
}
