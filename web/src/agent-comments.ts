// What agents that review say about lines. What a person does with a comment is kept in this browser:
// it is taken over as a draft, or left out, and from then on it is not shown among those of agents.
import { signal, type Signal } from "@preact/signals";
import type { AgentComment } from "./api-trees";
import type { Draft } from "./review";

/** A comment within its session. */
export const idOf = ({ task, attempt, place }: AgentComment): string => `${task} ${attempt} ${place}`;

export const keyOf = (id: string): string => `coven.left-out/${id}`;

const kept = new Map<string, Signal<ReadonlySet<string>>>();

export function readIds(text: string | null): ReadonlySet<string> {
  try {
    const value = JSON.parse(text ?? "[]") as unknown;
    return new Set(Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : []);
  } catch {
    return new Set();
  }
}

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** The comments of a session that a person has dealt with. */
export function leftOut(id: string): Signal<ReadonlySet<string>> {
  const key = keyOf(id);
  let known = kept.get(key);
  if (!known) {
    if (kept.size === 0) followOtherTabs();
    known = signal(readIds(stored(key)));
    kept.set(key, known);
  }
  return known;
}

/** Shows a comment no more, or again. Without a store that is so until the tab is closed. */
export function leaveOut(id: string, comment: string, out: boolean): void {
  const list = leftOut(id);
  const now = new Set(list.value);
  if (out) now.add(comment);
  else now.delete(comment);
  list.value = now;
  try {
    if (now.size === 0) localStorage.removeItem(keyOf(id));
    else localStorage.setItem(keyOf(id), JSON.stringify([...now]));
  } catch {
    return;
  }
}

function followOtherTabs(): void {
  window.addEventListener("storage", (event) => {
    const list = event.key === null ? undefined : kept.get(event.key);
    if (list) list.value = readIds(event.newValue);
    if (event.key === null) for (const one of kept.values()) one.value = new Set();
  });
}

/** A comment of an agent as a draft of one's own. */
export const asDraft = (comment: AgentComment, head: string, id: string): Draft => ({
  id,
  path: comment.path,
  side: comment.side,
  line: comment.line,
  endLine: comment.endLine ?? comment.line,
  text: comment.text,
  lines: comment.lines,
  against: "base",
  head,
  from: idOf(comment),
  ...(comment.outdated ? { outdated: true } : {}),
});
