/** The order of charts in a section. People move a few; only those, and what they were moved past, are remembered. Pure. */

/** Those that are named come first, in that order; the rest stay as they are. */
export function ordered(metrics: string[], order: string[]): string[] {
  const own = new Set(metrics);
  const named = order.filter((metric) => own.has(metric));
  const isNamed = new Set(named);
  return [...named, ...metrics.filter((metric) => !isNamed.has(metric))];
}

/** The order in which one chart has taken the place of another of its section, whose metrics come as they are by themselves. */
export function moved(metrics: string[], order: string[], metric: string, target: string): string[] {
  const now = ordered(metrics, order);
  const [from, to] = [now.indexOf(metric), now.indexOf(target)];
  if (from < 0 || to < 0 || from === to) return order;
  const wanted = now.toSpliced(from, 1).toSpliced(to, 0, metric);
  const known = order.filter((each) => metrics.includes(each)).length;
  const named = wanted.slice(0, Math.max(from, to, known - 1) + 1);
  while (named.length && isSame(ordered(metrics, named.slice(0, -1)), wanted)) named.pop();
  return [...order.filter((each) => !metrics.includes(each)), ...named];
}

function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((each, at) => each === other[at]);
}
