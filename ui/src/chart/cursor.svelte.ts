/** The pointer that all charts of a view share: each draws the same crosshair, one tooltip says what is there. */
export interface TipRow {
  id: string;
  name: string;
  colour: string;
  text: string;
  /** What the smoothed line hides. */
  raw: string;
  /** Of a group: how many of its runs are there. */
  count?: number | undefined;
}

/** What a mark at the pointer says of a line. */
export interface TipNote {
  name: string;
  text: string;
}

export interface Tip {
  title: string;
  x: string;
  rows: TipRow[];
  more: number;
  notes?: TipNote[];
  left: number;
  top: number;
  /** Moved by keys: it is read aloud. */
  isSpoken: boolean;
}

type Follower = (x: number | null) => void;

export class Cursor {
  tip = $state.raw<Tip | null>(null);
  /** The run whose line is thick, wherever it is drawn. */
  highlight = $state<string | null>(null);
  #followers = new Set<Follower>();
  #x: number | null = null;
  #isAsked = false;

  /** Where the crosshair is. */
  get x(): number | null {
    return this.#x;
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Moves the crosshair of all charts, once a frame. */
  move(x: number | null): void {
    this.#x = x;
    if (x === null) this.tip = null;
    if (this.#isAsked) return;
    this.#isAsked = true;
    requestAnimationFrame(() => {
      this.#isAsked = false;
      for (const follower of this.#followers) follower(this.#x);
    });
  }
}
