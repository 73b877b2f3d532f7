/** Light or dark: as the system has it, or as the person chose. Kept in this browser. */
export type ThemeChoice = "system" | "light" | "dark";

const KEPT = "holter.theme";
const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function keptChoice(): ThemeChoice {
  const kept = localStorage.getItem(KEPT);
  return kept === "light" || kept === "dark" ? kept : "system";
}

class Theme {
  choice = $state<ThemeChoice>(keptChoice());
  isSystemDark = $state(darkSystem.matches);
  isDark = $derived(this.choice === "system" ? this.isSystemDark : this.choice === "dark");

  choose(choice: ThemeChoice): void {
    this.choice = choice;
    localStorage.setItem(KEPT, choice);
    applyTheme();
  }
}

export const theme = new Theme();

darkSystem.addEventListener("change", (event) => {
  theme.isSystemDark = event.matches;
  applyTheme();
});

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.isDark ? "dark" : "light";
}
