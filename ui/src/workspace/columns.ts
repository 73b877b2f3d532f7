/** The columns that the table of runs can have: fields of every run, its configuration and its summary. */
export const FIELDS: Record<string, { title: string; width: number }> = {
  state: { title: "State", width: 102 },
  cause: { title: "Cause", width: 150 },
  duration_s: { title: "Duration", width: 96 },
  started_at: { title: "Started", width: 84 },
  ended_at: { title: "Ended", width: 140 },
  last_step: { title: "Step", width: 72 },
  steps: { title: "Steps", width: 72 },
  rows: { title: "Rows", width: 72 },
  host: { title: "Host", width: 110 },
  tags: { title: "Tags", width: 120 },
  group: { title: "Group", width: 100 },
  job_type: { title: "Job type", width: 90 },
  attempt: { title: "Attempt", width: 72 },
  id: { title: "Id", width: 90 },
};

export function columnTitle(column: string): string {
  return FIELDS[column]?.title ?? column.replace(/^(config|summary)\./, "");
}

export function columnWidth(column: string): number {
  return FIELDS[column]?.width ?? Math.min(140, Math.max(column.startsWith("summary.") ? 76 : 66, columnTitle(column).length * 7 + 22));
}

/** What the server must be asked for beside the usual fields. */
export function extraColumns(columns: string[]): string[] {
  return columns.filter((column) => !(column in FIELDS) && !column.includes(","));
}

/** `config.optimizer.lr` and the like, of all that a run was given. */
export function flatten(prefix: string, tree: Record<string, unknown>, found: string[] = []): string[] {
  for (const [key, value] of Object.entries(tree)) {
    const name = prefix ? `${prefix}.${key}` : key;
    if (value !== null && typeof value === "object" && !Array.isArray(value)) flatten(name, value as Record<string, unknown>, found);
    else found.push(name);
  }
  return found;
}

/** A loss and a learning rate where there are such, else the duration: what people look for first. */
export function usualColumns(known: string[]): string[] {
  const loss = ["val/loss", "eval/loss", "train/loss", "loss", "val_loss", "train_loss"].map((name) => `summary.${name}`);
  const rate = ["config.lr", "config.learning_rate", known.find((name) => /^config\..*(\.|_)(lr|learning_rate)$/.test(name)) ?? ""];
  const firstOf = (wanted: string[]) => wanted.find((name) => known.includes(name));
  const found = [firstOf(loss) ?? known.find((name) => /^summary\..*loss/.test(name)), firstOf(rate)];
  const named = found.filter((name) => name !== undefined);
  return [...(named.length < 2 ? ["started_at"] : []), ...named];
}
