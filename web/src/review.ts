// Comments about lines that are not sent yet. They are kept in this browser, and go to the agent as
// one message. Each knows the lines it was made about, so that it follows them when the file
// changes, and is said to be outdated when they are gone.
import type { ReviewComment, ReviewSide, SendReview } from "./api-trees";
import { numberOf, sideOf, type PlacedLine } from "./changes";

export interface Draft {
  id: string;
  path: string;
  side: ReviewSide;
  line: number;
  endLine: number;
  text: string;
  /** The lines as they were seen. */
  lines: string[];
  /** What the files were compared with, and which files they were. */
  against: string;
  head: string;
  /** The comment of an agent that it was taken over from. */
  from?: string;
  /** The lines were not found any more. */
  outdated?: boolean;
}

/** What is being typed. */
export type Writing = Omit<Draft, "id" | "outdated"> & { id: string | null };

export interface Drafts {
  drafts: Draft[];
  summary: string;
  writing: Writing | null;
}

export const NO_DRAFTS: Drafts = { drafts: [], summary: "", writing: null };

/** The most that one review may hold. */
export const MOST_COMMENTS = 200;

/** Where the lines of a draft are now; nothing if they are gone. The nearest place counts. */
function found(draft: Draft, lines: readonly PlacedLine[]): number | null {
  const side = lines.filter((line) => line.k === " " || sideOf(line) === draft.side);
  const number = (line: PlacedLine) => (draft.side === "old" ? line.o : line.n) ?? numberOf(line);
  let best: number | null = null;
  for (let from = 0; from + draft.lines.length <= side.length; from += 1) {
    const fits = draft.lines.every((text, at) => {
      const line = side[from + at]!;
      return line.t === text && number(line) === number(side[from]!) + at;
    });
    if (!fits) continue;
    const begin = number(side[from]!);
    if (best === null || Math.abs(begin - draft.line) < Math.abs(best - draft.line)) best = begin;
  }
  return best;
}

/** Moves the drafts of one file to where their lines are in it now. */
export function anchored(drafts: readonly Draft[], path: string, against: string, head: string, lines: readonly PlacedLine[]): Draft[] {
  return drafts.map((draft) => {
    if (draft.path !== path || (draft.head === head && draft.against === against)) return draft;
    // What a line before is depends on what it is compared with.
    if (draft.side === "old" && draft.against !== against) return draft;
    const line = found(draft, lines);
    // A line that is not shown in this comparison may well be there in another.
    if (line === null) return draft.against === against ? { ...draft, outdated: true } : draft;
    const { outdated: _, ...rest } = draft;
    return { ...rest, line, endLine: line + draft.lines.length - 1, against, head };
  });
}

export const whereOf = (draft: { path: string; line: number; endLine: number; side: ReviewSide }): string =>
  `${draft.path}:${draft.line}${draft.endLine > draft.line ? `-${draft.endLine}` : ""}${draft.side === "old" ? " (before)" : ""}`;

/** A draft about files that are no longer those of the others, as a part of the summary. */
const quoted = (draft: Draft): string =>
  `${whereOf(draft)}, which has changed since:\n${draft.lines.map((line) => `> ${line}`).join("\n")}\n${draft.text}`;

/**
 * The request that sends all of them as one message. Lines are counted in one version of the files,
 * that of most of the drafts; the daemon looks for them in what is there now. Drafts about another
 * version go along in the summary, with the lines as they were seen.
 */
export function request({ drafts, summary }: Pick<Drafts, "drafts" | "summary">, send: boolean): { body: SendReview; commented: Draft[] } {
  const versionOf = (draft: Draft) => `${draft.head} ${draft.against}`;
  const counts = new Map<string, number>();
  for (const draft of drafts) counts.set(versionOf(draft), (counts.get(versionOf(draft)) ?? 0) + 1);
  const [version] = [...counts].reduce<[string, number]>((most, one) => (one[1] >= most[1] ? one : most), ["", 0]);
  const commented = drafts.filter((draft) => versionOf(draft) === version);
  const others = drafts.filter((draft) => versionOf(draft) !== version);
  const comments = commented.map((draft): ReviewComment => ({
    path: draft.path,
    side: draft.side,
    line: draft.line,
    ...(draft.endLine > draft.line ? { endLine: draft.endLine } : {}),
    text: draft.text,
  }));
  const whole = [summary.trim(), ...others.map(quoted)].filter(Boolean).join("\n\n");
  return {
    commented,
    body: {
      ...(comments.length > 0 ? { comments, against: commented[0]!.against, head: commented[0]!.head } : {}),
      ...(whole === "" ? {} : { summary: whole }),
      send,
    },
  };
}

/** The key under which this browser keeps the drafts about the work of one task. */
export const keyOf = (id: string, task: string): string => `coven.review/${id}/${task}`;

const isDrafts = (value: unknown): value is Drafts => {
  const drafts = value as Drafts | null;
  return typeof drafts === "object" && drafts !== null && Array.isArray(drafts.drafts) && typeof drafts.summary === "string"
    && drafts.drafts.every((one) => typeof one.path === "string" && typeof one.text === "string" && Array.isArray(one.lines));
};

export function read(text: string | null): Drafts {
  if (text === null) return NO_DRAFTS;
  try {
    const value = JSON.parse(text) as unknown;
    return isDrafts(value) ? { ...value, writing: value.writing ?? null } : NO_DRAFTS;
  } catch {
    return NO_DRAFTS;
  }
}

/** What is kept for drafts: nothing where there are none. */
export const written = (drafts: Drafts): string | null =>
  drafts.drafts.length === 0 && drafts.summary.trim() === "" && (drafts.writing?.text ?? "").trim() === "" ? null : JSON.stringify(drafts);
