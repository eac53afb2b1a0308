// The end of what a task without a terminal said, for its tile.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Output, TaskItem, Transcript } from "../api";
import { get, ofTask } from "../http";
import { useVisible } from "../terminal/visible";

const TAIL = 2048;
/** How many of the last entries of a transcript are looked at. */
const ENTRIES = 20;
/** Kinds of entries that say nothing about the work. */
const QUIET = new Set(["system", "unknown", "usage", "answered"]);
/** How often the end of something that still runs is looked at. */
const AGAIN = 3000;

async function endOf(id: string, task: TaskItem, signal: AbortSignal): Promise<string> {
  if (task.adapter === "shell") {
    const output = await get<Output>(ofTask(id, task.id, `/output?attempt=${task.attempt}&offset=${-TAIL}&limit=${TAIL}`), signal);
    return output.text;
  }
  const { entries } = await get<Transcript>(ofTask(id, task.id, `/transcript?attempt=${task.attempt}&tail=${ENTRIES}`), signal);
  const told = entries.filter((entry) => !QUIET.has(entry.kind) && !entry.repeated);
  return told.slice(-6).map((entry) => (entry.tool ? `${entry.tool}: ${entry.text}` : entry.text)).join("\n");
}

export function LastWords({ id, task }: { id: string; task: TaskItem }) {
  const box = useRef<HTMLSpanElement>(null);
  const visible = useVisible(box);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!visible) return;
    const stop = new AbortController();
    const look = () => endOf(id, task, stop.signal).then(setText, () => undefined);
    void look();
    const timer = task.live ? setInterval(() => void look(), AGAIN) : undefined;
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [visible, id, task.id, task.attempt, task.live]);
  const lines = text.trimEnd().split("\n").slice(-11);
  return <span ref={box} class="last-words">{lines.join("\n") || (task.live ? "" : "Nothing was printed.")}</span>;
}
