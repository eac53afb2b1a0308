// What an agent without a terminal said and did: its words, its tools in folded cards, its plans
// and changes. Everything comes from outside and is shown as text.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TaskItem, Transcript, TranscriptEntry } from "../api";
import { ask, get, ofTask } from "../http";
import { plural, usage } from "../labels";
import { follow } from "../sse";
import { extended, storyOf, type ToolCard } from "../transcript";
import { ChevronRight, Tool, Warn } from "./icons";
import { Diff, Markdown } from "./markdown";
import { Loading, Wrong } from "./parts";

/** How many of the last entries are fetched first; those before on request. */
const LAST = 400;
/** Nearer to the end than this, the view follows it. */
const NEAR_END = 160;

interface Loaded {
  entries: TranscriptEntry[];
  /** Whether the beginning is there. */
  whole: boolean;
  live: boolean;
}

export function TranscriptView({ id, task }: { id: string; task: TaskItem }) {
  const [loaded, set] = useState<Loaded | null>(null);
  const [error, setError] = useState<unknown>(null);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<TranscriptEntry[]>([]);
  const path = ofTask(id, task.id, `/transcript?attempt=${task.attempt}`);
  useEffect(() => {
    set(null);
    setError(null);
    list.current = [];
    let whole = true;
    let due = 0;
    // Many entries come at once; they are shown together.
    const show = (live: boolean) => {
      cancelAnimationFrame(due);
      due = requestAnimationFrame(() => set((old) => ({ entries: list.current, whole: old?.whole ?? whole, live })));
    };
    const stream = follow({
      open: async (after, signal) => {
        if (after === null) {
          const last = await get<Transcript>(`${path}&tail=${LAST}`, signal);
          list.current = last.entries;
          whole = last.entries.length < LAST;
          show(last.live);
        }
        const from = list.current.at(-1)?.id ?? 0;
        return ask(`${path}&after=${from}`, { headers: { Accept: "text/event-stream" }, signal });
      },
      message: ({ event, data }) => {
        if (event === "entry") {
          list.current = extended(list.current, [JSON.parse(data) as TranscriptEntry]);
          show(true);
        }
        if (event === "end") show(false);
        return event === "end";
      },
      health: (health, why) => {
        if (health === "lost" && why !== undefined) setError(why);
        if (health === "open") setError(null);
      },
      cursor: () => (list.current.length > 0 ? String(list.current.at(-1)!.id) : null),
    });
    return () => {
      stream.stop();
      cancelAnimationFrame(due);
    };
  }, [path]);

  const entries = loaded?.entries;
  const story = useMemo(() => storyOf(entries ?? []), [entries]);
  useEffect(() => {
    const element = box.current;
    if (loaded?.live && element && element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END) {
      element.scrollTop = element.scrollHeight;
    }
  }, [entries]);

  if (loaded === null) return error !== null ? <div class="pad"><Wrong error={error} /></div> : <Loading what="the transcript" />;
  const earlier = async () => {
    const all: TranscriptEntry[] = [];
    const until = list.current[0]?.id ?? Infinity;
    for (let after = 0, more = true; more;) {
      const page = await get<Transcript>(`${path}&after=${after}`);
      all.push(...page.entries.filter((entry) => entry.id < until));
      after = page.next;
      more = page.more === true && after < until;
    }
    list.current = extended(all, list.current);
    set((old) => (old ? { ...old, entries: list.current, whole: true } : old));
  };
  const used = usage(story.usage);
  return (
    <div class="transcript" ref={box} tabIndex={0} role="region" aria-label="Transcript">
      {error !== null && <Wrong error={error} />}
      {used && <p class="usage muted">Used: {used}</p>}
      {!loaded.whole && <button type="button" class="quiet" onClick={() => void earlier().catch(setError)}>Show everything before this</button>}
      {story.shown.length === 0 && <p class="muted">{loaded.live ? "The agent has said nothing yet." : "The agent said nothing that could be read. Its output has everything it printed."}</p>}
      <ol>
        {story.shown.map((one) => (
          <li key={one.key} class={`entry entry-${one.is === "tool" ? "tool" : one.entry.kind}`}>
            {one.is === "tool" ? <Call card={one} path={path} /> : <Entry entry={one.entry} path={path} />}
          </li>
        ))}
      </ol>
    </div>
  );
}

const NAMES: Record<string, string> = {
  prompt: "Told", system: "System", text: "Agent", thinking: "Thinking", result: "Result", diff: "Change", plan: "Plan",
  question: "Asks", answered: "Answer", limit: "Limit", error: "Error", unknown: "Not understood", final: "Answer",
};

function Entry({ entry, path }: { entry: TranscriptEntry; path: string }) {
  const name = entry.kind === "final" && !entry.ok ? "Failed" : NAMES[entry.kind] ?? entry.kind;
  const head = <span class="entry-kind">{(entry.kind === "error" || entry.kind === "limit") && <Warn size={13} />}{name}{entry.tool ? ` · ${entry.tool}` : ""}<By entry={entry} /></span>;
  switch (entry.kind) {
    case "text":
    case "final":
      return <>{head}<Markdown text={entry.text} /><Rest entry={entry} path={path} /></>;
    case "plan":
      return <>{head}<Plan entry={entry} /></>;
    case "diff":
      return <Folded head={<>{head}<Changed entry={entry} /></>} open><Diff text={entry.text} /><Rest entry={entry} path={path} /></Folded>;
    case "thinking":
    case "result":
    case "unknown":
      return <Folded head={<>{head}<First text={entry.text} /></>}><pre class="entry-code">{entry.text}</pre><Rest entry={entry} path={path} /></Folded>;
    case "question":
      return <>{head}<pre class="entry-code">{entry.text}</pre></>;
    case "system":
    case "answered":
      return <>{head} <span class="muted entry-line">{entry.text}</span></>;
    default:
      return <>{head}<p class="entry-text">{entry.text}</p></>;
  }
}

/** A call of a tool: what for, and folded what it was given, what it changed and what it returned. */
function Call({ card, path }: { card: ToolCard; path: string }) {
  const { tool, diffs, asked, answered, result } = card;
  const failed = result !== null && result.ok === false;
  const standing = failed ? "failed" : asked && !answered && !result ? "waits for an answer" : result ? "" : "runs";
  const input = tool.input == null ? "" : typeof tool.input === "string" ? tool.input : JSON.stringify(tool.input, null, 2);
  return (
    <Folded open={diffs.length > 0} head={(
      <>
        <span class="entry-kind"><Tool size={13} />{tool.tool}<By entry={tool} /></span>
        <code class="entry-first">{tool.text.split("\n")[0]?.slice(0, 200)}</code>
        {standing && <span class={`chip ${failed ? "is-failed" : ""}`}>{standing}</span>}
      </>
    )}>
      {diffs.map((diff) => <div key={diff.id}><Changed entry={diff} /><Diff text={diff.text} /><Rest entry={diff} path={path} /></div>)}
      {diffs.length === 0 && input && <pre class="entry-code" aria-label="What the tool is given">{input}</pre>}
      {asked && <p class="entry-line"><span class="entry-kind">Asked</span> <span class="muted">{answered?.text ?? "waits for an answer"}</span></p>}
      {result && <pre class={`entry-code ${failed ? "is-failed" : ""}`} aria-label="What the tool returned">{result.text || "(nothing)"}</pre>}
      {result && <Rest entry={result} path={path} />}
    </Folded>
  );
}

/** The helper of the agent that said or did it. */
const By = ({ entry }: { entry: TranscriptEntry }) => (entry.by ? <span class="chip">{entry.by}</span> : null);

function Folded({ head, open = false, children }: { head: preact.ComponentChildren; open?: boolean; children: preact.ComponentChildren }) {
  return <details open={open}><summary><ChevronRight size={13} />{head}</summary>{children}</details>;
}

const First = ({ text }: { text: string }) => <span class="muted entry-first">{text.trimStart().split("\n")[0]?.slice(0, 120)}</span>;

const Changed = ({ entry }: { entry: TranscriptEntry }) => (
  <span class="entry-line"><code>{entry.path ?? "everything in this turn"}</code> <span class="is-added">+{entry.added ?? 0}</span> <span class="is-removed">−{entry.removed ?? 0}</span></span>
);

const STEP = { pending: "To do", "in-progress": "Doing", completed: "Done" } as const;

function Plan({ entry }: { entry: TranscriptEntry }) {
  return (
    <ul class="plan-steps">
      {(entry.steps ?? []).map((step, at) => (
        <li key={at} class={`step-${step.status}`}><span class="step-mark" role="img" aria-label={STEP[step.status]} />{step.text}</li>
      ))}
    </ul>
  );
}

/** What is left out of a long text, and the way to it. */
function Rest({ entry, path }: { entry: TranscriptEntry; path: string }) {
  const [whole, set] = useState<TranscriptEntry | null>(null);
  const [error, setError] = useState<unknown>(null);
  if (!entry.omitted) return null;
  if (whole) return <><pre class="entry-code">{whole.text}</pre>{whole.omitted ? <p class="muted">{plural(whole.omitted, "byte")} more are in its output.</p> : null}</>;
  const fetchIt = () => {
    get<Transcript>(`${path}&after=${entry.id - 1}&limit=1&whole=true`).then(({ entries }) => set(entries[0] ?? null), setError);
  };
  return <p class="muted entry-line">{plural(entry.omitted, "byte")} more. <button type="button" class="quiet small" onClick={fetchIt}>Show all</button>{error !== null && <Wrong error={error} />}</p>;
}
