import assert from "node:assert/strict";
import { test } from "node:test";
import { DECISION_LOCK_MS, DecisionLock } from "../src/decision-lock";

const cards = (...ids: string[]) => ids.map((id, at) => ({ id, key: `${at} digest` }));

const paint = (settling: DecisionLock, shown: { id: string; key: string }[], now: number) => {
  settling.placed(shown);
  settling.painted(now);
};

test("a card that was never painted cannot be decided", () => {
  assert.ok(new DecisionLock().left("a", 10_000) > 0);
});

test("a card can be decided once it has stood where it stands for a while", () => {
  const settling = new DecisionLock();
  paint(settling, cards("a", "b"), 1000);
  assert.equal(settling.left("a", 1000), DECISION_LOCK_MS);
  assert.equal(settling.left("a", 1000 + DECISION_LOCK_MS), 0);
});

test("a card that moves into the place of another is locked anew", () => {
  const settling = new DecisionLock();
  paint(settling, cards("a", "b"), 1000);
  paint(settling, cards("b"), 5000);
  assert.equal(settling.left("b", 5001), DECISION_LOCK_MS - 1);
  assert.equal(settling.left("b", 5000 + DECISION_LOCK_MS), 0);
});

test("a card that shows another question is locked anew, one that stays as it is is not", () => {
  const settling = new DecisionLock();
  paint(settling, [{ id: "a", key: "0 one" }, { id: "b", key: "1 one" }], 1000);
  paint(settling, [{ id: "a", key: "0 two" }, { id: "b", key: "1 one" }], 5000);
  assert.ok(settling.left("a", 5010) > 0);
  assert.equal(settling.left("b", 5010), 0);
});

test("the card that keys are for is locked if it was not chosen by a person", () => {
  const settling = new DecisionLock();
  paint(settling, cards("a", "b"), 1000);
  settling.select("a", true, 4000);
  assert.equal(settling.left("a", 4001), 0);
  settling.select("b", false, 5000);
  assert.ok(settling.left("b", 5001) > 0);
  assert.equal(settling.left("b", 5000 + DECISION_LOCK_MS), 0);
});

test("a card that moved is locked before it is painted where it stands now", () => {
  const settling = new DecisionLock();
  paint(settling, cards("a", "b", "c"), 1000);
  settling.placed(cards("a", "c"));
  assert.equal(settling.left("a", 5000), 0);
  assert.equal(settling.left("c", 5000), DECISION_LOCK_MS);
  settling.painted(5030);
  assert.equal(settling.left("c", 5030 + DECISION_LOCK_MS - 1), 1);
  assert.equal(settling.left("c", 5030 + DECISION_LOCK_MS), 0);
});
