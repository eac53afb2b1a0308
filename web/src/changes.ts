// Changes as the page shows them: rows of a diff, the lines a comment is about, what a file is.
import type { ChangeHunk, ChangeLine, TreeFileChange, FileChangeStatus, ReviewSide, TreeItem } from "./api-trees";
import { RUN_TREE } from "./api-trees";

/** A line with its place: the number of its hunk and its place among all lines of the file. */
export interface PlacedLine extends ChangeLine {
  hunk: number;
  at: number;
}

/** One row of a diff: one line, or what stands at the left and at the right of each other. */
export interface DiffRow {
  left: PlacedLine | null;
  right: PlacedLine | null;
}

export function placed(hunks: readonly ChangeHunk[]): PlacedLine[] {
  const lines: PlacedLine[] = [];
  hunks.forEach((hunk, number) => {
    for (const line of hunk.lines) lines.push({ ...line, hunk: number, at: lines.length });
  });
  return lines;
}

/** The side of a comparison that a line is on; one that is on both counts as the new one. */
export const sideOf = (line: ChangeLine): ReviewSide => (line.k === "-" ? "old" : "new");

/** The number of a line on its side. */
export const numberOf = (line: ChangeLine): number => (line.k === "-" ? line.o : line.n) ?? 0;

/** Rows for one column: each line on its own. */
export const unifiedRows = (lines: readonly PlacedLine[]): DiffRow[] =>
  lines.map((line) => (line.k === "-" ? { left: line, right: null } : { left: null, right: line }));

/** Rows for two columns: what was removed stands beside what was added in its place. */
export function splitRows(lines: readonly PlacedLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: PlacedLine[] = [];
  let added: PlacedLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      rows.push({ left: removed[at] ?? null, right: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  let hunk = 0;
  for (const line of lines) {
    // Lines of different hunks are not beside each other, nor is what was removed after an addition.
    if (line.hunk !== hunk || line.k === " " || (line.k === "-" && added.length > 0)) flush();
    hunk = line.hunk;
    if (line.k === "-") removed.push(line);
    else if (line.k === "+") added.push(line);
    else rows.push({ left: line, right: line });
  }
  flush();
  return rows;
}

/** The row in which a line stands. */
export const rowOf = (rows: readonly DiffRow[], at: number): number =>
  rows.findIndex((row) => row.left?.at === at || row.right?.at === at);

/** The line above or below in the same column, or in the other one where there is none. */
export function neighbour(rows: readonly DiffRow[], at: number, by: number): number | null {
  const row = rowOf(rows, at);
  const next = rows[Math.min(rows.length - 1, Math.max(0, row + by))];
  if (row < 0 || !next) return null;
  const inLeft = rows[row]!.left?.at === at && rows[row]!.right?.at !== at;
  return (inLeft ? next.left ?? next.right : next.right ?? next.left)?.at ?? null;
}

/** The lines between two of one side, within one hunk: what a comment can be about. */
export function between(lines: readonly PlacedLine[], anchor: number, focus: number): PlacedLine[] {
  const from = lines[anchor];
  const to = lines[focus];
  if (!from || !to) return [];
  // A line on both sides goes with either; the side of what was begun at counts.
  const side = from.k === " " && to.k !== " " ? sideOf(to) : sideOf(from);
  const [first, last] = anchor <= focus ? [anchor, focus] : [focus, anchor];
  return lines.slice(first, last + 1).filter((line) =>
    line.hunk === from.hunk && (line.k === " " || sideOf(line) === side));
}

/** The first line that differs. */
export const firstChange = (lines: readonly PlacedLine[]): number =>
  lines.find((line) => line.k !== " ")?.at ?? 0;

/** Characters that cannot be seen or that turn the direction of text. The daemon has named them
 * already; what came through all the same is named here. */
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const NAMED = /(⟨U\+[0-9A-F]{4,6}⟩)/;

export const withNames = (text: string): string =>
  text.replace(UNSEEN, (letter) => `⟨U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** A text in pieces, names of unseen characters apart: every second piece is such a name. */
export const namesApart = (text: string): string[] => text.split(NAMED);

/** Of a line so much is shown at first. */
export const LINE_SHOWN = 2000;

export const STATUS_WORDS: Record<FileChangeStatus, string> = {
  added: "added",
  modified: "modified",
  deleted: "deleted",
  renamed: "renamed",
  "type-changed": "another kind of file now",
};

export const STATUS_LETTER: Record<FileChangeStatus, string> = {
  added: "A", modified: "M", deleted: "D", renamed: "R", "type-changed": "T",
};

/** What is to be known of a file besides its lines, in short. */
export function notesOf(file: TreeFileChange): string[] {
  const notes: string[] = [];
  if (file.kind === "symlink") notes.push("symbolic link");
  if (file.kind === "submodule") notes.push("submodule");
  if (file.mode) notes.push(modeWords(file.mode.old, file.mode.new));
  if (file.binary) notes.push("binary");
  if (file.tooLarge) notes.push("too large");
  return notes;
}

function modeWords(before: string, now: string): string {
  const runs = (mode: string) => mode === "100755";
  if (runs(now) && !runs(before)) return "now executable";
  if (runs(before) && !runs(now)) return "no longer executable";
  return `mode ${before} → ${now}`;
}

/** A path as the folder, which may be left out where there is little room, and the name. */
export function partsOf(path: string): [string, string] {
  const cut = path.replace(/\/$/, "").lastIndexOf("/") + 1;
  return [path.slice(0, cut), path.slice(cut)];
}

/** A tree as people call it. */
export const treeName = (tree: string): string => (tree === RUN_TREE ? "the run" : tree);

/** Whether one tree was brought back from a checkpoint of the other: they have files in common. */
const isRestored = (one: string, other: string): boolean => one.startsWith(`${other}.restored`) || other.startsWith(`${one}.restored`);

/** Of how many trees it is looked at which files they change. */
export const MOST_COMPARED = 16;

/** The trees of other tasks that may change the same files as this one, and how many more there are. */
export function comparedWith(tree: string, trees: readonly TreeItem[]): { compared: TreeItem[]; more: number } {
  const others = trees.filter((one) =>
    one.tree !== tree && one.tree !== RUN_TREE && one.state !== "wanted" && one.changed > 0 && !isRestored(one.tree, tree));
  return { compared: others.slice(0, MOST_COMPARED), more: Math.max(0, others.length - MOST_COMPARED) };
}

/** Which trees change each path. */
export function touchedBy(changes: readonly { tree: string; paths: readonly string[] }[]): Map<string, string[]> {
  const touched = new Map<string, string[]>();
  for (const { tree, paths } of changes) {
    for (const path of new Set(paths)) touched.set(path, [...(touched.get(path) ?? []), tree]);
  }
  return touched;
}
