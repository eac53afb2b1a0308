// What the agent of a task changed in its tree: files, their lines, comments about them, and the way
// onto a branch. Asked for when it is shown and after facts about the tree, and at no other time.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Workflow } from "../api";
import { asDraft, idOf, leaveOut, leftOut } from "../agent-comments";
import type { AgentComment, AgentComments, TreeFileChange, FileChanges, TreeChanges, TreeItem, TreeList } from "../api-trees";
import { RUN_TREE } from "../api-trees";
import { comparedWith, placed, touchedBy, treeName, type PlacedLine } from "../changes";
import { draftsOf, keepDrafts } from "../drafts";
import { ask, device, get, ofTask, ofWorkflow } from "../http";
import { plural } from "../labels";
import { anchored, MOST_COMMENTS, type Draft } from "../review";
import { toSession } from "../route";
import { diffColumns } from "../settings";
import { treeTurn, world } from "../store";
import { age, now } from "../time";
import { AgentNote, type NoteActions } from "./agent-note";
import { ChangedFiles, Counts, Path, Status } from "./changed-files";
import { apart, Diff } from "./diff";
import { Branch, Columns, Comment, Retry, Send, Upload, Warn } from "./icons";
import { MergeDialog } from "./merge";
import { Empty, Loading, say, useAsked, Wrong } from "./parts";
import { DraftComment, type CommentActions } from "./draft-comment";
import { ReviewDialog } from "./review";
import { Visible } from "./visible";

const NARROW = "(max-width: 900px)";

/** Asks again once facts say that it differs. */
function useTurn(turn: number, again: () => void): void {
  const seen = useRef(turn);
  useEffect(() => {
    if (seen.current === turn) return;
    seen.current = turn;
    again();
  }, [turn]);
}

/** The trees of a session. */
export function useTrees(id: string): { value: TreeList | null; error: unknown; again: () => void } {
  const asked = useAsked(id, (signal) => get<TreeList>(ofWorkflow(id, "/trees"), signal));
  useTurn(treeTurn(world.value, id), asked.again);
  return asked;
}

/** Paths that trees change, by session and tree, for as long as no fact says that they differ. */
const pathsKnown = new Map<string, { version: string; paths: string[] }>();

async function pathsOf(item: TreeItem, signal: AbortSignal): Promise<string[]> {
  const key = `${item.workflow}/${item.tree}`;
  const version = `${item.head ?? ""} ${item.checkpoints} ${item.changed}`;
  const known = pathsKnown.get(key);
  if (known?.version === version) return known.paths;
  const { files } = await get<TreeChanges>(ofTask(item.workflow, item.tree, "/changes"), signal);
  const paths = files.flatMap((file) => (file.old ? [file.path, file.old] : [file.path]));
  pathsKnown.set(key, { version, paths });
  return paths;
}

interface Touched {
  by: ReadonlyMap<string, string[]>;
  more: number;
}

/** Which other tasks of the run change each file. A tree that cannot be asked is left out. */
function useTouched(tree: string, trees: readonly TreeItem[] | null): Touched {
  const [touched, set] = useState<Touched>({ by: new Map(), more: 0 });
  useEffect(() => {
    if (trees === null) return;
    const stop = new AbortController();
    const { compared, more } = comparedWith(tree, trees);
    const found: { tree: string; paths: string[] }[] = [];
    const waiting = [...compared];
    const lane = async () => {
      for (let item = waiting.shift(); item && !stop.signal.aborted; item = waiting.shift()) {
        const paths = await pathsOf(item, stop.signal).catch(() => null);
        if (paths) found.push({ tree: item.tree, paths });
      }
    };
    // One after the other would be slow, all together hard on the disk.
    void Promise.all([lane(), lane()]).then(() => {
      if (stop.signal.aborted) return;
      found.sort((one, two) => compared.findIndex((item) => item.tree === one.tree) - compared.findIndex((item) => item.tree === two.tree));
      set({ by: touchedBy(found), more });
    });
    return () => stop.abort();
  }, [tree, trees]);
  return touched;
}

function useNarrow(): boolean {
  const [narrow, set] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const look = () => set(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return narrow;
}

export function Changes({ workflow, task, tree, file }: {
  workflow: Workflow;
  /** A task, or `@run`. */
  task: string;
  tree: string;
  /** The file that the address names. */
  file: string | null;
}) {
  const { id } = workflow;
  const [against, setAgainst] = useState("base");
  const [wanted, want] = useState<string | null>(file);
  const [dialog, open] = useState<"review" | "merge" | null>(null);
  const section = useRef<HTMLElement>(null);
  const begin = useRef(() => false);
  const narrow = useNarrow();
  const query = against === "base" ? "" : `?against=${encodeURIComponent(against)}`;
  const { value, error, again } = useAsked(`${id} ${task} ${against}`, (signal) => get<TreeChanges>(ofTask(id, task, `/changes${query}`), signal));
  const said = useAsked(`${id} ${task}`, (signal) => get<AgentComments>(ofTask(id, task, "/comments"), signal));
  const ask = () => {
    again();
    said.again();
  };
  // One that reviews may have worked in another tree of the run.
  useTurn(treeTurn(world.value, id, tree), ask);
  useTurn(treeTurn(world.value, id), said.again);
  const trees = useTrees(id);
  const touched = useTouched(tree, trees.value?.trees ?? null);
  useEffect(() => want(file), [file]);

  const drafts = draftsOf(id, task);
  const role = device.value?.role ?? "look";
  const mayReview = !workflow.foreign && role !== "look" && task !== RUN_TREE;
  const chosen = value?.files.find((one) => one.path === wanted) ?? (wanted === null || file === null ? value?.files[0] : undefined) ?? null;
  const path = chosen?.path ?? null;
  const counts = useMemo(() => countsOf(drafts.value.drafts), [drafts.value.drafts]);
  const count = drafts.value.drafts.length;
  const out = leftOut(id).value;
  const notes = useMemo(() => (said.value?.comments ?? []).filter((one) => !out.has(idOf(one))), [said.value, out]);
  const noteCounts = useMemo(() => countsOf(notes), [notes]);
  const noteHead = said.value?.head ?? "";
  const noteActions = useMemo((): NoteActions => noteActionsFor(id, task, noteHead, mayReview), [id, task, noteHead, mayReview]);

  const step = (by: number) => {
    const files = value?.files ?? [];
    const at = files.findIndex((one) => one.path === path);
    const next = files[Math.min(files.length - 1, Math.max(0, at + by))];
    if (!next) return;
    want(next.path);
    section.current?.querySelector(`[data-path="${CSS.escape(next.path)}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if ((event.target as HTMLElement).closest("input, textarea, select, dialog")) return;
    if (event.key === "c") begin.current();
    else if (event.key === "s" && mayReview) open("review");
    else if (event.key === "n" || event.key === "p") step(event.key === "n" ? 1 : -1);
    else if (event.key === "v" && !narrow) diffColumns.value = diffColumns.value === "split" ? "unified" : "split";
    else return;
    event.preventDefault();
  };

  if (value === null) return error !== null ? <Wrong error={error} /> : <Loading what="the changes" />;
  const closed = () => open(null);
  return (
    <section class="changes" ref={section} tabIndex={0} onKeyDown={onKeyDown}
      aria-label={`Changes in the tree of ${treeName(value.tree)}. Keys: n and p next and previous file, c comments on the line, s sends the review, v changes the view.`}>
      <div class="changes-bar">
        <span class="changes-branch" title={value.branch}><Branch size={14} /><code><bdi>{value.branch}</bdi></code></span>
        <label class="inline changes-against">against
          <select value={against} onChange={(event) => setAgainst(event.currentTarget.value)}>
            <option value="base">where it began, {value.base.slice(0, 7)}</option>
            {value.target && <option value="target">its target, {value.target}</option>}
            {[...value.checkpoints].reverse().map((one) => (
              <option key={one.number} value={`checkpoint:${one.number}`}>checkpoint {one.number}, {age(one.at, now.peek())}{one.attempt ? `, after ${one.attempt.task}` : ""}</option>
            ))}
          </select>
        </label>
        <button type="button" class="quiet small" title="Ask again what is in the tree" onClick={() => {
          pathsKnown.clear();
          ask();
          trees.again();
        }}><Retry size={13} /> Reload</button>
        <span class="spread" />
        {!narrow && (
          <span class="segmented" role="group" aria-label="View">
            <button type="button" class="small" aria-pressed={diffColumns.value === "unified"} onClick={() => (diffColumns.value = "unified")}>Unified</button>
            <button type="button" class="small" aria-pressed={diffColumns.value === "split"} onClick={() => (diffColumns.value = "split")}><Columns size={13} /> Side by side</button>
          </span>
        )}
        <button type="button" class="quiet small" onClick={() => download(ofTask(id, task, `/changes/patch${query}`), `${workflow.name}-${value.tree.replace("@", "")}.patch`)}><Upload size={13} /> Patch</button>
        {mayReview && <button type="button" class={count > 0 ? "primary" : ""} onClick={() => open("review")}><Send size={13} /> Send review{count > 0 && <span class="count">{count}</span>}<kbd aria-hidden="true">s</kbd></button>}
        {role === "full" && !workflow.foreign && <button type="button" onClick={() => open("merge")}><Branch size={13} /> Land…</button>}
      </div>
      {error !== null && <Wrong error={error} />}
      <Notices changes={value} task={task} more={touched.more} />
      <Said comments={said.value} open={notes.length} taken={mayReview} />
      {value.files.length === 0
        ? <Empty title="Nothing was changed"><p>{against === "base" ? "Every file is as it was when the tree was made." : "Compared with this, every file is the same."}</p></Empty>
        : (
          <div class="changes-body">
            <ChangedFiles files={value.files} omitted={value.omitted ?? 0} chosen={path} drafts={counts} notes={noteCounts} touched={touched.by} tree={tree}
              onChoose={(next, focus) => {
                want(next);
                // Where the files stand above the lines, the lines come into view.
                if (focus && narrow) requestAnimationFrame(() => section.current?.querySelector(".changed-lines")?.scrollIntoView({ block: "start" }));
              }} />
            {chosen
              ? <OneFile key={`${against} ${chosen.path}`} workflow={workflow} task={task} tree={tree} file={chosen} version={value} against={against}
                  split={!narrow && diffColumns.value === "split"} mayReview={mayReview} notes={notes} noteActions={noteActions} also={touched.by.get(chosen.path) ?? []} begin={begin} />
              : <Empty title="This file does not differ"><p><bdi>{wanted}</bdi> is the same on both sides{against === "base" ? " by now" : ""}. Choose another one.</p></Empty>}
          </div>
        )}
      <StrayNotes notes={notes} files={value.files} actions={noteActions} />
      {mayReview && <StrayDrafts drafts={drafts.value.drafts} files={value.files} actions={actionsFor(id, task)} />}
      {dialog === "review" && <ReviewDialog id={id} task={task} onClose={closed} />}
      {dialog === "merge" && <MergeDialog id={id} tree={value.tree} target={value.target ?? null} onClose={closed} onLanded={() => {
        again();
        trees.again();
      }} />}
    </section>
  );
}

function Notices({ changes, task, more }: { changes: TreeChanges; task: string; more: number }) {
  return (
    <>
      {!changes.present && <p class="notice" role="status"><Warn size={14} /> The tree was removed. These are the changes of its last checkpoint; <code>coven trees restore</code> brings them back.</p>}
      {changes.tree !== task && <p class="notice">This task works in the tree of {treeName(changes.tree)}, with others. What they changed is in here too.</p>}
      {more > 0 && <p class="notice">Which files are changed elsewhere too is known of {plural(16, "tree")}; {more} more were not asked.</p>}
    </>
  );
}

const countsOf = (comments: readonly { path: string }[]): ReadonlyMap<string, number> => {
  const found = new Map<string, number>();
  for (const { path } of comments) found.set(path, (found.get(path) ?? 0) + 1);
  return found;
};

/** What agents that review say about the whole, and how many of their comments are open. */
function Said({ comments, open, taken }: { comments: AgentComments | null; open: number; taken: boolean }) {
  if (comments === null || (comments.summaries.length === 0 && open === 0)) return null;
  return (
    <div class="notice agent-summaries" role="note"><Comment size={14} />
      <div>
        {comments.summaries.map((one) => <p key={one.task}><strong>{one.task}</strong> <Visible text={one.text} /></p>)}
        {open > 0 && <p class="muted">{plural(open, "comment")} by agents{taken ? ": take over what is to be sent with yours, leave out the rest" : ""}.{comments.omitted ? ` ${comments.omitted} more are not listed.` : ""}</p>}
      </div>
    </div>
  );
}

/** Comments of agents on files that are not in the list. */
function StrayNotes({ notes, files, actions }: { notes: readonly AgentComment[]; files: readonly TreeFileChange[]; actions: NoteActions }) {
  const strays = notes.filter((note) => !files.some((file) => file.path === note.path));
  if (strays.length === 0) return null;
  return (
    <section class="stray-drafts" aria-label="Comments of agents on files that are not listed">
      <h3>Comments of agents on files that are not listed</h3>
      {strays.map((note) => <div key={idOf(note)}><p class="muted"><bdi>{note.path}</bdi></p><AgentNote comment={note} actions={actions} quote /></div>)}
    </section>
  );
}

/** What can be done with comments of agents. */
function noteActionsFor(id: string, task: string, head: string, mayReview: boolean): NoteActions {
  const takeOver = (comment: AgentComment) => {
    const drafts = draftsOf(id, task).value.drafts;
    if (drafts.length >= MOST_COMMENTS) return say({ text: `A review holds ${MOST_COMMENTS} comments. Send these first.` });
    const kept = keepDrafts(id, task, (old) => ({ ...old, drafts: [...old.drafts, asDraft(comment, head, crypto.randomUUID())] }));
    if (!kept) say({ text: "This browser keeps nothing: unsent comments go with this tab." });
    leaveOut(id, idOf(comment), true);
  };
  return { task, takeOver: mayReview ? takeOver : null, leaveOut: (comment) => leaveOut(id, idOf(comment), true) };
}

/** Drafts about files that are not in the list any more. */
function StrayDrafts({ drafts, files, actions }: { drafts: readonly Draft[]; files: readonly TreeFileChange[]; actions: CommentActions }) {
  const strays = drafts.filter((draft) => !files.some((file) => file.path === draft.path));
  if (strays.length === 0) return null;
  return (
    <section class="stray-drafts" aria-label="Comments on files that are not listed">
      <h3>Comments on files that are not listed</h3>
      {strays.map((draft) => <div key={draft.id}><p class="muted"><bdi>{draft.path}</bdi></p><DraftComment draft={draft} actions={actions} quote /></div>)}
    </section>
  );
}

/** What can be done with drafts. They stay in this browser until they are sent. */
function actionsFor(id: string, task: string): CommentActions {
  const drafts = draftsOf(id, task);
  const change: (how: Parameters<typeof keepDrafts>[2]) => void = (how) => {
    if (!keepDrafts(id, task, how)) say({ text: "This browser keeps nothing: unsent comments go with this tab." });
  };
  return {
    writing: () => drafts.value.writing,
    type: (text) => keepDrafts(id, task, (old) => ({ ...old, writing: old.writing && { ...old.writing, text } })),
    giveUp: () => change((old) => ({ ...old, writing: null })),
    finish: () => change(({ drafts: all, summary, writing }) => {
      if (writing === null || writing.text.trim() === "") return { drafts: all, summary, writing: null };
      const made: Draft = { ...writing, text: writing.text.trim(), id: writing.id ?? crypto.randomUUID() };
      const others = all.filter((one) => one.id !== made.id);
      return { drafts: [...others, made], summary, writing: null };
    }),
    edit: ({ outdated: _, ...draft }) => change((old) => ({ ...old, writing: draft })),
    drop: (draft) => {
      change((old) => ({ ...old, drafts: old.drafts.filter((one) => one.id !== draft.id) }));
      if (draft.from) leaveOut(id, draft.from, false);
    },
  };
}

function OneFile({ workflow, task, tree, file, version, against, split, mayReview, notes, noteActions, also, begin }: {
  workflow: Workflow;
  task: string;
  tree: string;
  file: TreeFileChange;
  /** The list that the file is of; another one means that it is asked for again. */
  version: TreeChanges;
  against: string;
  split: boolean;
  mayReview: boolean;
  /** What agents say, about whichever file. */
  notes: readonly AgentComment[];
  noteActions: NoteActions;
  also: readonly string[];
  begin: { current: () => boolean };
}) {
  const { id } = workflow;
  const { value, error, again } = useAsked(`${id} ${task} ${against} ${file.path}`, (signal) =>
    get<FileChanges>(ofTask(id, task, `/changes/file?path=${encodeURIComponent(file.path)}${against === "base" ? "" : `&against=${encodeURIComponent(against)}`}`), signal));
  const seen = useRef(version);
  useEffect(() => {
    if (seen.current === version) return;
    seen.current = version;
    again();
  }, [version]);
  const all = draftsOf(id, task);
  const { drafts, writing } = all.value;
  const mine = useMemo(() => drafts.filter((draft) => draft.path === file.path && draft.id !== writing?.id), [drafts, file.path, writing?.id]);
  const actions = useMemo(() => (mayReview ? actionsFor(id, task) : null), [id, task, mayReview]);

  // The file is another one than the drafts were made about: they follow their lines.
  useEffect(() => {
    if (value === null || mine.length === 0) return;
    const moved = anchored(mine, file.path, against, value.head, placed(value.hunks));
    if (moved.every((draft, at) => draft === mine[at])) return;
    const found = new Map(moved.map((draft) => [draft.id, draft]));
    keepDrafts(id, task, (old) => ({ ...old, drafts: old.drafts.map((draft) => found.get(draft.id) ?? draft) }));
  }, [value, mine]);

  const onComment = (lines: PlacedLine[]) => {
    if (value === null || actions === null) return;
    if (drafts.length >= MOST_COMMENTS) return say({ text: `A review holds ${MOST_COMMENTS} comments. Send these first.` });
    actions.finish();
    const old = lines.some((line) => line.k === "-");
    const number = (line: PlacedLine) => (old ? line.o : line.n) ?? 0;
    keepDrafts(id, task, (now) => ({
      ...now,
      writing: {
        id: null, path: file.path, side: old ? "old" : "new", line: number(lines[0]!), endLine: number(lines.at(-1)!),
        text: "", lines: lines.map((line) => line.t), against, head: value.head,
      },
    }));
  };
  const writingHere = writing !== null && writing.path === file.path;
  const strays = value === null ? [] : apart(value, mine);
  const told = useMemo(() => notes.filter((note) => note.path === file.path), [notes, file.path]);
  const toldApart = value === null ? [] : apart(value, told);
  return (
    <article class="changed-lines" aria-label={`Changes of ${file.path}`}>
      <header class="changed-head">
        <Status file={file} />
        <h3>{file.old && <><Path path={file.old} /> <span class="muted">→</span> </>}<Path path={file.path} /></h3>
        <Counts added={file.added} removed={file.removed} />
        <span class="spread" />
        {actions && value !== null && value.hunks.length > 0 && (
          <button type="button" class="small" onClick={() => begin.current()}><Comment size={13} /> Comment <kbd aria-hidden="true">c</kbd></button>
        )}
      </header>
      {also.length > 0 && (
        <p class="notice notice-needs" role="note"><Warn size={14} /> <span>{tree === RUN_TREE ? "Changed in the tree of" : "Also changed by"} {also.slice(0, 6).map((other, at) => (
          <span key={other}>{at > 0 && ", "}<a href={toSession(id, other, "changes", file.path)}>{other}</a></span>
        ))}{also.length > 6 && ` and ${also.length - 6} more`}{tree !== RUN_TREE && ". Landing both may conflict."}</span></p>
      )}
      <What file={file} changes={value} />
      {error !== null && <Wrong error={error} />}
      {value === null && error === null && <Loading what="the lines" />}
      {toldApart.map((note) => <AgentNote key={idOf(note)} comment={note} actions={noteActions} quote />)}
      {actions && strays.map((draft) => <DraftComment key={draft.id} draft={draft} actions={actions} quote />)}
      {value !== null && value.hunks.length > 0 && (
        <Diff changes={value} split={split} drafts={mine} notes={told} noteActions={noteActions} writing={writingHere ? writing : null} actions={actions} onComment={onComment} begin={begin} />
      )}
      {value?.cut && <p class="notice"><Warn size={14} /> The rest is not shown: it is more than 5 MiB. The patch has more.</p>}
    </article>
  );
}

/** What a file is, where its lines do not tell it. */
function What({ file, changes }: { file: TreeFileChange; changes: FileChanges | null }) {
  const notes: string[] = [];
  if (file.kind === "symlink") notes.push("A symbolic link. Its text is where it points; nothing follows it.");
  if (file.kind === "submodule") notes.push("Another repository. Only its commit is known here.");
  if (file.mode) notes.push(`Its mode was ${file.mode.old} and is ${file.mode.new} now${file.mode.new === "100755" ? ": it can be executed" : ""}.`);
  if (file.binary) notes.push("It is not text, so it has no lines to show.");
  else if (file.tooLarge) notes.push("It is larger than 512 KiB, so its lines are not shown. The patch has them.");
  else if (changes !== null && changes.hunks.length === 0 && file.kind === "file") {
    notes.push(file.status === "renamed" ? "Only its path changed." : file.mode ? "Its text is the same." : "It has no lines to show: it is empty, or only what is not text changed.");
  }
  return (
    <>
      {notes.map((note) => <p key={note} class="notice">{note}</p>)}
      {changes?.marked && <p class="notice notice-needs" role="note"><Warn size={14} /> <span>Characters that cannot be seen, or that turn the direction of text, are in here. They stand as <mark class="unseen-character">⟨U+202E⟩</mark>.</span></p>}
    </>
  );
}

function download(path: string, name: string): void {
  ask(path)
    .then((answer) => answer.blob())
    .then((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    })
    .catch((error: unknown) => say({ error }));
}

