import assert from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../src/changes";
import { anchored, NO_DRAFTS, read, request, whereOf, written, type Draft } from "../src/review";

const DRAFT: Draft = { id: "1", path: "a.rs", side: "new", line: 2, endLine: 3, text: "why twice?", lines: ["two", "three"], against: "base", head: "h1" };

const lines = (texts: string[], from = 1) => placed([{ oldStart: 1, newStart: from, lines: texts.map((t, at) => ({ k: "+" as const, n: from + at, t })) }]);

test("a draft follows its lines, and the nearest place counts", () => {
  const moved = (texts: string[]) => anchored([DRAFT], "a.rs", "base", "h2", lines(texts))[0]!;
  assert.deepEqual([moved(["zero", "one", "two", "three"]).line, moved(["zero", "one", "two", "three"]).endLine], [3, 4]);
  assert.equal(moved(["two", "three", "x", "x", "x", "two", "three"]).line, 1);
  assert.equal(moved(["two", "three"]).head, "h2");
  assert.deepEqual([moved(["two", "3"]).outdated, moved(["two", "3"]).line, moved(["two", "3"]).head], [true, 2, "h1"]);
  // It comes back when its lines do.
  const outdated = moved(["two", "3"]);
  assert.equal(anchored([outdated], "a.rs", "base", "h3", lines(["two", "three"]))[0]!.outdated, undefined);
});

test("a draft about another file, version or side stays as it is", () => {
  assert.equal(anchored([DRAFT], "b.rs", "base", "h2", lines(["x"]))[0], DRAFT);
  assert.equal(anchored([DRAFT], "a.rs", "base", "h1", lines(["x"]))[0], DRAFT);
  // In another comparison fewer lines are shown: that it is not among them says nothing.
  assert.equal(anchored([DRAFT], "a.rs", "checkpoint:1", "h2", lines(["x"]))[0], DRAFT);
  const old: Draft = { ...DRAFT, side: "old" };
  assert.equal(anchored([old], "a.rs", "target", "h2", lines(["two", "three"]))[0], old);
});

test("lines that only look alike but do not follow each other are not the same place", () => {
  const gap = placed([
    { oldStart: 1, newStart: 1, lines: [{ k: "+", n: 1, t: "two" }] },
    { oldStart: 9, newStart: 9, lines: [{ k: "+", n: 9, t: "three" }] },
  ]);
  assert.equal(anchored([DRAFT], "a.rs", "base", "h2", gap)[0]!.outdated, true);
});

test("everything goes in one request, with the version that the lines were counted in", () => {
  const one: Draft = { ...DRAFT, id: "2", line: 7, endLine: 7, lines: ["seven"], text: "rename it", side: "old" };
  const { body, commented } = request({ drafts: [DRAFT, one], summary: " close " }, true);
  assert.deepEqual(body, {
    comments: [
      { path: "a.rs", side: "new", line: 2, endLine: 3, text: "why twice?" },
      { path: "a.rs", side: "old", line: 7, text: "rename it" },
    ],
    against: "base", head: "h1", summary: "close", send: true,
  });
  assert.deepEqual(commented.map((draft) => draft.id), ["1", "2"]);
  assert.deepEqual(request({ drafts: [], summary: "only this" }, false).body, { summary: "only this", send: false });
});

test("a comment about an older version is not lost and not counted in the wrong one", () => {
  const newer: Draft = { ...DRAFT, id: "2", head: "h2" };
  const { body, commented } = request({ drafts: [{ ...DRAFT, text: "old comment" }, newer, { ...newer, id: "3" }], summary: "" }, true);
  assert.deepEqual([body.head, commented.map((draft) => draft.id)], ["h2", ["2", "3"]]);
  assert.equal(body.summary, "a.rs:2-3, which has changed since:\n> two\n> three\nold comment");
});

test("drafts survive being kept, and what is none is not taken for one", () => {
  const drafts = { drafts: [DRAFT], summary: "s", writing: null };
  assert.deepEqual(read(written(drafts)), drafts);
  assert.equal(written(NO_DRAFTS), null);
  for (const text of [null, "", "{", "null", "[]", '{"drafts":[1],"summary":""}', '{"drafts":{},"summary":""}']) assert.deepEqual(read(text), NO_DRAFTS, String(text));
  assert.equal(whereOf(DRAFT), "a.rs:2-3");
  assert.equal(whereOf({ ...DRAFT, endLine: 2, side: "old" }), "a.rs:2 (before)");
});
