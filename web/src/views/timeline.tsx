// What happened in a session, fact by fact, the newest first.
import { useState } from "preact/hooks";
import type { Envelope, Intervention } from "../api";
import { toSession } from "../route";
import { clock, now } from "../time";
import { RUN_TREE } from "../api-trees";
import { CHOICE, EVENT, KIND, plural, usage, type Standing } from "../labels";
import { treeOf } from "../store";
import type { Choice, Usage } from "../api";
import { Mark } from "./icons";

/** How many are drawn before more are asked for. */
const DRAWN = 200;
/** Facts that only machines care about. */
const QUIET = new Set(["timer.set", "task.status", "agent.usage", "input.queued"]);

export function Timeline({ id, facts }: { id: string; facts: readonly Envelope[] }) {
  const [all, setAll] = useState(false);
  const [drawn, setDrawn] = useState(DRAWN);
  const wanted = all ? facts : facts.filter((fact) => !QUIET.has(fact.type));
  const newest = wanted.slice(-drawn).reverse();
  return (
    <div class="timeline">
      <label class="inline"><input type="checkbox" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> Show every fact</label>
      {newest.length === 0 && <p class="muted">Nothing has happened yet.</p>}
      <ol>
        {newest.map((fact) => {
          const { words, task, standing } = told(fact);
          return (
            <li key={fact.seq} data-seq={fact.seq}>
              <span class="timeline-time muted" title={`fact ${fact.seq}`}>{clock(fact.time, now.peek())}</span>
              {standing ? <Mark standing={standing} label="" /> : <span class="timeline-dot" aria-hidden="true" />}
              <span class="timeline-words">
                <strong>{EVENT[fact.type] ?? fact.type}</strong>
                {task && <a href={toSession(id, task)}>{task}</a>}
                {words && <span class="timeline-more">{words}</span>}
              </span>
            </li>
          );
        })}
      </ol>
      {wanted.length > drawn && <button type="button" onClick={() => setDrawn(drawn + DRAWN)}>Show older</button>}
    </div>
  );
}

interface Told {
  words: string;
  task?: string;
  standing?: Standing;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** A fact about a tree in words. */
function treeTold(type: string, data: Record<string, unknown>): Told {
  const tree = treeOf(data);
  const of = tree === null || tree === RUN_TREE ? {} : { task: tree };
  const run = tree === RUN_TREE ? "the run: " : "";
  switch (type) {
    case "tree.landed":
      return { words: `${run}onto ${text(data.onto)}`, standing: "done", ...of };
    case "tree.conflict":
      return { words: `${run}with ${text(data.onto)} in ${(data.paths as string[] | undefined ?? []).join(", ")}`, standing: "needs", ...of };
    case "tree.failed":
      return { words: run + text(data.error), standing: "failed", ...of };
    case "tree.checkpoint":
      return { words: `${run}${typeof data.files === "number" ? plural(data.files, "file") : ""}`, ...of };
    default:
      return { words: run + text(data.why), ...of };
  }
}

/** A fact in words. */
export function told({ type, data }: Envelope): Told {
  const by = text(data.by) ? `by ${text(data.by)}` : "";
  const why = text(data.why);
  switch (type) {
    case "workflow.completed":
      return { words: "", standing: "done" };
    case "workflow.failed":
      return { words: text(data.error), standing: "failed" };
    case "workflow.cancelled":
      return { words: [by, why].filter(Boolean).join(": "), standing: "cancelled" };
    case "workflow.blocked":
      return { words: "", standing: "needs" };
    case "workflow.step.started":
      return { words: `${text(data.step)} (${text(data.type)})` };
    case "workflow.step.completed":
      return { words: `${text(data.step)}${text(data.summary) ? `: ${text(data.summary)}` : ""}`, standing: "done" };
    case "workflow.step.failed":
      return { words: `${text(data.step)}: ${text(data.error)}`, standing: "failed" };
    case "workflow.step.skipped":
      return { words: `${text(data.step)}: ${text(data.reason)}`, standing: "skipped" };
    case "workflow.loop.judged":
      return { words: `round ${String(data.round)}: ${text(data.verdict)}. ${text(data.reason)}` };
    case "workflow.intervention.required": {
      const question = data.intervention as Intervention;
      return { words: `${KIND[question.kind]}: ${question.reason}`, standing: "needs", ...(question.task ? { task: question.task } : {}) };
    }
    case "workflow.intervention.resolved":
    case "input.decided": {
      const decision = data.decision as { choice: Choice; by: string; why?: string; text?: string };
      const said = decision.text ? `: ${decision.text}` : "";
      return { words: `${CHOICE[decision.choice]}${said}, by ${decision.by}${decision.why ? ` (${decision.why})` : ""}` };
    }
    case "task.started": {
      const spec = data.spec as { job: { task: string; attempt: number }; work: { adapter?: string } };
      return { words: `${spec.work.adapter ?? "shell"}${spec.job.attempt > 1 ? `, attempt ${spec.job.attempt}` : ""}`, task: spec.job.task, standing: "working" };
    }
    case "task.ended": {
      const outcome = data.outcome as { ok: boolean; reason: string; usage?: Usage };
      const used = usage(outcome.usage);
      return { words: `${outcome.reason}${used ? ` · ${used}` : ""}`, task: text(data.task), standing: outcome.ok ? "done" : "failed" };
    }
    case "task.status":
      return { words: text(data.status), task: text(data.task) };
    case "tree.checkpoint":
    case "tree.kept":
    case "tree.landed":
    case "tree.conflict":
    case "tree.failed":
      return treeTold(type, data);
    case "agent.usage":
      return { words: usage(data.usage as Usage), task: text(data.task) };
    default:
      return { words: [text(data.reason), text(data.text), by, why].filter(Boolean).join(" "), ...(text(data.task) ? { task: text(data.task) } : {}) };
  }
}
