// Which questions can be answered with nothing but Enter.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Choice } from "../src/api";
import { enterChoice } from "../src/labels";

test("Enter alone is offered where no rule knows what the program asks", () => {
  const options: Choice[] = ["answer", "deny"];
  assert.equal(enterChoice({ kind: "unknown-state", options: ["complete", "send", "stop"] }), "send");
  assert.equal(enterChoice({ kind: "choice", rule: "generic:press-key", options }), "answer");
  assert.equal(enterChoice({ kind: "choice", rule: "interaction_choice", options }), null);
  const entries = [{ id: "1", label: "Press Enter" }];
  assert.equal(enterChoice({ kind: "choice", rule: "generic:press-key", entries, options }), null, "it has a button");
  assert.equal(enterChoice({ kind: "ended-turn", options: ["complete", "send", "stop"] }), null);
});
