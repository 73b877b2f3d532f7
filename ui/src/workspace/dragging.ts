/** Charts and panels are dragged by their titles, and dropped on each other. */
const DRAGGED = "application/x-holter-metric";

export function startDrag(event: DragEvent, name: string): void {
  event.dataTransfer?.setData(DRAGGED, name);
}

/** Lets others be dropped on an element, which has the class `over` while one is above it. */
export function dropTarget(ondrop: (name: string) => void): (node: HTMLElement) => () => void {
  return (node) => {
    const controller = new AbortController();
    const { signal } = controller;
    node.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes(DRAGGED)) return;
      event.preventDefault();
      node.classList.add("over");
    }, { signal });
    node.addEventListener("dragleave", () => node.classList.remove("over"), { signal });
    node.addEventListener("drop", (event) => {
      node.classList.remove("over");
      const name = event.dataTransfer?.getData(DRAGGED);
      if (name) ondrop(name);
    }, { signal });
    return () => controller.abort();
  };
}
