/**
 * The colours of lines. Each stands out against its background at 3:1 or more, and any two are told apart by people who
 * see all colours and by those who miss one kind of cone: see vision.ts for the measure and palette.test.ts for the
 * promise. A slot keeps its hue in both themes. Dashes are no colour: they mean a limit, a forecast or a reference.
 */
export const LIGHT = ["#3674b4", "#d4810b", "#2ca782", "#be2b83", "#9c7fff", "#737004", "#5a34c0", "#7d4444"];
export const DARK = ["#3694cc", "#e49e0e", "#5cd098", "#f04296", "#d2a8fb", "#d8e450", "#8251f4", "#ae653a"];
/** The run that all others are compared with; it is wider than they are, too. */
export const BASELINE = { light: "#5b6370", dark: "#a3acb9" };

export function slotColour(slot: number, isDark: boolean): string {
  return (isDark ? DARK : LIGHT)[slot % LIGHT.length]!;
}
