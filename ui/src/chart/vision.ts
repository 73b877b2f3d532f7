/** How colours look to people who miss one kind of cone, and how far apart two of them look. Pure. */
export type Sight = "all" | "no-red" | "no-green" | "no-blue";
type Triple = [number, number, number];
type Matrix = [Triple, Triple, Triple];

export const SIGHTS: { sight: Sight; title: string }[] = [
  { sight: "all", title: "All cones" },
  { sight: "no-red", title: "No red (protanopia)" },
  { sight: "no-green", title: "No green (deuteranopia)" },
  { sight: "no-blue", title: "No blue (tritanopia)" },
];

/** Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB. */
const MISSING: Record<Exclude<Sight, "all">, Matrix> = {
  "no-red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  "no-green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  "no-blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};
/** Oklab by Björn Ottosson: a distance of 0.02 is about the least that people see side by side. */
const TO_CONES: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];
const BRIGHTNESS: Triple = [0.2126, 0.7152, 0.0722];

/** The colour as somebody with that sight sees it. */
export function seenAs(colour: string, sight: Sight): string {
  const bytes = seenLinear(colour, sight).map((part) => Math.round(255 * (part <= 0.0031308 ? 12.92 * part : 1.055 * part ** (1 / 2.4) - 0.055)));
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** How far apart two colours look: 0 for the same, 1 for black and white. */
export function distance(one: string, other: string, sight: Sight): number {
  const [first, second] = [toLab(seenLinear(one, sight)), toLab(seenLinear(other, sight))];
  return Math.hypot(first[0] - second[0], first[1] - second[1], first[2] - second[2]);
}

/** As the accessibility guidelines count it, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [one, other].map((each) => dot(BRIGHTNESS, linear(each))).sort((low, high) => low - high) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

function seenLinear(colour: string, sight: Sight): Triple {
  const found = linear(colour);
  return sight === "all" ? found : (times(MISSING[sight], found).map((part) => Math.min(1, Math.max(0, part))) as Triple);
}

function linear(colour: string): Triple {
  return [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Triple;
}

function toLab(colour: Triple): Triple {
  return times(TO_LAB, times(TO_CONES, colour).map(Math.cbrt) as Triple);
}

function times(matrix: Matrix, vector: Triple): Triple {
  return matrix.map((row) => dot(row, vector)) as Triple;
}

function dot(one: Triple, other: Triple): number {
  return one[0] * other[0] + one[1] * other[1] + one[2] * other[2];
}
