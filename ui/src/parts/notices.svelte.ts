/** Short words at the lower edge: what was done, with a way back where there is one. */
export interface Notice {
  id: number;
  text: string;
  isBad: boolean;
  undo?: () => void;
}

class Notices {
  all = $state.raw<Notice[]>([]);
  #next = 1;

  say(text: string, options: { isBad?: boolean; undo?: () => void } = {}): void {
    const id = this.#next++;
    const notice: Notice = { id, text, isBad: options.isBad ?? false, ...(options.undo && { undo: options.undo }) };
    this.all = [...this.all.slice(-2), notice];
    setTimeout(() => this.drop(id), options.undo || options.isBad ? 9000 : 4000);
  }

  drop(id: number): void {
    this.all = this.all.filter((each) => each.id !== id);
  }
}

export const notices = new Notices();
