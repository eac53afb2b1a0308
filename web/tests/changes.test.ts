import assert from "node:assert/strict";
import { test } from "node:test";
import type { TreeFileChange, TreeItem } from "../src/api-trees";
import { between, comparedWith, neighbour, notesOf, partsOf, placed, namesApart, splitRows, touchedBy, unifiedRows, withNames, MOST_COMPARED } from "../src/changes";
import { coloured, languageOf } from "../src/highlight";

const line = (k: " " | "+" | "-", o: number | undefined, n: number | undefined, t: string) =>
  ({ k, t, ...(o === undefined ? {} : { o }), ...(n === undefined ? {} : { n }) });
const HUNKS = [
  { oldStart: 1, newStart: 1, lines: [
    line(" ", 1, 1, "a"), line("-", 2, undefined, "b"), line("-", 3, undefined, "c"), line("+", undefined, 2, "B"), line(" ", 4, 3, "d"),
  ] },
  { oldStart: 20, newStart: 19, lines: [line("+", undefined, 19, "x"), line("-", 20, undefined, "y"), line(" ", 21, 20, "z")] },
];

test("what was removed stands beside what was added in its place, and only there", () => {
  const rows = splitRows(placed(HUNKS)).map(({ left, right }) => [left?.t ?? null, right?.t ?? null]);
  assert.deepEqual(rows, [["a", "a"], ["b", "B"], ["c", null], ["d", "d"], [null, "x"], ["y", null], ["z", "z"]]);
  assert.deepEqual(unifiedRows(placed(HUNKS)).map(({ left, right }) => (left ?? right)!.t).join(""), "abcBdxyz");
});

test("the keyboard stays in its column as long as there is a line", () => {
  const lines = placed(HUNKS);
  const rows = splitRows(lines);
  const text = (at: number | null) => (at === null ? null : lines[at]!.t);
  assert.equal(text(neighbour(rows, 1, 1)), "c");
  assert.equal(text(neighbour(rows, 3, 1)), "c", "there is nothing at the right");
  assert.equal(text(neighbour(rows, 0, -5)), "a");
  assert.equal(text(neighbour(rows, 0, 99)), "z");
  assert.equal(neighbour([], 0, 1), null);
});

test("a comment is about lines of one side and of one hunk", () => {
  const lines = placed(HUNKS);
  const texts = (anchor: number, focus: number) => between(lines, anchor, focus).map((one) => one.t).join("");
  assert.equal(texts(0, 0), "a");
  assert.equal(texts(1, 3), "bc", "begun at what was removed");
  assert.equal(texts(3, 1), "B", "begun at what was added");
  assert.equal(texts(0, 2), "abc", "a line on both sides goes with either");
  assert.equal(texts(4, 7), "d", "not into the next hunk");
  assert.equal(texts(9, 0), "");
});

test("characters that turn the direction of text are named and stand apart", () => {
  assert.equal(withNames("a\u202eb\u2066c\u200bd\te"), "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d\te");
  assert.deepEqual(namesApart("if ⟨U+202E⟩ x"), ["if ", "⟨U+202E⟩", " x"]);
  assert.deepEqual(namesApart("plain"), ["plain"]);
});

const FILE: TreeFileChange = { path: "a", status: "modified", kind: "file", added: 0, removed: 0, binary: false, tooLarge: false };

test("what a file is besides its lines is told in short", () => {
  assert.deepEqual(notesOf(FILE), []);
  assert.deepEqual(notesOf({ ...FILE, mode: { old: "100644", new: "100755" } }), ["now executable"]);
  assert.deepEqual(notesOf({ ...FILE, mode: { old: "100755", new: "100644" }, binary: true }), ["no longer executable", "binary"]);
  assert.deepEqual(notesOf({ ...FILE, kind: "symlink" }), ["symbolic link"]);
  assert.deepEqual(notesOf({ ...FILE, kind: "submodule", tooLarge: true }), ["submodule", "too large"]);
  assert.deepEqual(partsOf("src/a/b.rs"), ["src/a/", "b.rs"]);
  assert.deepEqual(partsOf("b.rs"), ["", "b.rs"]);
});

const TREE: TreeItem = {
  workflow: "w", workflowName: "n", tree: "build.1", state: "ready", path: "", branch: "", base: "", root: "", landing: { state: "open" }, changed: 1, checkpoints: 1,
};

test("other tasks of the run that change a file are found, but not what was brought back from the tree itself", () => {
  const trees = ["@run", "build.1", "build.2", "build.1.restored1", "build.3"].map((tree) => ({ ...TREE, tree, changed: tree === "build.3" ? 0 : 1 }));
  assert.deepEqual(comparedWith("build.1", trees).compared.map((one) => one.tree), ["build.2"]);
  assert.deepEqual(comparedWith("@run", trees).compared.map((one) => one.tree), ["build.1", "build.2", "build.1.restored1"]);
  const many = Array.from({ length: 40 }, (_, at) => ({ ...TREE, tree: `t.${at}` }));
  const { compared, more } = comparedWith("t.0", many);
  assert.deepEqual([compared.length, more], [MOST_COMPARED, 39 - MOST_COMPARED]);
  assert.deepEqual([...touchedBy([{ tree: "a", paths: ["x", "y", "x"] }, { tree: "b", paths: ["x"] }])], [["x", ["a", "b"]], ["y", ["a"]]]);
});

test("lines keep their text when they are coloured, whatever is in them", () => {
  const lines = ["/* a comment", "   <b>&amp; goes on */ let x = \"</span>\";", "", "fn main() {}"];
  const pieces = coloured("rust", lines)!;
  assert.deepEqual(pieces.map((line) => line.map((piece) => piece.text).join("")), lines);
  assert.equal(pieces[1]![0]!.class, "code-comment", "a comment goes on in the next line");
  assert.ok(pieces[3]!.some((piece) => piece.class === "code-keyword" && piece.text === "fn"));
  for (const one of pieces.flat()) assert.match(one.class, /^(code-[a-z]+)?$/);
});

test("a language is known by the name of the file, and a very long line stays without colours", () => {
  assert.deepEqual(["src/a.rs", "web/x.test.tsx", "Dockerfile", "a/.gitignore", "x.unknown", '"a\\342.py"', "rs"].map(languageOf), ["rust", "typescript", "dockerfile", null, null, "python", null]);
  assert.equal(coloured("javascript", ["x".repeat(10_000)]), null);
  assert.equal(coloured("no such language", ["x"]), null);
});
