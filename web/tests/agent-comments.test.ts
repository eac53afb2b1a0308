import assert from "node:assert/strict";
import { test } from "node:test";
import { asDraft, idOf, readIds } from "../src/agent-comments";
import type { AgentComment } from "../src/api-trees";
import { request } from "../src/review";

const COMMENT: AgentComment = { task: "review", attempt: 2, place: 0, path: "a.rs", side: "new", line: 3, text: "why?", lines: ["three"] };

test("a comment that is taken over is sent like one of a person's own", () => {
  const draft = asDraft(COMMENT, "h1", "1");
  assert.equal(draft.from, idOf(COMMENT));
  assert.deepEqual(request({ drafts: [draft], summary: "" }, true).body, {
    comments: [{ path: "a.rs", side: "new", line: 3, text: "why?" }], against: "base", head: "h1", send: true,
  });
  assert.deepEqual([asDraft({ ...COMMENT, endLine: 5, outdated: true }, "h1", "1")].map((one) => [one.endLine, one.outdated]), [[5, true]]);
});

test("another attempt's comments are others, and what a browser kept that is no list is nothing", () => {
  assert.notEqual(idOf(COMMENT), idOf({ ...COMMENT, attempt: 3 }));
  assert.deepEqual([...readIds('["review 2 0", 3]')], ["review 2 0"]);
  for (const text of [null, "", "{", "{}", "7"]) assert.equal(readIds(text).size, 0);
});
