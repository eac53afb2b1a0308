// Entries of a transcript as the page shows them: pieces of one text together, and what belongs
// to one call of a tool in one card.
import type { StepStatus, TranscriptEntry, Usage } from "./api";

/** One call of a tool, with what came of it. */
export interface ToolCard {
  is: "tool";
  key: number;
  tool: TranscriptEntry;
  diffs: TranscriptEntry[];
  asked: TranscriptEntry | null;
  answered: TranscriptEntry | null;
  result: TranscriptEntry | null;
}

export type Shown = { is: "entry"; key: number; entry: TranscriptEntry } | ToolCard;

export interface Story {
  shown: Shown[];
  /** The newest plan, which stands where it was told last. */
  plan: { text: string; status: StepStatus }[];
  usage: Usage | undefined;
}

/** Adds entries that came later. A piece of a text goes to the text that it continues. */
export function extended(entries: TranscriptEntry[], more: TranscriptEntry[]): TranscriptEntry[] {
  const all = [...entries];
  for (const entry of more) {
    const last = all.at(-1);
    if (last && entry.id <= last.id) continue;
    if (last && entry.continues && entry.kind === last.kind && entry.by === last.by) {
      all[all.length - 1] = { ...last, id: entry.id, text: last.text + entry.text, omitted: (last.omitted ?? 0) + (entry.omitted ?? 0) };
    } else {
      all.push(entry);
    }
  }
  return all;
}

export function storyOf(entries: TranscriptEntry[]): Story {
  const story: Story = { shown: [], plan: [], usage: undefined };
  const calls = new Map<string, ToolCard>();
  const requests = new Map<string, ToolCard>();
  for (const entry of entries) {
    const card = entry.call ? calls.get(entry.call) : undefined;
    if (entry.kind === "usage") story.usage = entry.usage;
    else if (entry.kind === "tool") {
      const made: ToolCard = { is: "tool", key: entry.id, tool: entry, diffs: [], asked: null, answered: null, result: null };
      if (entry.call) calls.set(entry.call, made);
      story.shown.push(made);
    } else if (entry.kind === "diff" && card) card.diffs.push(entry);
    else if (entry.kind === "result" && card && !card.result) card.result = entry;
    else if (entry.kind === "question" && card && !card.asked) {
      card.asked = entry;
      if (entry.request) requests.set(entry.request, card);
    } else if (entry.kind === "answered" && entry.request && requests.has(entry.request)) requests.get(entry.request)!.answered = entry;
    else if (entry.kind === "final" && entry.ok && (entry.repeated || entry.text === "")) continue;
    else {
      if (entry.kind === "plan") story.plan = entry.steps ?? [];
      story.shown.push({ is: "entry", key: entry.id, entry });
    }
  }
  return story;
}
