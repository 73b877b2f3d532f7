/** Keys of the page. A part of it adds its own with `onKeys` in an $effect; the newest addition is asked first. */
export interface KeyHelp {
  keys: string;
  does: string;
}

type Handler = (event: KeyboardEvent) => void;
interface Layer {
  handlers: Record<string, Handler>;
}

const layers: Layer[] = [];

export const HELP: KeyHelp[] = [
  { keys: "Ctrl K", does: "go to a run, a project or a page" },
  { keys: "/", does: "search metrics, or the log" },
  { keys: "f", does: "search and filter runs" },
  { keys: "j  k", does: "next and previous run" },
  { keys: "Enter", does: "open the run" },
  { keys: "x", does: "select the run" },
  { keys: "Space", does: "show or hide its lines" },
  { keys: "c", does: "compare the selected runs" },
  { keys: "m", does: "menu of the run" },
  { keys: "[  ]", does: "previous and next part of a run's page" },
  { keys: "e", does: "open the chart that is pointed at" },
  { keys: "w", does: "say that the verdict on a run is wrong" },
  { keys: "n  N", does: "next and previous hit in a log" },
  { keys: "Ctrl S", does: "save the view" },
  { keys: "Ctrl Z  Ctrl Y", does: "undo and redo a change of the workspace" },
  { keys: "Esc", does: "close; undo the zoom" },
  { keys: "?", does: "these keys" },
];

/** Listen to keys until the returned function is called. */
export function onKeys(handlers: Record<string, Handler>): () => void {
  const layer = { handlers };
  layers.push(layer);
  return () => {
    layers.splice(layers.indexOf(layer), 1);
  };
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]') !== null;
}

/** Where the browser itself undoes what was typed. */
function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input:not([type=range], [type=checkbox], [type=radio]), textarea, [contenteditable]") !== null;
}

/** As the layers name it: `x`, `Ctrl s`, `Ctrl Shift z`. */
function nameOf(event: KeyboardEvent): string {
  if (!event.metaKey && !event.ctrlKey) return event.key;
  return `Ctrl ${event.shiftKey ? "Shift " : ""}${event.key.toLowerCase()}`;
}

export function handleKey(event: KeyboardEvent): void {
  const name = nameOf(event);
  const isCommand = name.startsWith("Ctrl ");
  if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
  if (isCommand ? name !== "Ctrl s" && isWriting(event.target) : isTyping(event.target)) return;
  // Space and Enter on a button or a check box are its own.
  const isOnButton = event.target instanceof Element && event.target.closest("button, a[href], summary, input");
  if (isOnButton && (event.key === " " || event.key === "Enter")) return;
  for (const layer of layers.toReversed()) {
    const handler = layer.handlers[name];
    if (handler) {
      event.preventDefault();
      handler(event);
      return;
    }
  }
}
