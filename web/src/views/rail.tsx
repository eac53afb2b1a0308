// The left side: agents and sessions by what they need, with still marks.
import { computed } from "@preact/signals";
import { useState } from "preact/hooks";
import type { InterventionItem, TaskItem, WorkflowItem } from "../api";
import { isOver } from "../api";
import { place, toSession } from "../route";
import { details, foreignSessions, loaded, sessions, waiting } from "../store";
import { duration, now } from "../time";
import { FOREIGN, KIND, ofSession, ofTask, plural } from "../labels";
import { railOpen } from "./header";
import { Book, Mark, Plug } from "./icons";
import { Ago } from "./parts";

/** How many agents of one session are listed before the rest is summed up. */
const AGENTS = 8;
/** How many finished sessions are listed; the Sessions button has all. */
const DONE = 15;

interface Working {
  item: WorkflowItem;
  agents: TaskItem[];
  more: number;
}

const working = computed((): Working[] =>
  sessions.value
    .filter((item) => !isOver(item.status))
    .map((item) => {
      const asking = new Set(waiting.value.filter((one) => one.workflowId === item.id).map((one) => one.task));
      const agents = (details.value.get(item.id)?.tasks ?? [])
        .filter((task) => task.status === "RUNNING" && !asking.has(task.id));
      return { item, agents: agents.slice(0, AGENTS), more: Math.max(0, agents.length - AGENTS) };
    })
    // A session that only waits is in the group above.
    .filter(({ item, agents }) => item.status !== "blocked" || agents.length > 0));

const done = computed(() => sessions.value.filter((item) => isOver(item.status)));

export function Rail() {
  const [all, showAll] = useState(false);
  const at = place.value;
  const open = at.at === "session" ? at : null;
  const close = () => {
    railOpen.value = false;
  };
  if (!loaded.value) return <nav id="rail" class="rail" aria-label="Agents and sessions" />;
  const finished = all ? done.value : done.value.slice(0, DONE);
  return (
    <>
      {railOpen.value && <div class="rail-shade" onClick={close} aria-hidden="true" />}
      <nav id="rail" class={`rail${railOpen.value ? " open" : ""}`} aria-label="Agents and sessions" onClick={(event) => {
        if ((event.target as HTMLElement).closest("a")) close();
      }} onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}>
        <ul class="rail-places">
          <li><a class="rail-row" href="#/grimoires"><Book /><span class="rail-name">Grimoires</span></a></li>
          <li><a class="rail-row" href="#/adapters"><Plug /><span class="rail-name">Adapters</span></a></li>
        </ul>
        <Group name="Needs you" count={waiting.value.length} none="Nothing waits for you">
          {waiting.value.map((item) => <Asking key={item.id} item={item} open={open} />)}
        </Group>
        <Group name="Working" count={working.value.length} none="Nothing runs">
          {working.value.map(({ item, agents, more }) => (
            <li key={item.id}>
              <a class={`rail-row${open?.id === item.id && open.task === null ? " here" : ""}`} href={toSession(item.id)}>
                <Mark {...ofSession(item)} />
                <span class="rail-name">{item.goal || item.name}</span>
                {item.running > 0 && <span class="rail-side" title={plural(item.running, "job") + " running"}>{item.running}</span>}
              </a>
              {agents.length > 0 && (
                <ul class="rail-agents">
                  {agents.map((task) => <Agent key={task.id} id={item.id} task={task} here={open?.id === item.id && open.task === task.id} />)}
                  {more > 0 && <li class="muted rail-more"><a href={toSession(item.id)}>and {more} more</a></li>}
                </ul>
              )}
            </li>
          ))}
        </Group>
        <Group name="Done" count={done.value.length} none="Nothing has ended yet">
          {finished.map((item) => (
            <li key={item.id}>
              <a class={`rail-row${open?.id === item.id ? " here" : ""}`} href={toSession(item.id)}>
                <Mark {...ofSession(item)} />
                <span class="rail-name">{item.goal || item.name}</span>
                <span class="rail-side"><Ago at={item.updatedAt} /></span>
              </a>
            </li>
          ))}
          {done.value.length > finished.length && (
            <li><button type="button" class="quiet small rail-all" onClick={() => showAll(true)}>Show all {done.value.length}</button></li>
          )}
        </Group>
        {foreignSessions.value.length > 0 && (
          <Group name={FOREIGN} count={foreignSessions.value.length} none="">
            {foreignSessions.value.slice(0, DONE).map((item) => (
              <li key={item.id}>
                <a class={`rail-row${open?.id === item.id ? " here" : ""}`} href={toSession(item.id)}>
                  <Mark {...ofSession(item)} />
                  <span class="rail-name">{item.goal || item.name}</span>
                  <span class="rail-side"><Ago at={item.createdAt} /></span>
                </a>
              </li>
            ))}
          </Group>
        )}
      </nav>
    </>
  );
}

function Group({ name, count, none, children }: { name: string; count: number; none: string; children: preact.ComponentChildren }) {
  return (
    <section class="rail-group" aria-label={name}>
      <h2>{name} <span class="count">{count}</span></h2>
      {count === 0 ? <p class="muted rail-none">{none}</p> : <ul>{children}</ul>}
    </section>
  );
}

type Open = { id: string; task: string | null } | null;

function Asking({ item, open }: { item: InterventionItem; open: Open }) {
  const here = open?.id === item.workflowId && open.task === (item.task ?? null);
  return (
    <li>
      <a class={`rail-row${here ? " here" : ""}`} href={toSession(item.workflowId, item.task ?? null)}>
        <Mark standing="needs" />
        <span class="rail-two">
          <span class="rail-name">{item.task ?? item.step}</span>
          <span class="rail-sub muted">{KIND[item.kind]} · {item.goal || item.workflowName}</span>
        </span>
        <span class="rail-side">{duration(now.value - item.createdAt)}</span>
      </a>
    </li>
  );
}

function Agent({ id, task, here }: { id: string; task: TaskItem; here: boolean }) {
  return (
    <li>
      <a class={`rail-row rail-agent${here ? " here" : ""}`} href={toSession(id, task.id)}>
        <Mark standing={ofTask(task)} />
        <span class="rail-name">{task.name}</span>
        <span class="rail-side">{task.startedAt != null ? duration(now.value - task.startedAt) : ""}</span>
      </a>
    </li>
  );
}
