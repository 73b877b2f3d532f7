/** A patch as `git diff` writes it, in files and lines. Pure. */
export interface PatchLine {
  kind: "same" | "added" | "removed" | "place";
  /** Its number before and after; none for a line that is only on the other side. */
  before: number | null;
  after: number | null;
  text: string;
}

export interface PatchFile {
  path: string;
  isNew: boolean;
  added: number;
  removed: number;
  lines: PatchLine[];
}

const PLACE = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

export function readPatch(text: string): PatchFile[] {
  const files: PatchFile[] = [];
  let [before, after] = [0, 0];
  let isInside = false;
  for (const line of text.split("\n")) {
    const file = files.at(-1);
    const place = PLACE.exec(line);
    if (line.startsWith("diff --git ")) {
      files.push({ path: line.replace(/^.* b\//, ""), isNew: false, added: 0, removed: 0, lines: [] });
      isInside = false;
    } else if (!file) continue;
    else if (place) {
      [before, after] = [Number(place[1]), Number(place[2])];
      isInside = true;
      file.lines.push({ kind: "place", before: null, after: null, text: line });
    } else if (!isInside) {
      if (line.startsWith("new file")) file.isNew = true;
    } else if (line.startsWith("+")) {
      file.added++;
      file.lines.push({ kind: "added", before: null, after: after++, text: line.slice(1) });
    } else if (line.startsWith("-")) {
      file.removed++;
      file.lines.push({ kind: "removed", before: before++, after: null, text: line.slice(1) });
    } else if (line.startsWith(" ")) file.lines.push({ kind: "same", before: before++, after: after++, text: line.slice(1) });
    else if (!line.startsWith("\\")) isInside = false;
  }
  return files;
}
