/** What is drawn in the browser's next frames: as much in each as leaves the page answering. */
const MOST_MS = 12;
const waiting = new Map<object, () => void>();
let asked = 0;

/** Draw something soon; what the same one asked for before is dropped. Returns the way back. */
export function drawSoon(who: object, draw: () => void): () => void {
  waiting.set(who, draw);
  asked ||= requestAnimationFrame(work);
  return () => {
    if (waiting.get(who) === draw) waiting.delete(who);
  };
}

function work(): void {
  const began = performance.now();
  for (const [who, draw] of waiting) {
    waiting.delete(who);
    draw();
    if (performance.now() - began > MOST_MS) break;
  }
  asked = waiting.size ? requestAnimationFrame(work) : 0;
}
