import assert from "node:assert/strict";
import { test } from "node:test";
import type { Envelope, InterventionItem, Workflow, WorkflowItem } from "../src/api";
import { EMPTY, LONGEST_TIMELINE, MOST_OVER, MOST_TIMELINES, reduce, treeTurn, type World } from "../src/store";

const ID = "0199a2b4-0000-7000-8000-000000000001";

const item = (more: Partial<WorkflowItem> = {}): WorkflowItem => ({
  id: ID, name: "demo", goal: null, status: "running", state: "RUNNING", baseDir: "/w", createdAt: 1, updatedAt: 1,
  waiting: 0, running: 1, ...more,
});

const question = (number: number, createdAt = number): InterventionItem => ({
  id: `${ID}/${number}`, workflowId: ID, step: "build", task: "build", kind: "approval", reason: "may it", options: ["approve", "deny"],
  createdAt, workflowName: "demo", baseDir: "/w", digest: "d",
});

const detail = (lastSeq: number, more: Partial<Workflow> = {}): Workflow => ({
  ...item(), live: true, lastSeq,
  session: {
    v: 1, sessionId: ID, name: "demo", workflow: "demo", status: "running", workflowDefinition: {}, currentStageIndex: 0, taskStatus: {},
    history: [], variables: {}, errors: [], interventions: [], createdAt: 1,
  },
  plan: { name: "demo", status: "running", rows: [{ step: "build", type: "agent", status: "running", lanes: [{ task: "build", name: "build", status: "RUNNING", attempt: 1 }] }] },
  tasks: [{ id: "build", name: "build", step: "build", status: "RUNNING", attempt: 1, adapter: "demo", mode: "interactive", live: true }],
  interventions: [], ...more,
});

const fact = (pos: number, seq: number, type: string, data: Record<string, unknown> = {}): Envelope =>
  ({ v: 1, pos, seq, time: 1000 + pos, type, workflowId: ID, data });

const snapshot = (world: World = EMPTY, waiting: InterventionItem[] = []): World =>
  reduce(world, { type: "snapshot", snapshot: { pos: 10, workflows: [item({ waiting: waiting.length })], interventions: waiting } });

const everywhere = (world: World, ...envelopes: Envelope[]): World => reduce(world, { type: "everywhere", envelopes });

test("a fact counts once, however often it arrives", () => {
  const asked = fact(11, 5, "workflow.intervention.required", { intervention: question(1) });
  const once = everywhere(snapshot(), asked);
  assert.equal(once.waiting.length, 1);
  assert.equal(once.sessions.get(ID)?.waiting, 1);
  assert.equal(everywhere(once, asked), once);
  const again = everywhere(once, asked, fact(12, 6, "workflow.blocked"), asked);
  assert.equal(again.waiting.length, 1);
  assert.equal(again.sessions.get(ID)?.status, "blocked");
  assert.equal(again.pos, 12);
});

test("a run that waits for its disk is shown so until something is recorded again", () => {
  const problem = "waits for disk space: cannot write";
  const told: Envelope = { ...fact(0, 0, "session.storage", { problem }), pos: null, seq: null };
  const stuck = everywhere(snapshot(), told);
  assert.equal(stuck.sessions.get(ID)?.waitsForDisk, problem);
  assert.equal(stuck.pos, 10);
  const again = everywhere(stuck, fact(11, 5, "workflow.blocked"));
  assert.equal(again.sessions.get(ID)?.waitsForDisk, null);
});

test("facts that a snapshot already has are not taken in again", () => {
  const world = snapshot();
  assert.equal(everywhere(world, fact(10, 4, "task.started"), fact(9, 3, "task.started")), world);
});

test("a snapshot of a daemon that began to count anew replaces what was known", () => {
  const later = everywhere(snapshot(), fact(900, 5, "workflow.blocked"));
  const anew = reduce(later, { type: "snapshot", snapshot: { pos: 3, workflows: [], interventions: [] } });
  assert.equal(anew.pos, 3);
  assert.equal(anew.sessions.size, 0);
});

test("what was decided or withdrawn no longer waits, and neither does anything of a run that is over", () => {
  let world = snapshot(EMPTY, [question(2), question(1), question(3)]);
  assert.deepEqual(world.waiting.map((one) => one.id), [`${ID}/1`, `${ID}/2`, `${ID}/3`]);
  world = everywhere(world, fact(11, 5, "workflow.intervention.resolved", { id: `${ID}/2` }));
  assert.deepEqual(world.waiting.map((one) => one.id), [`${ID}/1`, `${ID}/3`]);
  world = everywhere(world, fact(12, 6, "workflow.intervention.withdrawn", { id: `${ID}/1` }));
  assert.equal(world.sessions.get(ID)?.waiting, 1);
  world = everywhere(world, fact(13, 7, "workflow.cancelled", { by: "me" }));
  assert.equal(world.waiting.length, 0);
});

test("what an agent asks that was left alive waits on when its run is over, and blocks no step", () => {
  let world = reduce(snapshot(EMPTY, [question(1)]), { type: "detail", workflow: detail(4, { interventions: [question(1)] }) });
  const over = { ...detail(4).plan, rows: [{ ...detail(4).plan.rows[0]!, status: "completed" }] };
  world = reduce(world, { type: "detail", workflow: detail(5, { interventions: [question(1)], plan: over }) });
  world = everywhere(world, fact(11, 6, "workflow.completed"));
  assert.deepEqual(world.waiting.map((one) => one.id), [`${ID}/1`]);
  world = everywhere(world, fact(12, 7, "workflow.intervention.required", { intervention: question(2) }));
  assert.deepEqual(world.waiting.map((one) => one.id), [`${ID}/1`, `${ID}/2`]);
  const known = world.details.get(ID)!;
  assert.deepEqual([known.status, known.plan.rows[0]!.status, known.interventions.length], ["completed", "completed", 2]);
  world = everywhere(world, fact(13, 8, "workflow.intervention.resolved", { id: `${ID}/1` }), fact(14, 9, "workflow.intervention.withdrawn", { id: `${ID}/2` }));
  assert.equal(world.waiting.length, 0);
  assert.equal(world.details.get(ID)!.plan.rows[0]!.status, "completed");
});

test("a session that is made appears, and one that is deleted is gone with everything of it", () => {
  let world = everywhere(snapshot(), { ...fact(11, 1, "session.created", { name: "new", goal: "g", baseDir: "/x" }), workflowId: "other" });
  assert.equal(world.sessions.get("other")?.goal, "g");
  world = reduce(world, { type: "detail", workflow: detail(4) });
  world = everywhere(world, fact(12, 5, "session.deleted", { by: "me" }));
  assert.equal(world.sessions.has(ID), false);
  assert.equal(world.details.has(ID), false);
});

test("details advance by numbers without holes; a hole asks for them again", () => {
  let world = reduce(snapshot(), { type: "detail", workflow: detail(4) });
  world = everywhere(world, fact(11, 5, "task.ended", { task: "build", attempt: 1, status: "DONE", outcome: { ok: true, reason: "exit code 0" } }));
  const task = world.details.get(ID)!.tasks[0]!;
  assert.deepEqual([task.status, task.live, task.note], ["DONE", false, "exit code 0"]);
  assert.equal(world.details.get(ID)!.plan.rows[0]!.lanes[0]!.status, "DONE");
  world = everywhere(world, fact(13, 7, "workflow.completed"));
  assert.equal(world.details.get(ID)!.lastSeq, 5);
  assert.ok(world.stale.has(ID));
  world = reduce(world, { type: "detail", workflow: detail(7, { status: "completed" }) });
  assert.equal(world.stale.size, 0);
});

test("an answer that is older than what is known changes nothing", () => {
  const world = reduce(snapshot(), { type: "detail", workflow: detail(9, { status: "completed" }) });
  assert.equal(reduce(world, { type: "detail", workflow: detail(8) }), world);
});

test("a question blocks its step until the last one of it is answered", () => {
  let world = reduce(snapshot(), { type: "detail", workflow: detail(4) });
  const row = () => world.details.get(ID)!.plan.rows[0]!.status;
  world = everywhere(world, fact(11, 5, "workflow.intervention.required", { intervention: question(1) }));
  world = everywhere(world, fact(12, 6, "workflow.intervention.required", { intervention: question(2) }));
  assert.equal(row(), "blocked");
  world = everywhere(world, fact(13, 7, "workflow.intervention.resolved", { id: `${ID}/1` }));
  assert.equal(row(), "blocked");
  world = everywhere(world, fact(14, 8, "workflow.intervention.resolved", { id: `${ID}/2` }));
  assert.equal(row(), "running");
});

test("a timeline has every fact once and in order, whichever stream tells it first", () => {
  const own = (seq: number): Envelope => ({ v: 1, seq, time: seq, type: "timer.set", workflowId: ID, data: {} });
  const seqs = (world: World) => (world.timelines.get(ID) ?? []).map((one) => one.seq);
  let world = reduce(snapshot(), { type: "session", envelopes: [own(1), own(2), own(3)] });
  world = everywhere(world, fact(11, 3, "timer.set"), fact(12, 4, "timer.set"));
  world = reduce(world, { type: "session", envelopes: [own(3), own(4)] });
  assert.deepEqual(seqs(world), [1, 2, 3, 4]);
  world = everywhere(world, fact(15, 7, "timer.set"));
  assert.deepEqual(seqs(world), [1, 2, 3, 4]);
  assert.equal(world.behind.get(ID), 7);
  world = reduce(world, { type: "session", envelopes: [own(5), own(6), own(7)] });
  assert.deepEqual(seqs(world), [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(world.behind.size, 0);
});

test("a timeline is bounded", () => {
  const envelopes = Array.from({ length: LONGEST_TIMELINE + 50 }, (_, at): Envelope =>
    ({ v: 1, seq: at + 1, time: at, type: "timer.set", workflowId: ID, data: {} }));
  const world = reduce(snapshot(), { type: "session", envelopes });
  assert.equal(world.timelines.get(ID)!.length, LONGEST_TIMELINE);
  assert.equal(world.timelines.get(ID)!.at(-1)!.seq, LONGEST_TIMELINE + 50);
});

test("a task that begins is shown with its agent before the details are asked for again", () => {
  let world = reduce(snapshot(), { type: "detail", workflow: detail(4) });
  world = everywhere(world, fact(11, 5, "task.started", {
    spec: { job: { session: ID, task: "review", attempt: 2 }, step: "review", name: "review", work: { kind: "agent", adapter: "codex", mode: "headless" } },
  }));
  const task = world.details.get(ID)!.tasks[1]!;
  assert.deepEqual([task.id, task.adapter, task.mode, task.attempt, task.live], ["review", "codex", "headless", 2, true]);
});

test("what did not change keeps its identity", () => {
  const world = reduce(snapshot(), { type: "detail", workflow: detail(4) });
  const next = everywhere(world, { ...fact(11, 1, "workflow.started"), workflowId: "other" });
  assert.equal(next.details, world.details);
  assert.equal(next.waiting, world.waiting);
});

test("a page that is open for long lets go of what nobody looks at", () => {
  let world = snapshot();
  for (let number = 0; number < 200; number += 1) {
    const id = `session-${number}`;
    const status = number === 3 ? "running" : "completed";
    world = reduce(world, { type: "detail", workflow: detail(1, { id, status, updatedAt: number }) });
    world = reduce(world, { type: "session", envelopes: [{ ...fact(1, 1, "x"), workflowId: id }] });
    world = reduce(world, { type: "tidied", watched: "session-5" });
  }
  assert.equal(world.details.size, MOST_OVER + 2);
  assert.ok(["session-3", "session-5", "session-199"].every((id) => world.details.has(id)));
  assert.equal(world.timelines.size, MOST_TIMELINES + 1);
  assert.ok(world.timelines.has("session-5") && world.timelines.has("session-199"));
  assert.equal(reduce(world, { type: "tidied", watched: "session-5" }), world);
});

test("a fact about a tree is a reason to ask again what changed in it, and in no other", () => {
  const before = snapshot();
  const turns = (world: World) => [treeTurn(world, ID), treeTurn(world, ID, "build.1"), treeTurn(world, ID, "build.2"), treeTurn(world, ID, "@run")];
  const begin = before.pos!;
  assert.deepEqual(turns(before), [begin, begin, begin, begin]);
  const kept = reduce(before, { type: "everywhere", envelopes: [fact(begin + 1, 1, "tree.checkpoint", { tree: { task: "build.1" } }), fact(begin + 2, 2, "task.status", { task: "build.2" })] });
  assert.deepEqual(turns(kept), [begin + 1, begin + 1, begin, begin]);
  const landed = reduce(kept, { type: "everywhere", envelopes: [fact(begin + 3, 3, "tree.landed", { tree: { task: "build.2" }, onto: "coven/x" })] });
  assert.deepEqual(turns(landed), [begin + 3, begin + 1, begin + 3, begin + 3], "what is landed may be in the tree of the run now");
});
