import assert from "node:assert/strict";
import { test } from "node:test";
import { readInputs } from "../src/inputs";
import { codeIn, href, parse, type Place } from "../src/route";
import { between, parseCast, sizeOf, withoutPauses } from "../src/terminal/cast";
import { age, duration } from "../src/time";
import { pieces } from "../src/views/editor";
import { layOut, tracksOf } from "../src/views/graph";
import { dollars, shortPath, usage } from "../src/labels";

test("every place survives being written as an address and read again", () => {
  const places: Place[] = [
    { at: "overview" },
    { at: "session", id: "0199", task: null, tab: null },
    { at: "session", id: "0199", task: "review.r2.arbiter", tab: "output" },
    { at: "session", id: "a/b#c", task: "ü", tab: null },
    { at: "new", grimoire: null },
    { at: "new", grimoire: "my grimoire" },
    { at: "grimoires", name: "demo" },
    { at: "adapters" },
  ];
  for (const place of places) assert.deepEqual(parse(href(place)), place);
  assert.deepEqual(parse("#/nothing/there"), { at: "overview" });
  assert.deepEqual(parse("#/session/%E0%A4%A"), { at: "session", id: "%E0%A4%A", task: null, tab: null });
});

test("the code is read from the fragment and from nothing else", () => {
  assert.equal(codeIn("#code=abc%2Bd"), "abc+d");
  assert.equal(codeIn("#x=1&code=abc"), "abc");
  assert.equal(codeIn("#/session/code=1"), null);
  assert.equal(codeIn(""), null);
});

test("times are told in words that fit", () => {
  assert.deepEqual([0, 59_000, 61_000, 3_600_000, 200_000_000].map(duration), ["0s", "59s", "1m 1s", "1h", "2d"]);
  assert.deepEqual([0, 45, 200, 7200, 200_000].map((seconds) => age(0, seconds * 1000)), ["just now", "45s ago", "3m ago", "2h ago", "2d ago"]);
});

test("what is not known of usage is left out and never zero", () => {
  assert.equal(usage({ inputTokens: 1500 }), "1.5k in");
  assert.equal(usage({}), "");
  assert.equal(usage(undefined), "");
  assert.deepEqual([0, 0.0042, 1.239].map(dollars), ["$0.00", "$0.0042", "$1.24"]);
});

test("a path is shown short, and its end is kept", () => {
  assert.equal(shortPath("/home/ada/code/coven"), "~/code/coven");
  assert.equal(shortPath("/a/very/long/path/that/goes/on/and/on/to/the/end"), "…/the/end");
});

const CAST = [
  '{"version":2,"width":100,"height":30}',
  '[0.5,"o","a"]', '[1.0,"m","working"]', '[1.0,"i","typed"]', '[60.0,"r","120x40"]', '[61.0,"o","b"]', '[61.5,"o","torn',
].join("\n");

test("a recording is read with its marks and sizes, and a torn last line is left out", () => {
  const cast = parseCast(CAST);
  assert.deepEqual([cast.cols, cast.rows, cast.length], [100, 30, 61]);
  assert.deepEqual(cast.marks, [{ at: 1, label: "working" }]);
  assert.deepEqual(cast.frames.map((frame) => frame.kind), ["o", "m", "r", "o"]);
  assert.deepEqual(sizeOf("120x40"), { cols: 120, rows: 40 });
  assert.equal(sizeOf("wide"), null);
  assert.throws(() => parseCast('{"version":1}'));
});

test("pauses are cut and everything keeps its order", () => {
  const cut = withoutPauses(parseCast(CAST), 2);
  assert.deepEqual(cut.frames.map((frame) => frame.at), [0.5, 1, 3, 4]);
  assert.equal(cut.length, 4);
});

test("seeking gives each frame once", () => {
  const cast = parseCast(CAST);
  const first = between(cast, 0, 1);
  assert.deepEqual(first.frames.map((frame) => frame.data), ["a", "working"]);
  const second = between(cast, first.next, 100);
  assert.deepEqual(second.frames.map((frame) => frame.data), ["120x40", "b"]);
});

const problem = (line: number, column: number, endLine: number, endColumn: number) =>
  ({ severity: "error", message: "", line, column, endLine, endColumn });

test("what is wrong in a text is marked at its place, also after wide letters", () => {
  const text = "name: 🙂x\nsteps: []\n";
  assert.deepEqual(pieces(text, [problem(1, 8, 1, 9), problem(2, 1, 2, 6)]).filter((piece) => piece.bad).map((piece) => piece.text), ["x", "steps"]);
  assert.equal(pieces(text, [problem(9, 1, 9, 1)]).map((piece) => piece.text).join(""), text);
});

test("inputs become values of their types, and what does not fit is said", () => {
  const wanted = [
    { name: "s", type: "string", required: true },
    { name: "n", type: "number", required: false },
    { name: "b", type: "boolean", required: false },
    { name: "l", type: "array", required: false },
    { name: "o", type: "object", required: false },
  ];
  assert.deepEqual(readInputs(wanted, { s: "x", n: "1.5", b: "true", l: "[1]", o: "{}" }).values, { s: "x", n: 1.5, b: true, l: [1], o: {} });
  assert.deepEqual(Object.keys(readInputs(wanted, { n: "one", l: "{}", o: "[" }).wrong), ["s", "n", "l", "o"]);
});

test("rows of a plan do not overlap, and many tasks become cells", () => {
  const lane = (at: number) => ({ task: `t${at}`, name: `t${at}`, status: "RUNNING" as const, attempt: 1 });
  const row = (step: string, count: number) => ({ step, type: "stage", status: "running", lanes: Array.from({ length: count }, (_, at) => lane(at)) });
  const { rows, height } = layOut({ name: "p", status: "running", rows: [row("a", 3), row("b", 100), row("c", 0)] }, 300);
  for (let at = 1; at < rows.length; at += 1) assert.ok(rows[at]!.y >= rows[at - 1]!.y + rows[at - 1]!.height);
  assert.ok(rows[1]!.cells && !rows[0]!.cells);
  assert.ok(height > rows[2]!.y + rows[2]!.height);
});

const needing = (needs: Record<string, string[]>) => ({
  name: "p", status: "running" as const,
  rows: Object.entries(needs).map(([step, needed]) => ({ step, type: "script", status: "pending", needs: needed, lanes: [] })),
});

test("steps that need each other have a track of their own, and every edge goes down a free one", () => {
  const plan = needing({ left: [], right: [], early: ["right"], both: ["left", "early"], alone: [] });
  const { rows, edges, tracks } = tracksOf(plan.rows);
  assert.deepEqual(rows.map((one) => one.step), ["left", "right", "early", "both", "alone"]);
  assert.deepEqual(edges.map(({ from, to }) => `${rows[from]!.step}>${rows[to]!.step}`).sort(), ["early>both", "left>both", "right>early"]);
  for (const edge of edges) {
    assert.ok(edge.from < edge.to);
    for (let at = edge.from + 1; at < edge.to; at += 1) assert.notEqual(tracks[at], tracks[edge.from], "no node stands on an edge");
  }
  assert.equal(Math.max(...tracks), 1, "two things at most are under way at a time");
});

test("a step that needs one written after it is drawn below it, and a circle does not hang", () => {
  assert.deepEqual(tracksOf(needing({ last: ["first"], first: [] }).rows).rows.map((one) => one.step), ["first", "last"]);
  assert.equal(tracksOf(needing({ a: ["b"], b: ["a"] }).rows).rows.length, 2);
});

test("a plan whose steps run one after another has one track, and all steps stand on it", () => {
  const rows = ["a", "b"].map((step) => ({ step, type: "script", status: "pending", lanes: [] }));
  const { tracks, edges } = tracksOf(rows);
  assert.deepEqual([tracks, edges], [[0, 0], [{ from: 0, to: 1 }]]);
});
