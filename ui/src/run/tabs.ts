/** The parts of a run's page, in their order; each is a part of the address. */
export const TABS = ["overview", "charts", "media", "system", "logs", "files", "health", "diagnosis"] as const;
export type Tab = (typeof TABS)[number];

export function tabWord(tab: Tab): string {
  return tab.charAt(0).toUpperCase() + tab.slice(1);
}
