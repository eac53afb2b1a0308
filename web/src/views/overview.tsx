// The first page: what waits for a person, what runs, what ended last.
import type { WorkflowItem } from "../api";
import { isOver } from "../api";
import { toSession } from "../route";
import { details, loaded, sessions, waiting } from "../store";
import { ofRow, ofSession, plural, shortPath, slotWords } from "../labels";
import { Attention, NothingWaits } from "./attention";
import { Logo, Mark, Plus } from "./icons";
import { SharingMark } from "./sharing";
import { Ago, Badge, Empty, Loading } from "./parts";

export function Overview() {
  if (!loaded.value) return <Loading what="sessions" />;
  if (sessions.value.length === 0) return <Welcome />;
  const running = sessions.value.filter((item) => !isOver(item.status));
  const over = sessions.value.filter((item) => isOver(item.status)).slice(0, 12);
  return (
    <div class="overview">
      <h1 class="unseen">Overview</h1>
      <WithoutDisk items={running} />
      {waiting.value.length > 0 ? <Attention items={waiting.value} /> : <NothingWaits />}
      {running.length > 0 && (
        <section aria-label="Running">
          <h2 class="section-title">Running <span class="count">{running.length}</span></h2>
          <ul class="runs">{running.slice(0, 60).map((item) => <Run key={item.id} item={item} />)}</ul>
        </section>
      )}
      {over.length > 0 && (
        <section aria-label="Recently ended">
          <h2 class="section-title">Recently ended</h2>
          <ul class="runs runs-plain">{over.map((item) => <Run key={item.id} item={item} />)}</ul>
        </section>
      )}
    </div>
  );
}

/** Runs that go on only when a person has made room on a disk. */
function WithoutDisk({ items }: { items: WorkflowItem[] }) {
  const stuck = items.filter((item) => item.waitsForDisk);
  if (stuck.length === 0) return null;
  return (
    <ul class="runs" role="status" aria-label="Waits for a disk">
      {stuck.map((item) => (
        <li key={item.id}><Mark standing="needs" label="" /> <a href={toSession(item.id)}>{item.goal || item.name}</a> {item.waitsForDisk}</li>
      ))}
    </ul>
  );
}

function Run({ item }: { item: WorkflowItem }) {
  const detail = details.value.get(item.id);
  const done = detail?.plan.rows.filter((row) => ["completed", "skipped"].includes(row.status)).length ?? 0;
  const waiting = detail?.tasks.filter((task) => task.queued).length ?? item.queued ?? 0;
  const tasks = detail?.tasks.filter((task) => task.live).length ?? item.running;
  return (
    <li>
      <a class="run" href={toSession(item.id)}>
        <Mark {...ofSession(item)} />
        <span class="run-words">
          <span class="run-goal">{item.goal || item.name} <SharingMark item={item} /></span>
          <span class="muted run-more"><span class="path" title={item.baseDir}>{shortPath(item.baseDir)}</span> · <Ago at={item.createdAt} />{waiting > 0 && ` · ${slotWords(waiting)}`}{item.retrying && ` · ${item.retrying}`}{item.waitsForDisk && ` · ${item.waitsForDisk}`}</span>
        </span>
        {detail && (
          <span class="run-plan" role="img" aria-label={`${done} of ${detail.plan.rows.length} steps done`}>
            {detail.plan.rows.slice(0, 16).map((row) => <span key={row.step} class={`pip pip-${ofRow(row)}`} title={`${row.step}: ${row.status}`} />)}
          </span>
        )}
        <span class="run-side">
          {!isOver(item.status) && tasks > 0 && <span class="muted">{plural(tasks, "agent")}</span>}
          <Badge item={item} />
        </span>
      </a>
    </li>
  );
}

function Welcome() {
  return (
    <Empty icon={<Logo size={44} />} title="Nothing has run here yet">
      <p>Coven runs teams of coding agents in terminals of their own, keeps what they do, and asks you when one of them needs an answer.</p>
      <p><a class="button primary large" href="#/new/demo"><Plus /> Run the demo</a></p>
      <p class="muted">It needs nothing installed. Or from a terminal, in a project:</p>
      <pre class="commands">{`coven run demo            a tour with a demo agent
coven new claude          one agent, attached
coven run review-loop     an agent and an arbiter`}</pre>
    </Empty>
  );
}
