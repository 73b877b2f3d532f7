/** The slots of the palette that runs have, as the server told them: the same for everybody. */
class Slots {
  /** Read by whoever draws: it changes with a colour that somebody has drawn. */
  version = $state(0);
  #told = new Map<string, number>();
  #missed = new Set<string>();

  get(run: string): number | undefined {
    void this.version;
    const slot = this.#told.get(run);
    if (slot === undefined) this.#missed.add(run);
    return slot;
  }

  tell(runs: { id: string; colour?: number | null }[]): void {
    let isOther = false;
    for (const { id, colour } of runs) {
      if (colour === null || colour === undefined) continue;
      const before = this.#told.get(id);
      isOther ||= before === undefined ? this.#missed.delete(id) : before !== colour;
      this.#told.set(id, colour);
    }
    if (isOther) this.version++;
  }
}

export const slots = new Slots();
