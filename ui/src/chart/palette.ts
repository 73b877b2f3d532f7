/**
 * The colours of lines. Each stands out against its background at 3:1 or more, and any two are told apart by people who
 * see all colours and by those who miss one kind of cone: found by a search that held the smallest of all distances as
 * large as it would go, see vision.ts for the measure and palette.test.ts for the promise.
 */
export const LIGHT = ["#4185fd", "#b98b00", "#e0055a", "#057d74", "#295004", "#7c2c7d", "#7326e4", "#10235c", "#4c100e", "#9190a5"];
export const DARK = ["#2d9ad6", "#ffca09", "#fd23a4", "#58f79f", "#91a900", "#f88a92", "#8557ff", "#b6b5ff", "#a9714b", "#e7eff8"];

/** A slot is a colour, and behind the last colour the same ones again with dashes. */
export const SLOTS = LIGHT.length * 2;

export function slotColour(slot: number, isDark: boolean): string {
  return (isDark ? DARK : LIGHT)[slot % LIGHT.length]!;
}

export function slotIsDashed(slot: number): boolean {
  return slot % SLOTS >= LIGHT.length;
}
