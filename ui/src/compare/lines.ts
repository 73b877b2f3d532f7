/** Two texts beside each other, line by line. Pure. */
export interface LinePair {
  /** Null: the other text has a line here that this one has not. */
  left: string | null;
  right: string | null;
  isSame: boolean;
}

/** Beyond this many comparisons, what is between the equal ends is shown as it is. */
const MOST_WORK = 2_000_000;
const AROUND = 3;

/** All lines of both, equal ones beside each other. */
export function pairLines(left: string, right: string): LinePair[] {
  const [one, other] = [linesOf(left), linesOf(right)];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const middle = between(one.slice(start, one.length - end), other.slice(start, other.length - end));
  return [...one.slice(0, start).map(same), ...middle, ...one.slice(one.length - end).map(same)];
}

/** Only what differs, with a few lines around it; null stands for what is left out. */
export function onlyDifferences(pairs: LinePair[]): (LinePair | null)[] {
  const isNear = pairs.map((_, at) => pairs.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((pair) => !pair.isSame));
  return pairs.flatMap((pair, at) => (isNear[at] ? [pair] : at === 0 || isNear[at - 1] ? [null] : []));
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function same(line: string): LinePair {
  return { left: line, right: line, isSame: true };
}

/** By the longest lines in common. */
function between(one: string[], other: string[]): LinePair[] {
  if (one.length * other.length > MOST_WORK) return beside(one, other);
  const width = other.length + 1;
  const common = new Uint32Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i--) {
    for (let j = other.length - 1; j >= 0; j--) {
      common[i * width + j] = one[i] === other[j] ? common[(i + 1) * width + j + 1]! + 1 : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const found: LinePair[] = [];
  let [i, j] = [0, 0];
  let [gone, came]: [string[], string[]] = [[], []];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      found.push(...beside(gone, came), same(one[i]!));
      [gone, came] = [[], []];
      i++;
      j++;
    } else if (j >= other.length || (i < one.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) gone.push(one[i++]!);
    else came.push(other[j++]!);
  }
  return [...found, ...beside(gone, came)];
}

function beside(one: string[], other: string[]): LinePair[] {
  return Array.from({ length: Math.max(one.length, other.length) }, (_, at) => ({ left: one[at] ?? null, right: other[at] ?? null, isSame: false }));
}
