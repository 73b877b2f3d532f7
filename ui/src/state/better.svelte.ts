/** Which values of the metrics on the page their programs called better. */
export type Better = "low" | "high";

class Told {
  #told = $state.raw<Record<string, Better>>({});

  /** What a program said of its metrics; the same again changes nothing. */
  take(keys: readonly { key: string; better: string }[]): void {
    const found = Object.fromEntries(keys.filter((each) => each.better).map((each) => [each.key, each.better as Better]));
    if (JSON.stringify(found) !== JSON.stringify(this.#told)) this.#told = found;
  }

  of(metric: string): Better | undefined {
    return this.#told[metric];
  }
}

export const told = new Told();
