// The words of the daemon's API, as far as the page uses them. A test holds them against the
// published document, so a field that is renamed there fails here.

import type { SharedFolder } from "./api-trees";

export type WorkflowStatus = "pending" | "running" | "blocked" | "completed" | "failed" | "cancelled";
export type TaskStatus = "PENDING" | "RUNNING" | "WAITING_FOR_USER" | "DONE" | "ERROR" | "CANCELLED";
export type AgentState =
  | "starting" | "working" | "idle" | "awaiting" | "error" | "exited" | "unknown";
export type Mode = "interactive" | "headless";
export type Choice =
  | "approve" | "approve-always" | "deny" | "answer" | "complete" | "send" | "stop" | "retry"
  | "retry-failed" | "skip" | "proceed" | "extend" | "abort" | "send-anyway" | "drop" | "resolve";
export type InterventionKind =
  | "approval" | "question" | "choice" | "dialog" | "ended-turn" | "failed-gate" | "human-gate"
  | "loop-limit" | "partial-failure" | "failed-step" | "unreadable-verdict" | "lost-job"
  | "start-approval" | "undelivered-message" | "unknown-state"
  | "merge-conflict" | "tree-problem" | "landing";

/** Milliseconds since 1970. */
export type Timestamp = number;

export interface Evidence {
  source: string;
  rule: string;
  region: string;
  text: string;
  since: number;
}

/** An agent tries to reach its model again. */
export interface ModelRetry {
  attempt?: number | null;
  max?: number | null;
  status?: number | null;
  reason?: string | null;
}

export interface Verdict {
  state: AgentState;
  kind?: string | null;
  evidence: Evidence;
  retry?: ModelRetry | null;
  digest?: string | null;
}

export interface Usage {
  inputTokens?: number | null;
  cachedTokens?: number | null;
  outputTokens?: number | null;
  reasoningTokens?: number | null;
  costUsd?: number | null;
}

export interface MenuEntry {
  id: string;
  label: string;
  takesText?: boolean;
}

export interface Intervention {
  id: string;
  workflowId: string;
  step: string;
  task?: string | null;
  kind: InterventionKind;
  reason: string;
  options: Choice[];
  /** The rule that saw the question: one of the adapter, or `generic:` and a name. */
  rule?: string | null;
  tool?: string;
  /** The command that an agent wants to run. */
  command?: string;
  /** A part of what is asked is not on the agent's screen, so it cannot be approved here. */
  truncated?: boolean;
  /** What to do about it, where the adapter knows more than the agent shows. */
  help?: string | null;
  /** The entries of the menu that the agent shows. */
  entries?: MenuEntry[];
  /** Why the last answer to the same question did not reach the agent. */
  refused?: string | null;
  /** What is typed as an answer is recorded nowhere. */
  secret?: boolean;
  excerpt?: string;
  digest?: string | null;
  createdAt: Timestamp;
  expiresAt?: Timestamp | null;
}

export interface InterventionItem extends Intervention {
  workflowName: string;
  goal?: string | null;
  baseDir: string;
  adapter?: string | null;
  /** The rule that "always" makes, as it stands in a policy. */
  always?: string | null;
  noAlways?: string | null;
}

export interface Interventions {
  interventions: InterventionItem[];
}

export interface Decide {
  decision: Choice;
  answer?: string | null;
  entry?: string | null;
  digest?: string | null;
  why?: string | null;
  /** The rule that was shown, for "always". */
  rule?: string | null;
  save?: boolean;
}

export interface WorkflowItem {
  id: string;
  name: string;
  goal?: string | null;
  status: WorkflowStatus;
  state: string;
  baseDir: string;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  waiting: number;
  running: number;
  /** How many of its jobs wait for a slot. */
  queued?: number;
  kept?: boolean;
  /** Not made by this user in this folder: it can be read, and nothing else. */
  foreign?: boolean;
  /** Why it cannot be opened; then the status is what was known last. */
  problem?: string | null;
  /** An agent that tries to reach its model again, and why. */
  retrying?: string | null;
  /** Why nothing of it can be recorded at the moment, such as a full disk. */
  waitsForDisk?: string | null;
  /** What is done for its jobs before or after their processes, with the task it is done for. */
  doing?: string | null;
  /** Agents of it and others that may write run in one folder at the moment. */
  sharing?: SharedFolder | null;
}

export interface WorkflowPage {
  workflows: WorkflowItem[];
  total: number;
  next?: string | null;
}

export interface TaskItem {
  id: string;
  name: string;
  step: string;
  status: TaskStatus;
  attempt: number;
  adapter: string;
  mode: Mode;
  live: boolean;
  /** Its process is not started yet, because as many jobs run as may at once. */
  queued?: boolean;
  /** What is done for it before or after its process, such as a comparison of many files. */
  doing?: string | null;
  verdict?: Verdict | null;
  since?: Timestamp | null;
  startedAt?: Timestamp | null;
  endedAt?: Timestamp | null;
  note?: string;
  /** The tree that it works in: the id of a task, or `@run`. */
  tree?: string;
  /** How many bytes of what it printed are lost, because the disk was full. */
  lost?: number;
}

export interface PlanLane {
  task: string;
  name: string;
  status: TaskStatus;
  attempt: number;
  adapter?: string;
  note?: string;
  startedAt?: Timestamp | null;
  endedAt?: Timestamp | null;
}

export interface PlanRow {
  step: string;
  type: string;
  status: string;
  /** What must be over before it starts; missing where the steps run one after another. */
  needs?: string[] | null;
  note?: string;
  lanes: PlanLane[];
  counts?: Partial<Record<TaskStatus, number>>;
  startedAt?: Timestamp | null;
  endedAt?: Timestamp | null;
}

export interface PlanView {
  name: string;
  goal?: string | null;
  status: WorkflowStatus;
  rows: PlanRow[];
}

export interface HistoryEntry {
  at: Timestamp;
  what: string;
  task?: string | null;
  text: string;
}

export interface ErrorEntry {
  step: string;
  error: string;
}

export interface SessionView {
  v: number;
  sessionId: string;
  name: string;
  workflow: string;
  status: WorkflowStatus;
  goal?: string | null;
  baseDir?: string | null;
  workflowDefinition: unknown;
  currentStageIndex: number;
  currentStep?: string | null;
  currentSteps?: string[];
  taskStatus: Record<string, TaskStatus>;
  history: HistoryEntry[];
  variables: Record<string, unknown>;
  errors: ErrorEntry[];
  interventions: Intervention[];
  usage?: Usage;
  kept?: string[];
  createdAt: Timestamp;
  startedAt?: Timestamp | null;
  endedAt?: Timestamp | null;
  retries?: number;
}

export interface Workflow extends WorkflowItem {
  live: boolean;
  lastSeq: number;
  session: SessionView;
  plan: PlanView;
  tasks: TaskItem[];
  interventions: Intervention[];
  /** How its questions are answered without a person, if it was started so. */
  auto?: "allow" | "deny" | null;
  /** The questions of a run with `auto` that are left to a person, by their ids. */
  leftByAuto?: string[];
}

export interface Envelope {
  v: number;
  pos?: number | null;
  seq?: number | null;
  time: Timestamp;
  type: string;
  workflowId: string;
  data: Record<string, unknown>;
}

export interface Snapshot {
  pos: number;
  workflows: WorkflowItem[];
  interventions: InterventionItem[];
}

export interface SessionSnapshot {
  seq: number;
  workflow: Workflow;
}

export interface AttemptId {
  task: string;
  attempt: number;
}

export interface Screen {
  attempt: AttemptId;
  cols: number;
  rows: number;
  title: string;
  cursor: [number, number];
  cursorVisible: boolean;
  lines: string[];
  dump: string;
  offset: number;
  live: boolean;
}

export interface Output {
  attempt: AttemptId;
  offset: number;
  next: number;
  end: number;
  live: boolean;
  dropped?: number;
  text: string;
}

/** What the terminal of a task showed, line by line. */
export interface Log {
  attempt: AttemptId;
  first: number;
  lines: string[];
  standing: number;
  dropped?: number;
  live: boolean;
}

export type StepStatus = "pending" | "in-progress" | "completed";

export interface TranscriptStep {
  text: string;
  status: StepStatus;
}

/** One thing that an agent said or did; which fields there are depends on its kind. */
export interface TranscriptEntry {
  id: number;
  at: number;
  text: string;
  omitted?: number;
  by?: string | null;
  kind: string;
  continues?: boolean;
  call?: string | null;
  tool?: string | null;
  input?: unknown;
  ok?: boolean;
  repeated?: boolean;
  path?: string | null;
  added?: number;
  removed?: number;
  steps?: TranscriptStep[];
  request?: string;
  choices?: string[];
  usage?: Usage;
}

export interface Transcript {
  attempt: AttemptId;
  entries: TranscriptEntry[];
  next: number;
  more?: boolean;
  usage?: Usage;
  live: boolean;
}

export interface Explanation {
  attempt: AttemptId;
  adapter: string;
  mode: Mode;
  verdict?: Verdict | null;
  since?: Timestamp | null;
  words: string;
  lines?: string[];
}

export interface InputItem {
  name: string;
  description?: string;
  type: string;
  required: boolean;
  default?: unknown;
}

export interface Diagnostic {
  severity: string;
  message: string;
  help?: string | null;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
}

export interface GrimoireItem {
  name: string;
  description: string;
  layer: string;
  path?: string | null;
  usable: boolean;
  whyNot?: string | null;
  trigger: string;
  inputs: InputItem[];
}

export interface Grimoires {
  grimoires: GrimoireItem[];
}

export interface Grimoire extends GrimoireItem {
  text: string;
  problems: Diagnostic[];
  plan?: PlanView | null;
}

export interface Checked {
  ok: boolean;
  problems: Diagnostic[];
  inputs?: InputItem[];
  plan?: PlanView | null;
}

export interface AdapterItem {
  type: string;
  displayName: string;
  icon: string;
  layer: string;
  modes: Mode[];
  command: string;
  found?: string | null;
  installedVersion?: string | null;
  testedVersion?: string | null;
  problem?: string | null;
}

export interface Adapters {
  adapters: AdapterItem[];
}

export interface Definition {
  name?: string;
  text: string;
}

export interface OneAgent {
  adapter: string;
  prompt?: string | null;
  mode?: Mode | null;
  model?: string | null;
  permissions?: string | null;
  extraArgs?: string[];
  autoApprove?: boolean;
}

export interface StartWorkflow {
  grimoire?: string | null;
  definition?: Definition | null;
  agent?: OneAgent | null;
  input?: Record<string, unknown>;
  goal?: string | null;
  baseDir?: string | null;
  env?: Record<string, string> | null;
  auto?: "allow" | "deny" | null;
  defaultAdapter?: string | null;
  hold?: boolean;
}

export interface Started {
  id: string;
  name: string;
  baseDir: string;
  repeated?: boolean;
}

export interface Trust {
  baseDir: string;
  state: "nothing" | "untrusted" | "trusted" | "changed";
  digest?: string | null;
  files: string[];
}

/** A browser or a program that may use the daemon. */
export interface DeviceItem {
  id: string;
  name: string;
  role: "look" | "answer" | "full";
  kind: "browser" | "program";
  created: Timestamp;
  lastUsed?: Timestamp | null;
}

/** What the daemon says of itself, signed, and what a device is to sign in turn. */
export interface SignInChallenge {
  port: number;
  clientNonce: string;
  daemonNonce: string;
  issued: number;
  daemonKey: string;
  signature: string;
}

export interface SignedIn {
  token: string;
  device: DeviceItem;
}

export interface BaseDirStatus {
  path: string;
  sessions: number;
  trusted: boolean;
  problem?: string | null;
}

export interface Status {
  version: string;
  pid: number;
  since: Timestamp;
  memoryBytes: number;
  socket: string;
  address?: string | null;
  lostPort?: number | null;
  log: string;
  sessions: Record<string, number>;
  agents: Record<string, number>;
  slots: { running: number; queued: number; limit: number };
  waiting: number;
  baseDirs: BaseDirStatus[];
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  hint?: string | null;
  problems?: Diagnostic[];
  requestId?: string | null;
}

/** What the daemon says over an attached terminal, beside the bytes. */
export type FromDaemon =
  | { type: "screen"; attempt: AttemptId; cols: number; rows: number; offset: number; lagged: boolean }
  | { type: "resized"; cols: number; rows: number }
  | { type: "keyboard"; yours: boolean; holder: string | null }
  | { type: "state"; verdict: Verdict }
  | { type: "refused"; reason: string }
  | { type: "ended"; reason: string };

export type FromViewer =
  | { type: "take" }
  | { type: "release" }
  | { type: "resize"; cols: number; rows: number };

export const isOver = (status: WorkflowStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

export const isTaskOver = (status: TaskStatus): boolean =>
  status === "DONE" || status === "ERROR" || status === "CANCELLED";
