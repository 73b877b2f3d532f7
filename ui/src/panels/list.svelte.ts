/** The panels of the workspace. They are in the address, as everything that a view is set to. */
import { place } from "../state/router.svelte";
import { PANEL } from "../workspace/sections";
import { freeId, joinPanels, splitPanels, type Panel } from "./address";
import type { Settings } from "./kind";

export const PANELS = "Panels";

class PanelList {
  all = $derived(splitPanels(place.get("panels")));
  /** As sections know them; whoever searches for a metric finds the panels that show it. */
  placed = $derived(this.all.map(({ id, kind, settings }) => ({ id: PANEL + id, title: [kind, ...Object.values(settings)].join(" "), section: PANELS })));

  find(name: string): Panel | undefined {
    return this.all.find((panel) => PANEL + panel.id === name);
  }

  add(kind: string, settings: Settings): void {
    this.#set([...this.all, { id: freeId(this.all), kind, settings }]);
  }

  /** A change that comes with every drag is no step to go back to. */
  change(id: string, settings: Settings, isQuiet = true): void {
    this.#set(this.all.map((panel) => (panel.id === id ? { ...panel, settings } : panel)), isQuiet);
  }

  duplicate(id: string): void {
    const copy = this.all.find((panel) => panel.id === id);
    if (copy) this.add(copy.kind, copy.settings);
  }

  remove(id: string): void {
    this.#set(this.all.filter((panel) => panel.id !== id));
  }

  #set(panels: Panel[], isQuiet = false): void {
    place.set({ panels: joinPanels(panels) }, isQuiet);
  }
}

export const panels = new PanelList();
