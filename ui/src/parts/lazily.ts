/** Code that comes when it is needed. A server that was away for a moment is asked again; after some tries it rejects. */
const PAUSES_MS = [300, 1000, 3000, 8000];

export async function lazily<T>(load: () => Promise<T>): Promise<T> {
  for (const pause of PAUSES_MS) {
    try {
      return await load();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return load();
}
