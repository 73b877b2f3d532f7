/** Runs in groups with the same value of a field: the server makes them, here are those that were opened. */
import { api, Problem, type AskedGroups, type GroupBrief } from "../api/client";
import { live } from "../api/live.svelte";
import { condition, joinFilters } from "./filters";
import { RunTableModel } from "./runs.svelte";

const REFRESH_MS = 3000;
const MOST_GROUPS = 1000;

/** By which every project's runs can be grouped, beside their settings. */
export const GROUPINGS = ["state", "cause", "group", "job_type", "tags", "host"];

export class GroupModel {
  groups = $state.raw<GroupBrief[]>([]);
  total = $state(0);
  error = $state.raw<Problem | null>(null);
  #asked: AskedGroups | null = null;
  #question = "";
  #tables = new Map<string, RunTableModel>();
  #timer = 0;

  configure(asked: AskedGroups | null): void {
    const question = JSON.stringify(asked);
    if (question === this.#question) return;
    const isOther = this.#asked?.by !== asked?.by;
    this.#question = question;
    this.#asked = asked;
    if (isOther) {
      this.groups = [];
      this.#tables.clear();
    }
    if (asked) void this.refresh();
  }

  /** The runs of a group, loaded as far as somebody looks. */
  table(group: GroupBrief): RunTableModel {
    const name = nameOf(group.value);
    let found = this.#tables.get(name);
    if (!found) {
      found = new RunTableModel();
      this.#tables.set(name, found);
    }
    return found;
  }

  /** Ask for the runs of the groups that are open. */
  open(names: Set<string>): void {
    if (!this.#asked) return;
    const { project, sort, columns } = this.#asked;
    for (const group of this.groups) {
      if (names.has(nameOf(group.value))) this.table(group).configure({ project, filter: this.filterOf(group), ...(sort && { sort }), ...(columns && { columns }) });
    }
  }

  filterOf(group: GroupBrief): string {
    return joinFilters([this.#asked?.filter ?? "", condition(this.#asked?.by ?? "", group.value)]);
  }

  follow(project: string): () => void {
    const ends = [
      live.on("run", (run) => run.project === project && this.refreshSoon()),
      live.on("rows", (rows) => rows.project === project && this.refreshSoon()),
      live.on("removed", () => this.refreshSoon()),
      live.on("reset", () => this.refreshSoon()),
    ];
    return () => {
      for (const end of ends) end();
      clearTimeout(this.#timer);
      this.#timer = 0;
    };
  }

  refreshSoon(): void {
    if (!this.#asked || this.error?.status === 400) return;
    this.#timer ||= window.setTimeout(() => {
      this.#timer = 0;
      void this.refresh();
      for (const table of this.#tables.values()) table.refreshSoon();
    }, REFRESH_MS);
  }

  async refresh(): Promise<void> {
    const [asked, question] = [this.#asked, this.#question];
    if (!asked) return;
    try {
      const found = await api.groups({ ...asked, limit: MOST_GROUPS });
      if (question !== this.#question) return;
      this.groups = found.groups;
      this.total = found.total;
      this.error = null;
    } catch (error) {
      if (error instanceof Problem && question === this.#question) this.error = error;
    }
  }
}

/** A group's value as the address has it. */
export function nameOf(value: unknown): string {
  return JSON.stringify(value);
}
