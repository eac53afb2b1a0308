// One session: what it is for, its plan, its agents, and everything that happened.
import { useEffect } from "preact/hooks";
import { useComputed } from "@preact/signals";
import type { TaskItem, Workflow } from "../api";
import { isOver, isTaskOver } from "../api";
import { cancel, purge, resume, retry } from "../actions";
import { Refused } from "../http";
import { load, watch } from "../live";
import { go, toSession } from "../route";
import { connection, details, waiting, world } from "../store";
import { duration, now } from "../time";
import { ofTask, plural, shortPath, STATUS, taskWords, usage } from "../labels";
import { Attention } from "./attention";
import { hasTrees, RunChanges, Trees } from "./changes-tabs";
import { Graph } from "./graph";
import { Grid, Mark, Play, Retry, Stop, Trash } from "./icons";
import { LastScreen, SmallTerminal } from "./terminals";
import { Ago, attempt, Badge, Empty, Loading, Sure, Tabs, useAsked, Wrong } from "./parts";
import { LastWords } from "./last-words";
import { TaskView } from "./task";
import { Sharing } from "./sharing";
import { Timeline } from "./timeline";
import { DefinitionView, ErrorList, Variables } from "./record";

export function SessionPage({ id, task, tab, file }: { id: string; task: string | null; tab: string | null; file: string | null }) {
  useEffect(() => {
    watch(id);
    return () => watch(null);
  }, [id]);
  const workflow = details.value.get(id);
  const { error } = useAsked(`${id} ${connection.value === "open"}`, () => load(id));
  if (!workflow) {
    if (error instanceof Refused && error.code === "workflow-not-found") {
      return (
        <Empty title="There is no such session">
          <p>It was deleted, or it belongs to another daemon.</p>
          <a class="button" href="#/">Back to the overview</a>
        </Empty>
      );
    }
    return error !== null ? <Wrong error={error} /> : <Loading what="the session" />;
  }
  return <SessionView workflow={workflow} task={task} tab={tab} file={file} />;
}

function SessionView({ workflow, task, tab, file }: { workflow: Workflow; task: string | null; tab: string | null; file: string | null }) {
  const { id, session } = workflow;
  const asked = useComputed(() => waiting.value.filter((item) => item.workflowId === id));
  const open = workflow.tasks.find((one) => one.id === task) ?? null;
  // Who looks at one task sees its terminal, and only its own question above it.
  const mine = task === null ? asked.value : asked.value.filter((item) => item.task === task);
  const others = asked.value.length - mine.length;
  const active = tab ?? "agents";
  const timeline = world.value.timelines.get(id) ?? [];
  return (
    <article class="session" aria-label={workflow.goal || workflow.name}>
      <SessionHead workflow={workflow} />
      {workflow.waitsForDisk && <p role="status"><Mark standing="needs" label="" /> It {workflow.waitsForDisk}</p>}
      {mine.length > 0 && (
        <Attention items={mine} title={task === null ? "This run needs you" : "This task needs you"}
          within={{ task: tab === null || tab === "terminal" ? task : null }} />
      )}
      {others > 0 && (
        <p class="others"><Mark standing="needs" label="" /> <a href={toSession(id)}>{plural(others, "more question")} of this run</a></p>
      )}
      <Sharing item={workflow} />
      <div class={`session-body${task === null ? "" : " with-task"}${tab === "changes" ? " with-changes" : ""}`}>
        <aside class="plan" aria-label="Plan">
          <h2>Plan</h2>
          <Graph plan={workflow.plan} selected={task} current={session.currentSteps ?? (session.currentStep ? [session.currentStep] : [])}
            link={(one) => toSession(id, one)} />
        </aside>
        <div class="work">
          {task !== null
            ? open
              ? <TaskView key={open.id} workflow={workflow} task={open} tab={tab} file={file} />
              : <Empty title="There is no such task yet"><a class="button" href={toSession(id)}>Back to the session</a></Empty>
            : (
              <>
                <Tabs label="Parts of the session" active={active} onSelect={(next) => go(toSession(id, null, next === "agents" ? null : next))}
                  tabs={[
                    { id: "agents", name: "Agents", count: workflow.tasks.filter((one) => one.attempt > 0).length },
                    ...(hasTrees(workflow) ? [{ id: "changes", name: "Changes" }, { id: "trees", name: "Trees" }] : []),
                    { id: "timeline", name: "Timeline", count: timeline.length },
                    { id: "variables", name: "Variables", count: Object.keys(session.variables).length },
                    { id: "errors", name: "Errors", count: session.errors.length },
                    { id: "definition", name: "Definition" },
                  ]} />
                <div role="tabpanel" class="panel" aria-label={active}>
                  {active === "agents" && <Agents workflow={workflow} />}
                  {active === "changes" && <RunChanges workflow={workflow} file={file} />}
                  {active === "trees" && <Trees workflow={workflow} />}
                  {active === "timeline" && <Timeline id={id} facts={timeline} />}
                  {active === "variables" && <Variables variables={session.variables} />}
                  {active === "errors" && <ErrorList errors={session.errors} id={id} />}
                  {active === "definition" && <DefinitionView definition={session.workflowDefinition} />}
                </div>
              </>
            )}
        </div>
      </div>
    </article>
  );
}

function SessionHead({ workflow }: { workflow: Workflow }) {
  const { id, session, status } = workflow;
  const over = isOver(status);
  const began = session.startedAt ?? null;
  const used = usage(session.usage);
  return (
    <header class="session-head">
      <div class="session-title">
        <h1>{workflow.goal || workflow.name}</h1>
        <Badge item={workflow} />
      </div>
      {workflow.foreign && (
        <p class="muted">You did not make this session in this folder. It can be read; it is never resumed, answered or removed. Its files say that it is {STATUS[status].toLowerCase()}.</p>
      )}
      <dl class="facts">
        {workflow.goal && <div><dt>Name</dt><dd>{workflow.name}</dd></div>}
        <div><dt>Plan</dt><dd>{session.workflow}</dd></div>
        <div><dt>Folder</dt><dd class="path" title={workflow.baseDir}>{shortPath(workflow.baseDir)}</dd></div>
        <div><dt>Made</dt><dd><Ago at={workflow.createdAt} /></dd></div>
        {began !== null && !workflow.foreign && <div><dt>Took</dt><dd>{duration((session.endedAt ?? now.value) - began)}</dd></div>}
        {used && <div><dt>Used</dt><dd>{used}</dd></div>}
        {workflow.kept && <div><dt>Kept</dt><dd>{plural((session.kept ?? []).length, "agent")} alive</dd></div>}
      </dl>
      {!workflow.foreign && <div class="session-actions">
        {!over && !workflow.live && (
          <button type="button" class="primary" onClick={() => attempt(() => resume(id))}><Play size={14} /> Resume</button>
        )}
        {status === "failed" && (
          <button type="button" onClick={() => attempt(() => retry(id))}><Retry size={14} /> Retry</button>
        )}
        {!over && (
          <Sure label="Cancel the run" question="Cancel and stop its agents?" class=""
            onSure={() => attempt(() => cancel(id))}><Stop size={14} /> Cancel</Sure>
        )}
        {over && (
          <Sure label="Delete the session" question="Delete for good?" class="quiet"
            onSure={() => attempt(async () => {
              await purge(id);
              go({ at: "overview" });
            })}><Trash size={14} /> Delete</Sure>
        )}
      </div>}
    </header>
  );
}

function Agents({ workflow }: { workflow: Workflow }) {
  const { tasks, id } = workflow;
  if (!tasks.some((task) => task.attempt > 0)) {
    return (
      <Empty icon={<Grid size={28} />} title="No agent has started yet">
        <p>{workflow.foreign ? "None of its agents was ever started." : workflow.live || isOver(workflow.status) ? "Agents appear here with their terminals once their step begins." : "The session was made and does not run. Resume lets it go on."}</p>
      </Empty>
    );
  }
  // Those that run first, each in the order of the plan.
  const ordered = [...tasks].filter((task) => task.attempt > 0)
    .sort((one, two) => Number(isTaskOver(one.status)) - Number(isTaskOver(two.status)));
  return (
    <ul class="tiles">
      {ordered.map((task) => <Tile key={task.id} id={id} task={task} />)}
    </ul>
  );
}

function Tile({ id, task }: { id: string; task: TaskItem }) {
  const terminal = task.mode === "interactive";
  const time = task.startedAt != null ? duration((task.endedAt ?? now.value) - task.startedAt) : "";
  return (
    <li class={`tile tile-${ofTask(task)}`} data-task={task.id}>
      <a href={toSession(id, task.id)} class="tile-head">
        <Mark standing={ofTask(task)} />
        <span class="tile-name">{task.name}</span>
        <span class="chip">{task.adapter}</span>
        <span class="spread" />
        <span class="muted">{time}</span>
      </a>
      <a href={toSession(id, task.id)} class="tile-body" tabIndex={-1} aria-hidden="true">
        {terminal
          ? task.live ? <SmallTerminal id={id} task={task} /> : <LastScreen id={id} task={task} small />
          : <LastWords id={id} task={task} />}
      </a>
      <span class="tile-foot muted">{taskWords(task)}{task.note ? ` · ${task.note}` : ""}</span>
    </li>
  );
}
