// One task: its terminal or transcript, what its agent does and why we think so.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Explanation, TaskItem, Workflow } from "../api";
import { isTaskOver } from "../api";
import { send, tell, type TaskVerb } from "../actions";
import { get, ofTask as pathOf } from "../http";
import { go, toSession } from "../route";
import { duration, now } from "../time";
import { ofTask, taskWords } from "../labels";
import { Changes } from "./changes-tabs";
import { Check, Close, Interrupt, Mark, Send, Stop } from "./icons";
import { LastScreen, LiveTerminal, Replay } from "./terminals";
import { OutputView } from "./output";
import { attempt, Loading, say, Sure, Tabs, useAsked, Wrong } from "./parts";
import { TranscriptView } from "./transcript";

export function TaskView({ workflow, task, tab, file }: { workflow: Workflow; task: TaskItem; tab: string | null; file: string | null }) {
  const { id } = workflow;
  const terminal = task.mode === "interactive";
  const agent = task.adapter !== "shell";
  const tabs = [
    ...(task.tree ? [{ id: "changes", name: "Changes" }] : []),
    ...(terminal ? [{ id: "terminal", name: task.live ? "Terminal" : "Last screen" }] : []),
    ...(!terminal && agent ? [{ id: "transcript", name: "Transcript" }] : []),
    { id: "output", name: "Output" },
    ...(!task.live && task.attempt > 0 ? [{ id: "replay", name: "Replay" }] : []),
  ];
  // What its agent does comes first, unless something else is asked for.
  const active = tabs.find((one) => one.id === tab)?.id ?? tabs.find((one) => one.id !== "changes")?.id ?? "output";
  return (
    <section class="task" aria-label={`Task ${task.name}`}>
      <Neighbours workflow={workflow} task={task} />
      <TaskHead id={id} task={task} />
      <Tabs label="Parts of the task" tabs={tabs} active={active} onSelect={(next) => go(toSession(id, task.id, next))} />
      <div role="tabpanel" class={`panel task-panel panel-${active}`} aria-label={active}>
        {active === "changes" && task.tree && <Changes workflow={workflow} task={task.id} tree={task.tree} file={file} />}
        {active === "terminal" && (task.live ? <LiveTerminal id={id} task={task} /> : <LastScreen id={id} task={task} />)}
        {active === "transcript" && <TranscriptView id={id} task={task} />}
        {active === "output" && <OutputView id={id} task={task} />}
        {active === "replay" && <Replay id={id} task={task.id} attempt={task.attempt} />}
      </div>
      {task.live && terminal && active !== "changes" && <Message id={id} task={task} />}
    </section>
  );
}

/** The tasks of the same session, one press away. */
function Neighbours({ workflow, task }: { workflow: Workflow; task: TaskItem }) {
  const { id } = workflow;
  const others = workflow.tasks.filter((one) => one.attempt > 0);
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    row.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [task.id]);
  return (
    <nav class="neighbours" aria-label="Tasks of this session" ref={row}>
      <a class="neighbour" href={toSession(id)}>All agents</a>
      {others.map((one) => (
        <a key={one.id} class="neighbour" href={toSession(id, one.id)} aria-current={one.id === task.id ? "page" : undefined}>
          <Mark standing={ofTask(one)} />{one.name}
        </a>
      ))}
    </nav>
  );
}

function TaskHead({ id, task }: { id: string; task: TaskItem }) {
  const [why, setWhy] = useState(false);
  const act = (verb: TaskVerb) => attempt(() => tell(id, task.id, verb));
  const over = isTaskOver(task.status);
  const words = taskWords(task);
  const since = task.live && task.since != null ? ` for ${duration(now.value - task.since)}` : "";
  return (
    <header class="task-head">
      <div class="task-title">
        <h2>{task.name}</h2>
        <span class="chip">{task.adapter}</span>
        <span class="chip">{task.mode}</span>
        {task.attempt > 1 && <span class="chip">attempt {task.attempt}</span>}
        <button type="button" class={`badge badge-${ofTask(task)} badge-button`} aria-expanded={why} title="Why do we think so?"
          onClick={() => setWhy(!why)}>
          <Mark standing={ofTask(task)} label="" /> {words}{since} <span class="why">why?</span>
        </button>
        <span class="spread" />
        <span class="task-actions">
          {task.live && task.mode === "interactive" && (
            <button type="button" title="Press the agent's interrupt key" onClick={() => act("interrupt")}><Interrupt size={14} /> Interrupt</button>
          )}
          {!over && task.attempt > 0 && task.mode === "interactive" && (
            <button type="button" title="Say that this task is done; the run goes on" onClick={() => act("complete")}><Check size={14} /> Finish</button>
          )}
          {task.live && (
            <Sure label="Stop the agent" question={over ? "Stop the kept agent?" : "Stop it? The task fails."} class="" onSure={() => act("stop")}><Stop size={14} /> Stop</Sure>
          )}
        </span>
      </div>
      {task.note && <p class="muted task-note">{task.note}</p>}
      {why && <Why id={id} task={task} onClose={() => setWhy(false)} />}
    </header>
  );
}

function Why({ id, task, onClose }: { id: string; task: TaskItem; onClose: () => void }) {
  const key = `${task.id} ${task.verdict?.state ?? ""} ${task.verdict?.evidence.rule ?? ""}`;
  const { value, error } = useAsked(key, (signal) => get<Explanation>(pathOf(id, task.id, "/explain"), signal));
  return (
    <div class="why-panel">
      <button type="button" class="quiet icon-only small why-close" aria-label="Close" onClick={onClose}><Close size={14} /></button>
      {error !== null && <Wrong error={error} />}
      {value === null && error === null && <Loading what="the evidence" />}
      {value && (
        <>
          <p>{value.words}</p>
          {value.verdict && (
            <dl class="facts">
              <div><dt>Source</dt><dd>{value.verdict.evidence.source}</dd></div>
              <div><dt>Rule</dt><dd><code>{value.verdict.evidence.rule}</code></dd></div>
              <div><dt>Where</dt><dd>{value.verdict.evidence.region}</dd></div>
            </dl>
          )}
          {value.verdict?.evidence.text && <pre class="excerpt">{value.verdict.evidence.text}</pre>}
        </>
      )}
    </div>
  );
}

function Message({ id, task }: { id: string; task: TaskItem }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = () => {
    if (text.trim() === "" || busy) return;
    setBusy(true);
    send(id, task.id, text)
      .then(() => {
        setText("");
        say({ text: "Sent." });
      }, (error: unknown) => say({ error }))
      .finally(() => setBusy(false));
  };
  return (
    <form class="message" onSubmit={(event) => {
      event.preventDefault();
      submit();
    }}>
      <textarea rows={1} value={text} aria-label="Message to the agent" placeholder="Message to the agent; Enter sends, Shift+Enter breaks the line"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          submit();
        }} />
      <button type="submit" class="primary" disabled={busy || text.trim() === ""}><Send size={14} /> Send</button>
    </form>
  );
}
