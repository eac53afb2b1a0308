// A daemon of cardboard, to work on the page without the real one: it serves dist/ and speaks the
// same JSON about made-up sessions. `node dev/mock.mjs [port] [scene] [agents]`; scenes are empty,
// busy, attention, many and trees. Nothing of it is shipped.
import { createHash, webcrypto } from "node:crypto";
import { readFileSync, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { treeAnswer } from "./mock-trees.mjs";

const [port = "7171", scene = "attention", count = "100"] = process.argv.slice(2);
const dist = join(import.meta.dirname, "..", "dist");
const begin = Date.now();
const ago = (seconds) => begin - seconds * 1000;
const id = (number) => `0199a2b4-0000-7000-8000-${String(number).padStart(12, "0")}`;

const DIALOG = `╭──────────────────────────────────────────────────────────────╮
│  Bash command                                                │
│                                                              │
│    cargo test --workspace --no-fail-fast                     │
│    Run the whole test suite                                  │
│                                                              │
│  Do you want to proceed?                                     │
│  ❯ 1. Yes                                                    │
│    2. Yes, and don't ask again for cargo test commands       │
│    3. No, and tell Claude what to do differently (esc)       │
╰──────────────────────────────────────────────────────────────╯`;

const workflows = new Map();
let pos = 1;
const streams = new Set();

function task(name, step, status, adapter, extra = {}) {
  const over = ["DONE", "ERROR", "CANCELLED"].includes(status);
  return {
    id: name, name, step, status, attempt: status === "PENDING" ? 0 : 1, adapter, mode: "interactive",
    live: status === "RUNNING" || status === "WAITING_FOR_USER",
    ...(status === "PENDING" ? {} : { startedAt: ago(300) }), ...(over ? { endedAt: ago(40) } : {}),
    ...(status === "WAITING_FOR_USER" ? { verdict: { state: "awaiting", kind: "approval", evidence: { source: "screen", rule: "interaction_handler", region: "tail:15", text: "Do you want to proceed?", since: 12000 }, digest: "d1" } } : {}),
    ...(status === "RUNNING" ? { verdict: { state: "working", evidence: { source: "title", rule: "working", region: "title", text: "✦ Working", since: 2000 } }, since: ago(20) } : {}),
    ...extra,
  };
}

function add(number, name, goal, status, baseDir, rows, tasks, interventions = [], more = {}) {
  const session = id(number);
  const plan = {
    name: more.plan ?? name, status, goal,
    rows: rows.map(([step, type, state, note]) => ({
      step, type, status: state, ...(note ? { note } : {}),
      ...(state === "pending" ? {} : { startedAt: ago(400) }), ...(["completed", "failed", "skipped"].includes(state) ? { endedAt: ago(100) } : {}),
      lanes: tasks.filter((one) => one.step === step).map(({ id: lane, name: called, status: s, attempt, adapter, startedAt, endedAt, note: said }) => ({ task: lane, name: called, status: s, attempt, adapter, startedAt, endedAt, note: said })),
      counts: Object.fromEntries(Object.entries(Object.groupBy ? Object.groupBy(tasks.filter((one) => one.step === step), (one) => one.status) : {}).map(([key, list]) => [key, list.length])),
    })),
  };
  const waits = interventions.map((one, at) => ({
    id: `${session}/${at + 1}`, workflowId: session, createdAt: ago(130 - at * 20), ...one,
  }));
  const item = {
    id: session, name: `${name}-${number}`, goal, status, state: "RUNNING", baseDir, createdAt: ago(420 + number * 1300), updatedAt: ago(number * 60),
    waiting: waits.length, running: tasks.filter((one) => one.live).length,
  };
  workflows.set(session, {
    ...item, live: !["completed", "failed", "cancelled"].includes(status), lastSeq: 12, plan, tasks, interventions: waits,
    session: {
      v: 1, sessionId: session, name: item.name, workflow: plan.name, status, goal, baseDir, workflowDefinition: { source: "name: demo\nsteps: []\n" },
      currentStageIndex: 1, currentStep: rows.find((row) => row[2] === "running" || row[2] === "blocked")?.[0], taskStatus: {}, history: [],
      variables: { "input.spec": "docs/spec.md", tasks: [{ title: "Parse the header" }, { title: "Write the index" }] },
      errors: more.errors ?? [], interventions: waits, usage: { inputTokens: 184233, outputTokens: 20441, costUsd: 1.2432 },
      createdAt: item.createdAt, startedAt: ago(420), ...(item.live ? {} : { endedAt: ago(30) }),
    },
  });
}

const approval = (name, step, text = DIALOG) => ({ step, task: name, kind: "approval", reason: "Claude Code asks whether it may run a command", options: ["approve", "approve-always", "deny", "answer"], excerpt: text, digest: "d1" });

if (scene === "many") {
  const tasks = Array.from({ length: Number(count) }, (_, at) => task(`build.${at}`, "build", at % 9 === 0 ? "DONE" : at % 17 === 3 ? "ERROR" : "RUNNING", "claude"));
  add(1, "implement-feature", "Port the parser to the new grammar", "running", "/home/ada/code/parser", [["plan", "agent", "completed"], ["build", "parallel-agents", "running"], ["tests", "gate", "pending"]], tasks);
} else if (scene !== "empty") {
  const attention = scene === "attention" || scene === "trees";
  add(1, "implement-feature", "Implement the retention policy from docs/retention.md", attention ? "blocked" : "running", "/home/ada/code/coven",
    [["plan", "agent", "completed", "4 tasks"], ["build", "parallel-agents", attention ? "blocked" : "running"], ["review", "agent-loop", "pending"], ["tests", "gate", "pending"], ["stat", "script", "pending"]],
    [task("plan", "plan", "DONE", "claude"), task("build.0", "build", "DONE", "claude"), task("build.1", "build", attention ? "WAITING_FOR_USER" : "RUNNING", "claude"), task("build.2", "build", "RUNNING", "codex"), task("build.3", "build", "RUNNING", "gemini", { verdict: { state: "idle", evidence: { source: "title", rule: "idle", region: "title", text: "◇ Ready", since: 3 } } })],
    attention ? [approval("build.1", "build")] : []);
  add(2, "review-loop", "Review the storage rewrite", attention ? "blocked" : "running", "/home/ada/code/storage",
    [["review", "agent-loop", "completed", "2 rounds"], ["tests", "gate", attention ? "blocked" : "running", "cargo test"], ["pr", "script", "pending"]],
    [task("review.r1", "review", "DONE", "codex"), task("review.r1.arbiter", "review", "DONE", "claude", { mode: "headless" }), task("review.r2", "review", "DONE", "codex"), task("review.r2.arbiter", "review", "DONE", "claude", { mode: "headless" }), task("tests", "tests", "ERROR", "shell", { mode: "headless", note: "exit code 101" })],
    attention ? [{ step: "tests", task: "tests", kind: "failed-gate", reason: "The tests must pass before the pull request. The command ended with exit code 101.", options: ["retry", "skip", "abort"], excerpt: "failures:\n    journal::tests::a_torn_line_is_cut\n\ntest result: FAILED. 211 passed; 1 failed; 0 ignored" }] : []);
  add(3, "one-agent", "Explain the flaky test in scheduler.rs", "running", "/home/ada/code/scheduler", [["main", "stage", "running"]], [task("main", "main", "RUNNING", "gemini")],
    attention ? [{ step: "main", task: "main", kind: "ended-turn", reason: "Gemini CLI has finished its turn and waits for the next message", options: ["complete", "send", "stop"], excerpt: "✦ The test races the clock: `tick()` is called once before the timer is armed.\n  I suggest injecting the clock. Shall I make the change?", digest: "d3" }] : []);
  add(4, "prepare-pr", "Prepare the pull request for #214", "completed", "/home/ada/code/coven", [["diff", "script", "completed"], ["write", "agent", "completed"]], [task("diff", "diff", "DONE", "shell", { mode: "headless" }), task("write", "write", "DONE", "claude", { mode: "headless" })]);
  add(5, "spec-to-beads", "Split the search spec", "failed", "/home/ada/code/search", [["read", "agent", "failed", "the reply is no JSON"]], [task("read", "read", "ERROR", "qwen", { mode: "headless", note: "the reply is no JSON" })], [], { errors: [{ step: "read", error: "the reply is no JSON: expected value at line 1 column 1\n  1 | Sure! Here are the tasks\n    | ^" }] });
  add(6, "demo", null, "cancelled", "/home/ada/code/coven", [["tour", "agent", "skipped"]], []);
}

if (scene === "trees" || scene === "many") {
  const first = workflows.get(id(1));
  for (const one of first.tasks) one.tree = one.step === "build" ? one.id : "@run";
  first.sharing = { folder: "/home/ada/code/coven", agents: [{ workflow: id(1), workflowName: first.name, task: "plan", adapter: "claude" }, { workflow: id(3), workflowName: "one-agent-3", task: "main", adapter: "gemini" }] };
  if (scene === "trees") first.interventions = [
    { id: `${id(1)}/1`, workflowId: id(1), createdAt: ago(60), step: "build", task: "build.2", kind: "merge-conflict", reason: "what was done in the tree of build.2 conflicts with coven/brisk-otter in crates/store/src/retention.rs and docs/retention.md", options: ["resolve", "retry", "skip", "abort"] },
    { id: `${id(1)}/2`, workflowId: id(1), createdAt: ago(30), step: "build", kind: "landing", reason: "step `build` asks whether its 4 trees may be landed", options: ["approve", "deny"] },
  ];
}

const GRIMOIRE = "name: demo\ndescription: A tour with the demo agent.\ninputs:\n  topic: {description: What to talk about, default: terminals}\nsteps:\n  - name: tour\n    type: agent\n    adapter: demo\n    prompt: Tell me about ${input.topic}\n";
const grimoires = ["demo", "implement-bead", "prepare-pr", "review-loop", "spec-to-beads"].map((name) => ({
  name, description: { demo: "A tour with the demo agent; needs nothing installed.", "review-loop": "An agent reviews, an arbiter decides whether anything is left to do." }[name] ?? "From a bead to a reviewed change.", layer: "built-in", usable: true, trigger: "manual",
  inputs: [{ name: "topic", description: "What to talk about", type: "string", required: false, default: "terminals" }, { name: "rounds", description: "How often", type: "number", required: true }],
}));

const items = () => [...workflows.values()].map(({ live, lastSeq, session, plan, tasks, interventions, ...item }) => item);
const waiting = () => [...workflows.values()].flatMap((one) => one.interventions.map((question) => ({
  ...question, workflowName: one.name, goal: one.goal, baseDir: one.baseDir, adapter: one.tasks.find((t) => t.id === question.task)?.adapter,
  ...(question.options.includes("approve-always") ? { always: "Claude Code remembers it for this project: commands that begin with `cargo test` are no longer asked about" } : {}),
})));

function publish(type, workflow, data) {
  pos += 1;
  workflow.lastSeq += 1;
  const envelope = { v: 1, pos, seq: workflow.lastSeq, time: Date.now(), type, workflowId: workflow.id, data };
  for (const stream of streams) stream.write(`event: ${type}\nid: ${pos}\ndata: ${JSON.stringify(envelope)}\n\n`);
}

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain" };
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// The daemon's key and signature, as src/device.ts expects them.
const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const keys = await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);
const base64 = (bytes) => Buffer.from(bytes).toString("base64url");
const daemonKey = base64(await webcrypto.subtle.exportKey("raw", keys.publicKey));
const fingerprint = base64((await webcrypto.subtle.digest("SHA-256", Buffer.from(daemonKey))).slice(0, 16));
async function challenge(clientNonce) {
  const made = { port: server.address().port, clientNonce, daemonNonce: base64(webcrypto.getRandomValues(new Uint8Array(32))), issued: Date.now(), daemonKey };
  const text = `coven daemon 1\n${made.port}\n${made.clientNonce}\n${made.daemonNonce}\n${made.issued}\n${daemonKey}\n`;
  return { ...made, signature: base64(await webcrypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, keys.privateKey, Buffer.from(text))) };
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://mock");
  const json = (value, status = 200) => {
    response.writeHead(status, { "content-type": status < 300 ? "application/json" : "application/problem+json" });
    response.end(JSON.stringify(value));
  };
  const file = join(dist, pathname === "/" ? "index.html" : pathname);
  if (request.method === "GET" && file.startsWith(dist) && existsSync(file) && extname(file)) {
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": POLICY });
    response.end(readFileSync(file));
    return;
  }
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", () => {
    if (pathname === "/sign-in/challenge") return void challenge(JSON.parse(body).nonce).then(json);
    if (pathname === "/sign-in") return json({ token: "mock", device: { id: "mock", name: "mock", role: "full", kind: "browser", created: Date.now() } });
    if (request.headers.authorization !== "Bearer mock") return json({ type: "", title: "A device is needed", status: 401, code: "unauthorized", detail: "no token" }, 401);
    if (pathname === "/events" && request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: snapshot\nid: ${pos}\ndata: ${JSON.stringify({ pos, workflows: items(), interventions: waiting() })}\n\n`);
      streams.add(response);
      request.on("close", () => streams.delete(response));
      return;
    }
    if (pathname === "/interventions") return json({ interventions: waiting() });
    const decided = /^\/interventions\/([^/]+)\/(\d+)$/.exec(pathname);
    if (decided) {
      const workflow = workflows.get(decided[1]);
      const number = `${decided[1]}/${decided[2]}`;
      const question = workflow?.interventions.find((one) => one.id === number);
      if (!question) return json({ type: "", title: "It was decided before", status: 409, code: "already-decided", detail: "Somebody decided it before." }, 409);
      workflow.interventions = workflow.interventions.filter((one) => one !== question);
      publish("workflow.intervention.resolved", workflow, { id: number, decision: { choice: JSON.parse(body).decision, by: "page" }, at: Date.now() });
      return json({ workflowId: workflow.id, decision: JSON.parse(body).decision });
    }
    if (pathname === "/grimoires") return json({ grimoires });
    if (pathname === "/grimoires/check") {
      const text = JSON.parse(body).text;
      const bad = text.split("\n").findIndex((line) => line.includes("typo"));
      return json({ ok: bad < 0, problems: bad < 0 ? [] : [{ severity: "error", message: "unknown key `typo`", help: "did you mean `type`?", line: bad + 1, column: 5, endLine: bad + 1, endColumn: 9 }], inputs: [], plan: workflows.get(id(1))?.plan });
    }
    if (pathname.startsWith("/grimoires/")) return json({ ...grimoires.find((one) => one.name === pathname.slice(11)), text: GRIMOIRE, problems: [], plan: { name: "demo", status: "pending", rows: [{ step: "tour", type: "agent", status: "pending", lanes: [{ task: "tour", name: "tour", status: "PENDING", attempt: 0, adapter: "demo" }] }] } });
    if (pathname === "/adapters") return json({ adapters: [["claude", "Claude Code", "2.1.0", "2.1.0"], ["codex", "Codex", "0.61.2", "0.60.0"], ["gemini", "Gemini CLI", null, "0.61.0"], ["demo", "Demo agent", null, null]].map(([type, displayName, installed, tested]) => ({ type, displayName, icon: type, layer: "built-in", modes: ["interactive", "headless"], command: type, ...(installed || type === "demo" ? { found: `/usr/bin/${type}` } : {}), ...(installed ? { installedVersion: installed } : {}), ...(tested ? { testedVersion: tested } : {}) })) });
    if (pathname === "/status") return json({ version: "0.1.0", pid: 1, since: begin, memoryBytes: 1, socket: "", log: "", sessions: {}, agents: {}, slots: { running: 0, queued: 0, limit: 8 }, waiting: 0, baseDirs: [{ path: "/home/ada/code/coven", sessions: 3, trusted: true }] });
    const one = /^\/workflows\/([^/]+)(?:\/(.*))?$/.exec(pathname);
    const workflow = one && workflows.get(one[1]);
    const told = workflow && one[2] && treeAnswer(workflow, one[2], new URL(request.url, "http://mock").searchParams, body === "" ? {} : JSON.parse(body), scene === "many");
    if (told) return json(told);
    if (workflow && !one[2]) return json(workflow);
    if (workflow && one[2] === "events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const facts = [["workflow.started", {}], ["workflow.step.started", { step: "plan", type: "agent" }], ["task.started", { spec: { job: { task: "plan", attempt: 1 }, work: { kind: "agent", adapter: "claude" } } }], ["task.ended", { task: "plan", outcome: { ok: true, reason: "exit code 0", usage: { costUsd: 0.21 } } }], ["workflow.step.completed", { step: "plan", summary: "4 tasks" }]];
      facts.forEach(([type, data], at) => response.write(`event: ${type}\nid: ${at + 1}\ndata: ${JSON.stringify({ v: 1, seq: at + 1, time: ago(400 - at * 20), type, workflowId: workflow.id, data })}\n\n`));
      response.end("event: end\ndata: {}\n\n");
      return;
    }
    if (workflow && one[2].endsWith("/screen")) return json({ attempt: { task: "x", attempt: 1 }, cols: 80, rows: 24, title: "", cursor: [0, 0], cursorVisible: true, lines: [], dump: Buffer.from(paint(80)).toString("base64"), offset: 0, live: false });
    if (workflow && one[2].includes("/explain")) return json({ attempt: { task: "x", attempt: 1 }, adapter: "claude", mode: "interactive", words: "It waits for an approval: the rule `interaction_handler` matched “Do you want to proceed?” in the last 15 rows.", verdict: workflow.tasks.find((t) => t.verdict)?.verdict });
    if (workflow && one[2].includes("/recording")) return response.end(`${JSON.stringify({ version: 2, width: 80, height: 24 })}\n${[[0.1, "o", "$ cargo test\r\n"], [0.5, "m", "working"], [3, "o", "running 211 tests\r\n"], [9, "m", "awaiting approval"], [9.2, "o", DIALOG.replaceAll("\n", "\r\n")], [14, "m", "idle"]].map((line) => JSON.stringify(line)).join("\n")}\n`);
    if (workflow && one[2].includes("/output")) return json({ attempt: { task: "x", attempt: 1 }, offset: 0, next: 30, end: 30, live: false, text: "running 211 tests\ntest result: FAILED\n" });
    if (workflow && one[2].includes("/transcript")) return json({ attempt: { task: "x", attempt: 1 }, live: false, usage: { inputTokens: 20111, outputTokens: 913, costUsd: 0.0931 }, entries: [{ kind: "text", text: "I look at the change first." }, { kind: "tool", tool: "Bash", text: "git diff --stat" }, { kind: "result", text: " 3 files changed, 41 insertions(+), 7 deletions(-)" }, { kind: "final", text: "{\"verdict\": \"done\", \"reason\": \"Nothing actionable is left.\"}" }] });
    json({ type: "", title: "There is no such address", status: 404, code: "not-found", detail: pathname }, 404);
  });
});

function paint(cols) {
  return `\x1b[2J\x1b[H\x1b[1;35m✻ Welcome to the demo agent\x1b[0m\r\n\r\n\x1b[32m●\x1b[0m I read the spec and found \x1b[1mfour\x1b[0m tasks.\r\n\x1b[90m${"─".repeat(cols - 1)}\x1b[0m\r\n${DIALOG.replaceAll("\n", "\r\n")}\r\n\x1b[36m> \x1b[0m`;
}

// Enough of WebSocket for a terminal: small frames from the client, ours of any size.
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: coven.attach.v1\r\n\r\n`);
  const send = (data, binary) => {
    const bytes = Buffer.from(data);
    const head = bytes.length < 126 ? Buffer.from([binary ? 0x82 : 0x81, bytes.length]) : Buffer.from([binary ? 0x82 : 0x81, 126, bytes.length >> 8, bytes.length & 255]);
    socket.write(Buffer.concat([head, bytes]));
  };
  const readOnly = request.url.includes("readOnly=true");
  send(JSON.stringify({ type: "screen", attempt: { task: "x", attempt: 1 }, cols: 80, rows: 24, offset: 0, lagged: false }));
  send(paint(80), true);
  send(JSON.stringify({ type: "keyboard", yours: !readOnly, holder: "page" }));
  let turn = 0;
  const timer = setInterval(() => send(`\x1b[22;1H\x1b[35m✻\x1b[0m Thinking… ${(turn += 1)}s \x1b[90m(esc to interrupt)\x1b[0m`, true), 500);
  socket.on("data", () => undefined);
  const stop = () => clearInterval(timer);
  socket.on("close", stop);
  socket.on("error", stop);
});

server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/#code=${"m".repeat(43)}.${fingerprint}`));
