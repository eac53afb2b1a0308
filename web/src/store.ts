// Everything the page knows, in one place. `reduce` is a plain function from what was known and
// what arrived to what is known now; the views are functions of the result. What did not change
// keeps its identity, so that only what changed is drawn again.
import { computed, signal } from "@preact/signals";
import type {
  Envelope, Intervention, InterventionItem, PlanLane, PlanRow, Snapshot, TaskItem, TaskStatus,
  Verdict, Workflow, WorkflowItem, WorkflowStatus,
} from "./api";
import { isOver } from "./api";
import { RUN_TREE } from "./api-trees";

/** The newest facts of a session that are kept to be shown. */
export const LONGEST_TIMELINE = 2000;

/** Of so many sessions are the facts kept, and of so many that are over everything else. A page may
 *  be open for weeks. */
export const MOST_TIMELINES = 8;
export const MOST_OVER = 40;

export interface World {
  /** The place in the daemon's stream that all of this has taken in; nothing before a snapshot. */
  readonly pos: number | null;
  readonly sessions: ReadonlyMap<string, WorkflowItem>;
  /** What waits for a person, the longest waiting first. */
  readonly waiting: readonly InterventionItem[];
  /** Sessions of which everything is known. */
  readonly details: ReadonlyMap<string, Workflow>;
  /** The facts of sessions that are looked at, by their number in the session, without holes. */
  readonly timelines: ReadonlyMap<string, readonly Envelope[]>;
  /** Sessions whose timelines miss facts up to this number. */
  readonly behind: ReadonlyMap<string, number>;
  /** Sessions whose details miss something and must be asked for again. */
  readonly stale: ReadonlySet<string>;
  /** When something was last told of the trees of a session, and of each of them under `session/tree`,
   *  by its place in the stream. What changed in a tree is asked for again then. */
  readonly treeTurns: ReadonlyMap<string, number>;
  /** The place from which on that is known. */
  readonly treesSince: number;
}

export const EMPTY: World = {
  pos: null,
  sessions: new Map(),
  waiting: [],
  details: new Map(),
  timelines: new Map(),
  behind: new Map(),
  stale: new Set(),
  treeTurns: new Map(),
  treesSince: 0,
};

/** When something was last told of the trees of a session, or of one of them. */
export const treeTurn = ({ treeTurns, treesSince }: World, id: string, tree?: string): number =>
  treeTurns.get(tree === undefined ? id : `${id}/${tree}`) ?? treesSince;

export type Arrival =
  | { type: "snapshot"; snapshot: Snapshot }
  /** Facts, and what is live, from the stream of everything. */
  | { type: "everywhere"; envelopes: readonly Envelope[] }
  /** Facts of one session, read from its own stream, each after the one before. */
  | { type: "session"; envelopes: readonly Envelope[] }
  | { type: "detail"; workflow: Workflow }
  /** What an agent does, told by its terminal. */
  | { type: "verdict"; id: string; task: string; verdict: Verdict; at: number }
  | { type: "waiting"; items: readonly InterventionItem[] }
  | { type: "listed"; items: readonly WorkflowItem[] }
  | { type: "forgotten"; id: string }
  /** Details and timelines that no view shows may be dropped. */
  | { type: "tidied"; watched: string | null };

export function reduce(world: World, arrival: Arrival): World {
  switch (arrival.type) {
    case "snapshot": {
      const { pos, workflows, interventions } = arrival.snapshot;
      return {
        ...world,
        pos,
        sessions: new Map(workflows.map((item) => [item.id, item])),
        waiting: inOrder(interventions),
        stale: new Set(world.details.keys()),
        // What was told of trees in between is not known.
        treeTurns: new Map(),
        treesSince: pos,
      };
    }
    case "everywhere":
      return arrival.envelopes.reduce(everywhere, world);
    case "session":
      return inSession(world, arrival.envelopes);
    case "detail":
      return detail(world, arrival.workflow);
    case "verdict":
      return doing(world, arrival);
    case "waiting":
      return { ...world, waiting: inOrder(arrival.items) };
    case "listed": {
      const sessions = new Map(world.sessions);
      for (const item of arrival.items) if (!sessions.has(item.id)) sessions.set(item.id, item);
      return sessions.size === world.sessions.size ? world : { ...world, sessions };
    }
    case "forgotten":
      return forget(world, arrival.id);
    case "tidied":
      return tidied(world, arrival.watched);
  }
}

const inOrder = (items: readonly InterventionItem[]): InterventionItem[] =>
  [...items].sort((one, two) => one.createdAt - two.createdAt || (one.id < two.id ? -1 : 1));

function forget(world: World, id: string): World {
  const without = <V>(map: ReadonlyMap<string, V>) => {
    if (!map.has(id)) return map;
    const copy = new Map(map);
    copy.delete(id);
    return copy;
  };
  return {
    ...world,
    sessions: without(world.sessions),
    details: without(world.details),
    timelines: without(world.timelines),
    behind: without(world.behind),
    waiting: world.waiting.filter((item) => item.workflowId !== id),
  };
}

/** Without the details of all but the newest sessions that are over, and with the facts of only those
 *  that were read last. Either is asked for again when a view shows the session. */
function tidied(world: World, watched: string | null): World {
  const over = [...world.details.values()].filter((one) => isOver(one.status) && one.id !== watched);
  const timelines = [...world.timelines.keys()].filter((id) => id !== watched);
  const many = over.length - MOST_OVER;
  const long = timelines.length - MOST_TIMELINES;
  if (many <= 0 && long <= 0) return world;
  over.sort((one, two) => one.updatedAt - two.updatedAt);
  const without = <V>(map: ReadonlyMap<string, V>, ids: readonly string[]) => {
    const copy = new Map(map);
    for (const id of ids) copy.delete(id);
    return copy;
  };
  const old = over.slice(0, Math.max(0, many)).map((one) => one.id);
  const unread = timelines.slice(0, Math.max(0, long));
  return {
    ...world,
    details: without(world.details, old),
    stale: new Set([...world.stale].filter((id) => !old.includes(id))),
    timelines: without(world.timelines, unread),
    behind: without(world.behind, unread),
  };
}

function detail(world: World, workflow: Workflow): World {
  const known = world.details.get(workflow.id);
  // An answer that is older than what has arrived since would take the page back in time.
  if (known && known.lastSeq > workflow.lastSeq) return world;
  const details = new Map(world.details).set(workflow.id, workflow);
  const stale = new Set(world.stale);
  stale.delete(workflow.id);
  let { sessions } = world;
  if (!sessions.has(workflow.id)) sessions = new Map(sessions).set(workflow.id, itemOf(workflow));
  return { ...world, details, stale, sessions };
}

function itemOf(workflow: Workflow): WorkflowItem {
  const { id, name, goal, status, state, baseDir, createdAt, updatedAt, waiting, running } = workflow;
  return {
    id, name, goal: goal ?? null, status, state, baseDir, createdAt, updatedAt, waiting, running,
    kept: workflow.kept ?? false,
    foreign: workflow.foreign ?? false,
  };
}

/** One envelope of the stream of everything: counts once, by its place in that stream. */
function everywhere(world: World, envelope: Envelope): World {
  const pos = envelope.pos ?? null;
  // Told and not kept, so it has no place in the stream. Whatever is recorded after it ends it.
  if (envelope.type === "session.storage") {
    const { problem } = envelope.data as { problem?: unknown };
    return { ...world, sessions: waitsForDisk(world.sessions, envelope.workflowId, String(problem)) };
  }
  if (pos === null || (world.pos !== null && pos <= world.pos)) return world;
  let next: World = { ...world, pos };
  if (envelope.type === "session.deleted") return forget(next, envelope.workflowId);
  next = { ...next, sessions: listed(waitsForDisk(next.sessions, envelope.workflowId, null), envelope) };
  next = { ...next, waiting: queued(next, envelope), treeTurns: treeTurns(next.treeTurns, envelope, pos) };
  return appended(inDetail(next, envelope), envelope);
}

/** The tree that a fact is about, as requests name it. */
export function treeOf(data: Envelope["data"]): string | null {
  const tree = data.tree as string | { task?: unknown } | undefined;
  if (tree === "run") return RUN_TREE;
  return typeof tree === "object" && typeof tree.task === "string" ? tree.task : null;
}

function treeTurns(turns: ReadonlyMap<string, number>, envelope: Envelope, pos: number): ReadonlyMap<string, number> {
  const tree = envelope.type.startsWith("tree.") ? treeOf(envelope.data) : null;
  if (tree === null) return turns;
  const { workflowId: id } = envelope;
  const next = new Map(turns).set(id, pos).set(`${id}/${tree}`, pos);
  // What is landed may be in the tree of the run now.
  return envelope.type === "tree.landed" ? next.set(`${id}/${RUN_TREE}`, pos) : next;
}

function waitsForDisk(
  sessions: ReadonlyMap<string, WorkflowItem>, id: string, problem: string | null,
): ReadonlyMap<string, WorkflowItem> {
  const item = sessions.get(id);
  if (!item || (item.waitsForDisk ?? null) === problem) return sessions;
  return new Map(sessions).set(id, { ...item, waitsForDisk: problem });
}

/** A fact from elsewhere goes to the end of a timeline only if nothing is missing before it. */
function appended(world: World, envelope: Envelope): World {
  const { workflowId: id } = envelope;
  const seq = envelope.seq ?? 0;
  const known = world.timelines.get(id);
  const last = known?.at(-1)?.seq ?? 0;
  if (!known || seq <= last) return world;
  if (seq > last + 1) {
    const missing = Math.max(seq, world.behind.get(id) ?? 0);
    return { ...world, behind: new Map(world.behind).set(id, missing) };
  }
  const timeline = [...known, envelope].slice(-LONGEST_TIMELINE);
  return { ...world, timelines: new Map(world.timelines).set(id, timeline) };
}

/** Envelopes of the stream of one session: its timeline, and its details by their numbers. */
function inSession(world: World, envelopes: readonly Envelope[]): World {
  let next = world;
  const fresh = new Map<string, Envelope[]>();
  for (const envelope of envelopes) {
    const { workflowId: id } = envelope;
    const seq = envelope.seq ?? null;
    if (seq === null) continue;
    next = inDetail(next, envelope);
    const more = fresh.get(id) ?? [];
    const last = more.at(-1)?.seq ?? next.timelines.get(id)?.at(-1)?.seq ?? 0;
    if (seq <= last) continue;
    more.push(envelope);
    fresh.set(id, more);
  }
  if (fresh.size === 0) return next;
  const timelines = new Map(next.timelines);
  const behind = new Map(next.behind);
  for (const [id, more] of fresh) {
    const all = [...(timelines.get(id) ?? []), ...more].slice(-LONGEST_TIMELINE);
    // What was read last stands last.
    timelines.delete(id);
    timelines.set(id, all);
    if ((more.at(-1)?.seq ?? 0) >= (behind.get(id) ?? 0)) behind.delete(id);
  }
  return { ...next, timelines, behind };
}

const STATUSES: Record<string, WorkflowStatus> = {
  "workflow.started": "running",
  "workflow.blocked": "blocked",
  "workflow.resumed": "running",
  "workflow.retried": "running",
  "workflow.completed": "completed",
  "workflow.failed": "failed",
  "workflow.cancelled": "cancelled",
};

function listed(
  sessions: ReadonlyMap<string, WorkflowItem>,
  envelope: Envelope,
): ReadonlyMap<string, WorkflowItem> {
  const { data, workflowId: id, time } = envelope;
  if (envelope.type === "session.created") {
    const item: WorkflowItem = {
      id,
      name: text(data.name),
      goal: typeof data.goal === "string" ? data.goal : null,
      status: "pending",
      state: "IDLE",
      baseDir: text(data.baseDir),
      createdAt: time,
      updatedAt: time,
      waiting: 0,
      running: 0,
    };
    return new Map(sessions).set(id, item);
  }
  const item = sessions.get(id);
  if (!item) return sessions;
  return new Map(sessions).set(id, changed(item, envelope));
}

/** What a fact means for the line of a session in a list. */
function changed<T extends WorkflowItem>(item: T, envelope: Envelope): T {
  const next: T = { ...item, updatedAt: Math.max(item.updatedAt, envelope.time) };
  const status = STATUSES[envelope.type];
  if (status) next.status = status;
  if (status && isOver(status)) next.running = 0;
  switch (envelope.type) {
    case "task.started":
      next.running += 1;
      break;
    case "task.ended":
      next.running = Math.max(0, next.running - 1);
      break;
    case "workflow.intervention.required":
      next.waiting += 1;
      break;
    case "workflow.intervention.resolved":
    case "workflow.intervention.withdrawn":
      next.waiting = Math.max(0, next.waiting - 1);
      break;
  }
  return next;
}

function queued(world: World, envelope: Envelope): readonly InterventionItem[] {
  const { waiting } = world;
  switch (envelope.type) {
    case "workflow.intervention.required": {
      const intervention = envelope.data.intervention as Intervention;
      if (waiting.some((item) => item.id === intervention.id)) return waiting;
      const session = world.sessions.get(envelope.workflowId);
      const task = world.details.get(envelope.workflowId)?.tasks
        .find((item) => item.id === intervention.task);
      return inOrder([...waiting, {
        ...intervention,
        workflowName: session?.name ?? "",
        goal: session?.goal ?? null,
        baseDir: session?.baseDir ?? "",
        adapter: task?.adapter ?? null,
      }]);
    }
    case "workflow.intervention.resolved":
    case "workflow.intervention.withdrawn":
      return waiting.filter((item) => item.id !== envelope.data.id);
    case "workflow.cancelled":
      return waiting.filter((item) => item.workflowId !== envelope.workflowId);
    // Any other end takes nothing away: what the run asked was withdrawn before it, and what is
    // left is asked by agents that live on.
    default:
      return waiting;
  }
}

/** A fact counts once for a session's details, by its number in the session. */
function inDetail(world: World, envelope: Envelope): World {
  const known = world.details.get(envelope.workflowId);
  const seq = envelope.seq ?? null;
  if (!known || seq === null || seq <= known.lastSeq) return world;
  if (seq > known.lastSeq + 1) {
    return { ...world, stale: new Set(world.stale).add(known.id) };
  }
  const workflow = { ...advance(known, envelope), lastSeq: seq };
  return { ...world, details: new Map(world.details).set(known.id, workflow) };
}

/** What a fact means for the details of a session, as far as that can be seen from the fact. */
function advance(known: Workflow, envelope: Envelope): Workflow {
  let workflow = changed(known, envelope);
  const status = STATUSES[envelope.type];
  if (status) workflow = { ...workflow, plan: { ...workflow.plan, status } };
  if (envelope.type.startsWith("workflow.step.")) return inStep(workflow, envelope);
  if (envelope.type.startsWith("workflow.intervention.")) return asked(workflow, envelope);
  if (envelope.type === "task.started") return begun(workflow, envelope);
  if (envelope.type === "task.ended" || envelope.type === "task.status") {
    const { data } = envelope;
    const ended = envelope.type === "task.ended";
    return withTask(workflow, text(data.task), (task) => ({
      ...task,
      status: data.status as TaskStatus,
      ...(ended ? { live: false, queued: false, endedAt: envelope.time, note: reasonOf(data) } : {}),
    }));
  }
  return workflow;
}

const reasonOf = (data: Record<string, unknown>): string => {
  const outcome = data.outcome as { reason?: unknown } | undefined;
  return text(outcome?.reason);
};

function inStep(workflow: Workflow, envelope: Envelope): Workflow {
  const { data, type, time } = envelope;
  const word = type.slice("workflow.step.".length);
  const rows = workflow.plan.rows.map((row, index): PlanRow => {
    if (index !== data.index) return row;
    if (word === "started") return { ...row, status: "running", startedAt: time, endedAt: null };
    const note = text(data.summary) || text(data.error) || text(data.reason) || (row.note ?? "");
    return { ...row, status: word, note, endedAt: time };
  });
  return { ...workflow, plan: { ...workflow.plan, rows } };
}

/** What a step is called that is over. */
const OVER_ROWS: ReadonlySet<string> = new Set(["completed", "failed", "skipped", "cancelled"]);

function asked(workflow: Workflow, envelope: Envelope): Workflow {
  const { data, type } = envelope;
  if (type === "workflow.intervention.required") {
    const intervention = data.intervention as Intervention;
    return {
      ...workflow,
      interventions: [...workflow.interventions, intervention],
      // An agent that was left alive asks when its step is over, and blocks nothing.
      plan: withRow(workflow, intervention.step, (row) =>
        OVER_ROWS.has(row.status) ? row : { ...row, status: "blocked" }),
    };
  }
  const gone = workflow.interventions.find((item) => item.id === data.id);
  const interventions = workflow.interventions.filter((item) => item.id !== data.id);
  if (!gone || interventions.some((item) => item.step === gone.step)) {
    return { ...workflow, interventions };
  }
  return {
    ...workflow,
    interventions,
    plan: withRow(workflow, gone.step, (row) =>
      row.status === "blocked" ? { ...row, status: "running" } : row),
  };
}

const withRow = (workflow: Workflow, step: string, change: (row: PlanRow) => PlanRow) => ({
  ...workflow.plan,
  rows: workflow.plan.rows.map((row) => (row.step === step ? change(row) : row)),
});

interface WrittenSpec {
  job: { task: string; attempt: number };
  step: string;
  name: string;
  work: { kind: "agent"; adapter: string; mode: TaskItem["mode"] } | { kind: "shell" };
}

function begun(workflow: Workflow, envelope: Envelope): Workflow {
  const spec = envelope.data.spec as WrittenSpec;
  const task: TaskItem = {
    id: spec.job.task,
    name: spec.name,
    step: spec.step,
    status: "RUNNING",
    attempt: spec.job.attempt,
    adapter: spec.work.kind === "agent" ? spec.work.adapter : "shell",
    mode: spec.work.kind === "agent" ? spec.work.mode : "headless",
    live: true,
    startedAt: envelope.time,
  };
  const known = workflow.tasks.find((item) => item.id === task.id);
  if (known?.tree) task.tree = known.tree;
  const tasks = known ? workflow.tasks : [...workflow.tasks, task];
  return withTask({ ...workflow, tasks }, task.id, () => task);
}

/** Changes a task, and its lane in the plan with it. */
function withTask(workflow: Workflow, id: string, change: (task: TaskItem) => TaskItem): Workflow {
  let now: TaskItem | undefined;
  const tasks = workflow.tasks.map((task) => (task.id === id ? (now = change(task)) : task));
  if (!now) return workflow;
  const task = now;
  const lane: PlanLane = {
    task: task.id,
    name: task.name,
    status: task.status,
    attempt: task.attempt,
    adapter: task.adapter,
    note: task.note ?? "",
    startedAt: task.startedAt ?? null,
    endedAt: task.endedAt ?? null,
  };
  const plan = withRow(workflow, task.step, (row) => {
    const there = row.lanes.some((item) => item.task === id);
    // A plan that has not begun names some tasks only roughly; the rest comes with the details.
    const lanes = there
      ? row.lanes.map((item) => (item.task === id ? { ...item, ...lane } : item))
      : row.lanes;
    return { ...row, lanes };
  });
  return { ...workflow, tasks, plan };
}

/** What an agent does changes what is shown, and nothing that is counted. */
function doing(world: World, told: { id: string; task: string; verdict: Verdict; at: number }): World {
  const known = world.details.get(told.id);
  if (!known) return world;
  const tasks = known.tasks.map((task) =>
    task.id === told.task ? { ...task, queued: false, verdict: told.verdict, since: told.at } : task);
  return { ...world, details: new Map(world.details).set(known.id, { ...known, tasks }) };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** The one store. */
export const world = signal<World>(EMPTY);

export function arrive(arrival: Arrival): void {
  world.value = reduce(world.value, arrival);
}

/** How the stream of everything is. */
export type Connection = "connecting" | "open" | "lost" | "signed-out";
export const connection = signal<Connection>("connecting");

/** Whether there is anything to show yet. */
export const loaded = computed(() => world.value.pos !== null);
export const waiting = computed(() => world.value.waiting);
export const details = computed(() => world.value.details);

/** All sessions, the newest first. */
const everySession = computed(() => {
  const all = [...world.value.sessions.values()];
  return all.sort((one, two) => two.createdAt - one.createdAt || (two.id < one.id ? -1 : 1));
});

/** The sessions of this user. */
export const sessions = computed(() => everySession.value.filter((item) => !item.foreign));

/** The sessions that were not made by this user in their folder. What their files say about their
 * status is not a status here. */
export const foreignSessions = computed(() => everySession.value.filter((item) => item.foreign));
