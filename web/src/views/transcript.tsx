// What a headless agent said and did, readable.
import { useEffect, useRef } from "preact/hooks";
import type { TaskItem, Transcript, TranscriptEntry } from "../api";
import { get, ofTask } from "../http";
import { usage } from "../labels";
import { ChevronRight, Tool, Warn } from "./icons";
import { Loading, useAsked, Wrong } from "./parts";

/** How often a transcript that still grows is asked for. */
const AGAIN = 2000;

export function TranscriptView({ id, task }: { id: string; task: TaskItem }) {
  const key = `${id} ${task.id} ${task.attempt} ${task.status}`;
  const { value, error, again } = useAsked(key, (signal) =>
    get<Transcript>(ofTask(id, task.id, `/transcript?attempt=${task.attempt}`), signal));
  const list = useRef<HTMLOListElement>(null);
  const live = value?.live ?? false;
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => {
      if (!document.hidden) again();
    }, AGAIN);
    return () => clearInterval(timer);
  }, [live]);
  const count = value?.entries.length ?? 0;
  useEffect(() => {
    const element = list.current?.parentElement;
    // Follows the end as long as the reader is there.
    if (live && element && element.scrollHeight - element.scrollTop - element.clientHeight < 160) {
      element.scrollTop = element.scrollHeight;
    }
  }, [count]);
  if (error !== null && value === null) return <div class="pad"><Wrong error={error} /></div>;
  if (value === null) return <Loading what="the transcript" />;
  const used = usage(value.usage);
  return (
    <div class="transcript" tabIndex={0} role="region" aria-label="Transcript">
      {used && <p class="usage muted">Used: {used}</p>}
      {count === 0 && <p class="muted">{live ? "The agent has said nothing yet." : "The agent said nothing that could be read. Its output has everything it printed."}</p>}
      <ol ref={list}>
        {value.entries.map((entry, at) => <Entry key={at} entry={entry} />)}
      </ol>
    </div>
  );
}

const NAMES: Record<string, string> = {
  system: "System", text: "Agent", thinking: "Thinking", tool: "Tool", result: "Result", error: "Error", final: "Answer",
};

function Entry({ entry }: { entry: TranscriptEntry }) {
  const long = entry.text.length > 600 || entry.text.split("\n").length > 12;
  const folded = entry.kind === "result" || entry.kind === "system" || entry.kind === "thinking";
  const head = (
    <span class="entry-kind">
      {entry.kind === "tool" && <Tool size={13} />}
      {entry.kind === "error" && <Warn size={13} />}
      {NAMES[entry.kind] ?? entry.kind}{entry.tool ? ` · ${entry.tool}` : ""}
    </span>
  );
  const plain = entry.kind === "text" || entry.kind === "final";
  const body = plain ? <p class="entry-text">{entry.text}</p> : <pre class="entry-code">{entry.text}</pre>;
  return (
    <li class={`entry entry-${entry.kind}`}>
      {folded && long
        ? <details><summary><ChevronRight size={13} />{head}<span class="muted entry-first">{entry.text.split("\n")[0]?.slice(0, 120)}</span></summary>{body}</details>
        : <>{head}{body}</>}
    </li>
  );
}
