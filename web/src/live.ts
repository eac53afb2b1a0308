// Joins the daemon's streams to the store. All tabs keep one stream open together, that of
// everything. The past of a session is read from its own stream, which is closed again. What a fact
// alone cannot tell is asked for a moment later, once for many facts.
import { batch, computed, effect, untracked } from "@preact/signals";
import type { Envelope, Interventions, Snapshot, Workflow } from "./api";
import { isOver } from "./api";
import { Refused, access, ask, credential, doubt, get, ofWorkflow } from "./http";
import { shareStream } from "./shared-stream";
import { follow, type Health, type Message } from "./sse";
import { arrive, connection, world } from "./store";

/** How long facts are gathered before they are taken in together. */
const GATHER = 16;
/** How long to wait for more facts before a session is asked for again. */
const SETTLE = 120;
/** At most this often is a busy session asked for again. */
const BUSY = 750;
/** How often a session is asked for again whose agents wait for a slot. */
const QUEUED_AGAIN = 2000;
/** Of how many sessions that run are the agents known before they are looked at. */
const KNOWN_AHEAD = 60;

/** Gathers envelopes and hands them over together. */
function gatherer(hand: (envelopes: Envelope[]) => void) {
  let gathered: Envelope[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered.length === 0) return;
    const envelopes = gathered;
    gathered = [];
    batch(() => hand(envelopes));
  };
  return {
    push: (envelope: Envelope) => {
      gathered.push(envelope);
      timer ??= setTimeout(flush, GATHER);
    },
    flush,
  };
}

/** Runs something soon, once however often it is wished, and not too often. */
function soon(run: () => Promise<void>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let again = false;
  let last = 0;
  const wish = () => {
    if (running) {
      again = true;
      return;
    }
    if (timer !== undefined) return;
    const pause = Math.max(SETTLE, last + BUSY - Date.now());
    timer = setTimeout(() => {
      timer = undefined;
      running = true;
      last = Date.now();
      void run().catch(() => undefined).finally(() => {
        running = false;
        if (again) {
          again = false;
          wish();
        }
      });
    }, pause);
  };
  return wish;
}

const refreshWaiting = soon(async () => {
  const { interventions } = await get<Interventions>("/interventions");
  arrive({ type: "waiting", items: interventions });
});

/** Asks anew what waits, for cards that turned out to be old. */
export async function lookAgain(): Promise<void> {
  const { interventions } = await get<Interventions>("/interventions");
  arrive({ type: "waiting", items: interventions });
}

const refreshers = new Map<string, () => void>();

/** Asks for the details of a session soon. */
export function refresh(id: string): void {
  let run = refreshers.get(id);
  if (!run) {
    run = soon(() => load(id));
    refreshers.set(id, run);
  }
  run();
}

/** Asks for the details of a session now. */
export async function load(id: string): Promise<void> {
  try {
    const workflow = await get<Workflow>(ofWorkflow(id));
    arrive({ type: "detail", workflow });
    tidyUp();
    if (workflow.tasks.some((task) => task.queued)) lookForSlot(id);
  } catch (error) {
    if (error instanceof Refused && error.code === "workflow-not-found") {
      arrive({ type: "forgotten", id });
    }
    throw error;
  }
}

const queued = new Set<string>();

/** Looks again at a session whose agents wait for a slot: that one has got it is no fact. */
function lookForSlot(id: string): void {
  if (queued.has(id)) return;
  queued.add(id);
  setTimeout(() => {
    queued.delete(id);
    void load(id).catch(() => undefined);
  }, QUEUED_AGAIN);
}

/** Lets go of what was known of sessions that are over, once there is a lot of it. */
function tidyUp(): void {
  arrive({ type: "tidied", watched });
  const { details } = world.value;
  for (const id of refreshers.keys()) if (!details.has(id)) refreshers.delete(id);
}

/** What has no fact of its own, or more in it than a fact tells. */
const TELLS_MORE = /^(workflow\.|session\.storage|tree\.(wanted|ready|removed)|task\.(started|ended|stopping|released)|agent\.usage|input\.)/;

function take(envelopes: Envelope[]): void {
  arrive({ type: "everywhere", envelopes });
  for (const { type, workflowId } of envelopes) {
    if (type === "workflow.intervention.required") refreshWaiting();
    const tells = workflowId === watched ? TELLS_MORE.test(type) : type === "task.started";
    if (tells) refresh(workflowId);
    if (type === "task.started" || type === "task.ended") refreshSharing(workflowId);
  }
  for (const id of world.value.stale) refresh(id);
  for (const [id, missing] of world.value.behind) catchUp(id, missing);
}

/** Of so many sessions it is asked again whether they share their folder once an agent came or went. */
const SHARING_AGAIN = 8;

/** Who else writes in its folder is no fact of a session: an agent of another one came or went. */
function refreshSharing(id: string): void {
  const { baseDir } = world.value.sessions.get(id) ?? {};
  [...world.value.details.values()]
    .filter((one) => one.id !== id && !isOver(one.status) && one.baseDir === baseDir && (one.running > 0 || one.sharing))
    .slice(0, SHARING_AGAIN)
    .forEach((one) => refresh(one.id));
}

/** Names of messages that are no envelopes. */
const ASIDE = new Set(["snapshot", "gap", "lagged", "bye", "stopping", "end", "task.output", "message"]);

const read = <T>(message: Message): T => JSON.parse(message.data) as T;

/** Follows the stream of all sessions unless this browser has to sign in first. */
export function connect(): void {
  const signedOut = computed(() => access.value === "out");
  effect(() => {
    if (signedOut.value) {
      connection.value = "signed-out";
      return;
    }
    connection.value = "connecting";
    return untracked(followEverything);
  });
  void credential().catch(() => undefined);
}

function followEverything(): () => void {
  const gathered = gatherer(take);
  const shared = shareStream({
    open: (told) => follow({
      cursor: () => (told.fresh() ? null : world.value.pos?.toString() ?? null),
      open: (after, signal) =>
        ask("/events?live=false", { headers: after === null ? {} : { "Last-Event-ID": after }, signal }),
      message: told.message,
      before: () => gathered.flush(),
      health: told.health,
      fatal: () => access.value === "out",
    }),
    hear: (message) => {
      if (message.event === "snapshot") {
        gathered.flush();
        arrive({ type: "snapshot", snapshot: read<Snapshot>(message) });
        lookAhead();
      } else if (!ASIDE.has(message.event)) {
        gathered.push(read<Envelope>(message));
      }
    },
    health: (health) => {
      // Another program may have taken the port; the daemon must show itself again.
      if (health === "lost") doubt();
      if (access.value !== "out") connection.value = connectionOf(health);
    },
    pos: () => world.value.pos,
  });
  const nudge = () => shared.nudge();
  const look = () => {
    if (!document.hidden) shared.shown();
    shared.nudge();
  };
  window.addEventListener("online", nudge);
  document.addEventListener("visibilitychange", look);
  return () => {
    window.removeEventListener("online", nudge);
    document.removeEventListener("visibilitychange", look);
    shared.stop();
    gathered.flush();
  };
}

const connectionOf = (health: Health) => (health === "open" ? "open" : health === "lost" ? "lost" : connection.peek() === "lost" ? "lost" : "connecting");

/** Learns which agents the sessions that run have, the newest first, a few at a time. */
function lookAhead(): void {
  const wanted = [...world.value.sessions.values()]
    .filter((item) => !item.foreign && !isOver(item.status) && (item.running > 0 || item.waiting > 0 || item.status === "running"))
    .sort((one, two) => two.updatedAt - one.updatedAt)
    .slice(0, KNOWN_AHEAD)
    .map((item) => item.id);
  const next = async (): Promise<void> => {
    const id = wanted.shift();
    if (id === undefined) return;
    await load(id).catch(() => undefined);
    await next();
  };
  for (let lane = 0; lane < 4; lane += 1) void next();
}

let watched: string | null = null;
/** How many facts of the past are asked for when a session is opened. */
const PAST = 1000;

/** Looks at one session closely, or at none. */
export function watch(id: string | null): void {
  if (watched === id) return;
  watched = id;
  if (id === null) return;
  void load(id).then(() => catchUp(id, world.value.details.get(id)?.lastSeq ?? 0), () => undefined);
}

const reading = new Map<string, { target: number }>();

/** Reads facts of a session from its own stream, up to this one. */
function catchUp(id: string, missing: number): void {
  const current = reading.get(id);
  if (current) {
    current.target = Math.max(current.target, missing);
    return;
  }
  const lastOf = () => world.value.timelines.get(id)?.at(-1)?.seq ?? 0;
  if (lastOf() >= missing) return;
  const begin = Math.max(0, missing - PAST);
  const wanted = { target: missing };
  reading.set(id, wanted);
  const gathered = gatherer((envelopes) => arrive({ type: "session", envelopes }));
  follow({
    cursor: () => String(Math.max(begin, lastOf())),
    open: (after, signal) =>
      ask(ofWorkflow(id, "/events?live=false"), { headers: { "Last-Event-ID": after ?? "0" }, signal }),
    message: (message) => {
      if (message.event === "end") return true;
      if (ASIDE.has(message.event)) return false;
      const envelope = read<Envelope>(message);
      gathered.push(envelope);
      return (envelope.seq ?? 0) >= wanted.target;
    },
    before: () => gathered.flush(),
    health: (health, why) => {
      if (health !== "ended" && !isGone(why)) return;
      gathered.flush();
      reading.delete(id);
    },
    fatal: isGone,
  });
}

const isGone = (why: unknown): boolean =>
  why instanceof Refused && [401, 404].includes(why.problem.status);
