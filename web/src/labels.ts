// The texts for statuses, kinds and choices on the page.
import type { AgentState, Choice, Evidence, Intervention, InterventionKind, ModelRetry, PlanRow, TaskItem, TaskStatus, Usage, WorkflowItem, WorkflowStatus } from "./api";

/** The few ways something can stand that people tell apart at a glance. */
export type Standing = "needs" | "working" | "idle" | "done" | "failed" | "cancelled" | "pending" | "skipped";

export function ofWorkflowStatus(status: WorkflowStatus): Standing {
  switch (status) {
    case "pending": return "pending";
    case "running": return "working";
    case "blocked": return "needs";
    case "completed": return "done";
    case "failed": return "failed";
    case "cancelled": return "cancelled";
  }
}

export function ofTaskStatus(status: TaskStatus): Standing {
  switch (status) {
    case "PENDING": return "pending";
    case "RUNNING": return "working";
    case "WAITING_FOR_USER": return "needs";
    case "DONE": return "done";
    case "ERROR": return "failed";
    case "CANCELLED": return "cancelled";
  }
}

export function ofStep(status: string): Standing {
  switch (status) {
    case "running": return "working";
    case "blocked": return "needs";
    case "completed": return "done";
    case "failed": return "failed";
    case "skipped": return "skipped";
    case "cancelled": return "cancelled";
    default: return "pending";
  }
}

/** A step one of whose agents waits for a person needs that person. */
export function ofRow(row: PlanRow): Standing {
  const standing = ofStep(row.status);
  return standing === "working" && row.lanes.some((lane) => lane.status === "WAITING_FOR_USER") ? "needs" : standing;
}

export function ofTask(task: TaskItem): Standing {
  if (task.queued) return "pending";
  const standing = ofTaskStatus(task.status);
  return standing === "working" && task.verdict?.state === "idle" ? "idle" : standing;
}

/** What an agent does that tries to reach its model again: "retrying 7 of 10: 500 overloaded". */
export function retryWords(retry: ModelRetry): string {
  const which = retry.attempt == null ? "" : retry.max == null ? `, attempt ${retry.attempt}` : ` ${retry.attempt} of ${retry.max}`;
  const why = [retry.status, retry.reason].filter((part) => part != null && part !== "").join(" ");
  return `retrying${which}${why === "" ? "" : `: ${why}`}`;
}

/** What a task does that has no slot yet. */
export const QUEUED = "Waits for a slot";

/** What so many jobs of a session do that have no slot yet. */
export const slotWords = (jobs: number): string => (jobs === 1 ? "waits for a slot" : `${jobs} wait for a slot`);

/** What a task does right now, in words. */
export function taskWords(task: TaskItem): string {
  if (task.queued) return QUEUED;
  if (!task.live || !task.verdict) return TASK[task.status];
  const state = AGENT[task.verdict.state];
  return task.verdict.retry ? `${state}, ${retryWords(task.verdict.retry)}` : state;
}

/** What a session is called that was not made by this user in its folder. */
export const FOREIGN = "Foreign";

/** How a session stands in a list, and what that is called. */
export function ofSession(item: WorkflowItem): { standing: Standing; label: string } {
  if (item.foreign) return { standing: "skipped", label: FOREIGN };
  if (item.problem) return { standing: "failed", label: "Damaged" };
  return { standing: ofWorkflowStatus(item.status), label: STATUS[item.status] };
}

export const STANDING: Record<Standing, string> = {
  needs: "needs you",
  working: "working",
  idle: "idle",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
  pending: "not begun",
  skipped: "skipped",
};

export const STATUS: Record<WorkflowStatus, string> = {
  pending: "Not begun",
  running: "Running",
  blocked: "Needs you",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const TASK: Record<TaskStatus, string> = {
  PENDING: "Not begun",
  RUNNING: "Running",
  WAITING_FOR_USER: "Waits for you",
  DONE: "Done",
  ERROR: "Failed",
  CANCELLED: "Cancelled",
};

export const AGENT: Record<AgentState, string> = {
  starting: "Starting",
  working: "Working",
  idle: "Idle",
  awaiting: "Waits for you",
  error: "Reports an error",
  exited: "Ended",
  unknown: "Shows something unknown",
};

export const KIND: Record<InterventionKind, string> = {
  approval: "Asks for approval",
  question: "Asks a question",
  choice: "Offers a choice",
  dialog: "Shows a dialog",
  "ended-turn": "Ended its turn",
  "failed-gate": "Gate failed",
  "human-gate": "Gate waits for you",
  "loop-limit": "Loop reached its limit",
  "partial-failure": "Some tasks failed",
  "failed-step": "Step failed",
  "unreadable-verdict": "Verdict cannot be read",
  "lost-job": "Process was lost",
  "start-approval": "Asks to start",
  "undelivered-message": "Message did not arrive",
  "unknown-state": "Shows something unknown",
  "merge-conflict": "Cannot be landed",
  "tree-problem": "Problem with a tree",
  landing: "Asks to land",
};

export const CHOICE: Record<Choice, string> = {
  approve: "Approve",
  "approve-always": "Always",
  deny: "Deny",
  answer: "Answer",
  complete: "Finish task",
  send: "Send",
  stop: "Stop agent",
  retry: "Retry",
  "retry-failed": "Retry failed",
  skip: "Skip",
  proceed: "Proceed",
  extend: "More rounds",
  abort: "Abort run",
  "send-anyway": "Send anyway",
  drop: "Drop it",
  resolve: "Let its agent resolve it",
};

/** What a decision does, for those who wonder. */
export const MEANING: Record<Choice, string> = {
  approve: "Yes, this once",
  "approve-always": "Shows the rule that answers this command for the rest of the session",
  deny: "No; a text goes along if there is one",
  answer: "Type this text to the agent",
  complete: "The task is done; the run goes on",
  send: "Send this message to the agent",
  stop: "Stop the agent; the task has failed",
  retry: "Do it again",
  "retry-failed": "Do again what failed",
  skip: "Go on without it",
  proceed: "Go on with what there is",
  extend: "Give the loop more rounds",
  abort: "End the run as failed",
  "send-anyway": "Type and submit it, with whatever stands in the prompt, without looking whether it arrives",
  drop: "Give the message up; the agent goes on without it",
  resolve: "Start its agent again, to merge the two and resolve the conflict",
};

/** Decisions that are nothing without a text. */
export const NEEDS_TEXT: ReadonlySet<Choice> = new Set<Choice>(["answer", "send"]);
/** Decisions a text may go along with. */
export const TAKES_TEXT: ReadonlySet<Choice> = new Set<Choice>(["answer", "send", "deny"]);

/** The decision that presses nothing but Enter, where a program takes that. */
export function enterChoice(item: Pick<Intervention, "kind" | "rule" | "entries" | "options">): Choice | null {
  if (item.kind === "unknown-state") return "send";
  const takes = item.rule?.startsWith("generic:") && !item.entries?.length && item.options.includes("answer");
  return takes ? "answer" : null;
}

export const EVENT: Record<string, string> = {
  "session.created": "Session made",
  "session.deleted": "Session deleted",
  "session.imported": "Session imported",
  "workflow.started": "Run began",
  "workflow.blocked": "Run waits for a person",
  "workflow.resumed": "Run goes on",
  "workflow.stopping": "Run is being stopped",
  "workflow.completed": "Run completed",
  "workflow.failed": "Run failed",
  "workflow.cancelled": "Run cancelled",
  "workflow.retried": "Run tried again",
  "workflow.step.started": "Step began",
  "workflow.step.completed": "Step completed",
  "workflow.step.landing": "Trees are being landed",
  "workflow.step.failed": "Step failed",
  "workflow.step.skipped": "Step skipped",
  "workflow.loop.judged": "Round judged",
  "workflow.loop.extended": "Loop extended",
  "workflow.intervention.required": "Question",
  "workflow.intervention.resolved": "Decided",
  "workflow.intervention.withdrawn": "Question withdrawn",
  "task.started": "Task started",
  "task.confined": "Task confined",
  "task.channel": "Task with a channel",
  "task.ended": "Task ended",
  "task.status": "Task changed",
  "task.stopping": "Task is being stopped",
  "task.released": "Agent ended",
  "task.exposed": "Not confined",
  "input.queued": "Input queued",
  "input.decided": "Decided by a rule",
  "input.delivered": "Input delivered",
  "input.refused": "Answer refused",
  "timer.set": "Timer set",
  "agent.usage": "Usage",
  "tree.wanted": "Tree asked for",
  "tree.ready": "Tree ready",
  "tree.failed": "Tree failed",
  "tree.checkpoint": "Checkpoint",
  "tree.landed": "Landed",
  "tree.conflict": "Conflict",
  "tree.kept": "Tree stays",
  "tree.removed": "Tree removed",
  "review.sent": "Review sent",
};

/** Where something was seen, in words. */
export function seen(evidence: Evidence): string {
  switch (evidence.source) {
    case "signal": return "The program said so itself";
    case "title": return "Seen in the window title";
    case "screen": return `Seen on the screen (${evidence.region})`;
    case "transcript": return "Read in its structured output";
    case "channel": return "Said in its own protocol";
    case "quiet": return "It has been quiet";
    default: return "Seen by its process";
  }
}

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1)}k`;
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function dollars(amount: number): string {
  return amount > 0 && amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(2)}`;
}

/** What was used up in one line; what is not known is left out, never zero. */
export function usage(used: Usage | undefined): string {
  if (!used) return "";
  const parts: string[] = [];
  if (used.inputTokens != null) parts.push(`${tokens(used.inputTokens)} in`);
  if (used.outputTokens != null) parts.push(`${tokens(used.outputTokens)} out`);
  if (used.costUsd != null) parts.push(dollars(used.costUsd));
  return parts.join(" · ");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** A path with the home folder cut, and only its end if it is long. */
export function shortPath(path: string): string {
  const home = path.replace(/^\/(?:home|Users)\/[^/]+/, "~").replace(/^\/root(?=\/|$)/, "~");
  if (home.length <= 36) return home;
  const parts = home.split("/");
  return `…/${parts.slice(-2).join("/")}`;
}
