// The lines of one file that differ, in one column or in two, to be moved over with the keyboard
// and commented on. What agents wrote is shown as text and never as markup.
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { AgentComment, FileChanges } from "../api-trees";
import { idOf } from "../agent-comments";
import {
  between, firstChange, LINE_SHOWN, neighbour, numberOf, placed, rowOf, sideOf, splitRows, unifiedRows, type DiffRow,
  type PlacedLine,
} from "../changes";
import type { Piece } from "../highlight";
import { plural } from "../labels";
import type { Draft } from "../review";
import { AgentNote, type NoteActions } from "./agent-note";
import { DraftComment, CommentForm, type CommentActions } from "./draft-comment";
import { Visible } from "./visible";

/** So many rows are laid out together, and only when they come into view. */
const BLOCK = 100;
/** So many rows are drawn before more are asked for. */
const DRAWN = 1500;

/** The colours of lines, by their place in the file. */
type Colours = (Piece[] | undefined)[];

/** Colours the lines of a file, once the code that can is there. */
function useColours(path: string, lines: readonly PlacedLine[]): Colours | null {
  const [made, set] = useState<{ lines: readonly PlacedLine[]; colours: Colours } | null>(null);
  useEffect(() => {
    let left = false;
    import("../highlight").then(({ coloured, languageOf }) => {
      const language = languageOf(path);
      if (left || language === null) return;
      const colours: Colours = [];
      for (let hunk = 0; hunk <= (lines.at(-1)?.hunk ?? -1); hunk += 1) {
        for (const other of ["-", "+"]) {
          // Each version of the file is a text of its own.
          const text = lines.filter((line) => line.hunk === hunk && line.k !== other);
          coloured(language, text.map((line) => line.t))?.forEach((pieces, at) => {
            colours[text[at]!.at] = pieces;
          });
        }
      }
      set({ lines, colours });
    }, () => undefined);
    return () => {
      left = true;
    };
  }, [path, lines]);
  return made?.lines === lines ? made.colours : null;
}

export interface Selection {
  anchor: number;
  focus: number;
}

interface DiffProps {
  changes: FileChanges;
  split: boolean;
  drafts: readonly Draft[];
  /** What agents say about the file. */
  notes: readonly AgentComment[];
  noteActions: NoteActions;
  /** The lines that are being commented on. */
  writing: { side: string; endLine: number } | null;
  actions: CommentActions | null;
  /** Begins a comment about these lines. */
  onComment: (lines: PlacedLine[]) => void;
  /** Begins a comment about the lines that are chosen, for buttons and keys outside. */
  begin: { current: () => boolean };
}

export function Diff({ changes, split, drafts, notes, noteActions, writing, actions, onComment, begin }: DiffProps) {
  const grid = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => placed(changes.hunks), [changes.hunks]);
  const rows = useMemo(() => (split ? splitRows(lines) : unifiedRows(lines)), [lines, split]);
  const colours = useColours(changes.file.path, lines);
  const [drawn, setDrawn] = useState(DRAWN);
  const [selection, setSelection] = useState<Selection>(() => ({ anchor: firstChange(lines), focus: firstChange(lines) }));
  const moved = useRef(false);
  const pressed = useRef<number | null>(null);

  // Another version of the file has other lines.
  useEffect(() => setSelection((old) => (old.focus < lines.length ? old : { anchor: 0, focus: 0 })), [lines]);
  const chosen = useMemo(() => between(lines, selection.anchor, selection.focus), [lines, selection]);
  const marked = useMemo(() => new Set(chosen.length > 1 ? chosen.map((line) => line.at) : []), [chosen]);
  const below = useMemo(() => byLine(lines, drafts), [lines, drafts]);
  const said = useMemo(() => byLine(lines, notes), [lines, notes]);
  const formAt = writing === null ? null : lineOf(lines, writing.side, writing.endLine);

  useLayoutEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    const cell = grid.current?.querySelector<HTMLElement>(`[data-cell="${selection.focus}"]`);
    cell?.focus({ preventScroll: true });
    cell?.scrollIntoView({ block: "nearest" });
  }, [selection]);

  // A form or a comment that had the keyboard is gone: it goes back to the line.
  useEffect(() => {
    if (document.activeElement !== document.body || !grid.current?.dataset.commented) return;
    grid.current.querySelector<HTMLElement>(`[data-cell="${selection.focus}"]`)?.focus({ preventScroll: true });
  }, [formAt, below, said]);
  useEffect(() => {
    if (grid.current && (formAt !== null || below.size > 0 || said.size > 0)) grid.current.dataset.commented = "yes";
  }, [formAt, below, said]);

  const go = (at: number | null, extend: boolean) => {
    if (at === null) return;
    if (rowOf(rows, at) >= drawn) setDrawn(rowOf(rows, at) + DRAWN);
    moved.current = true;
    setSelection((old) => ({ anchor: extend ? old.anchor : at, focus: at }));
  };
  const comment = (): boolean => {
    if (actions === null || chosen.length === 0) return false;
    onComment(chosen);
    return true;
  };
  begin.current = comment;

  const onKeyDown = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("textarea, input, button, a")) return;
    const step = { ArrowDown: 1, j: 1, J: 1, ArrowUp: -1, k: -1, K: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (step !== undefined) go(neighbour(rows, selection.focus, step), event.shiftKey);
    else if (event.key === "Home") go(lines[0]?.at ?? null, event.shiftKey);
    else if (event.key === "End") go(lines.at(-1)?.at ?? null, event.shiftKey);
    else if (split && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const row = rows[rowOf(rows, selection.focus)];
      go((event.key === "ArrowLeft" ? row?.left : row?.right)?.at ?? null, false);
    } else if (event.key === "Escape" && selection.anchor !== selection.focus) setSelection({ anchor: selection.focus, focus: selection.focus });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const placeOf = (event: MouseEvent) => {
    const cell = (event.target as HTMLElement).closest<HTMLElement>("[data-at]");
    return cell ? { at: Number(cell.dataset.at), number: cell.classList.contains("diff-number") } : null;
  };
  const onMouseDown = (event: MouseEvent) => {
    const place = placeOf(event);
    pressed.current = place?.number && event.button === 0 && !event.shiftKey ? place.at : null;
    // Numbers are taken hold of; they are no text to be marked.
    if (place?.number) event.preventDefault();
  };
  const onMouseUp = (event: MouseEvent) => {
    const place = placeOf(event);
    if (!place || event.button !== 0) return;
    if (place.number) {
      const anchor = event.shiftKey ? selection.anchor : pressed.current ?? place.at;
      setSelection({ anchor, focus: place.at });
      const range = between(lines, anchor, place.at);
      if (actions !== null && range.length > 0) onComment(range);
    } else if (getSelection()?.isCollapsed !== false) {
      moved.current = true;
      setSelection((old) => ({ anchor: event.shiftKey ? old.anchor : place.at, focus: place.at }));
    }
  };

  const shown = rows.slice(0, drawn);
  const blocks = Array.from({ length: Math.ceil(shown.length / BLOCK) }, (_, at) => shown.slice(at * BLOCK, (at + 1) * BLOCK));
  const holds = (block: DiffRow[], at: number | null) => at !== null && block.some((row) => row.left?.at === at || row.right?.at === at);
  return (
    <>
      <div class={`diff-grid ${split ? "diff-split" : "diff-unified"}`} role="grid" ref={grid} aria-multiselectable="true"
        aria-label={`Changes of ${changes.file.path}. ${actions ? "Arrow keys move, Shift extends, c comments." : "Arrow keys move."}`}
        onKeyDown={onKeyDown} onMouseDown={onMouseDown} onMouseUp={onMouseUp}>
        {blocks.map((block, at) => (
          <Block key={at} rows={block} split={split} first={at === 0} colours={colours} actions={actions}
            before={at === 0 ? null : blocks[at - 1]!.at(-1)!}
            cursor={holds(block, selection.focus) ? selection.focus : null}
            marked={[...marked].some((line) => holds(block, line)) ? marked : NONE}
            said={[...said.keys()].some((line) => holds(block, line)) ? said : NO_NOTES} noteActions={noteActions}
            below={[...below.keys()].some((line) => holds(block, line)) ? below : NO_COMMENTS}
            form={holds(block, formAt) ? formAt : null} />
        ))}
      </div>
      {rows.length > shown.length && (
        <p class="diff-more"><button type="button" onClick={() => setDrawn(drawn + 2 * DRAWN)}>Show {Math.min(2 * DRAWN, rows.length - drawn)} more lines</button> <span class="muted">{plural(rows.length - drawn, "line")} are not drawn yet</span></p>
      )}
    </>
  );
}

const NONE: ReadonlySet<number> = new Set();
const NO_COMMENTS: ReadonlyMap<number, readonly Draft[]> = new Map();
const NO_NOTES: ReadonlyMap<number, readonly AgentComment[]> = new Map();

/** The place of a line by its number, on one side. */
function lineOf(lines: readonly PlacedLine[], side: string, number: number): number | null {
  return lines.find((line) => (side === "old" ? line.k !== "+" && line.o === number : line.k !== "-" && line.n === number))?.at ?? null;
}

type Commented = Pick<AgentComment, "side" | "line" | "endLine" | "outdated">;

/** Where a comment stands; nothing if its line is not there. */
const standsAt = (lines: readonly PlacedLine[], comment: Commented): number | null =>
  comment.outdated ? null : lineOf(lines, comment.side, comment.endLine ?? comment.line);

/** Comments by the line they stand below. Those whose line is not there are listed elsewhere. */
function byLine<T extends Commented>(lines: readonly PlacedLine[], comments: readonly T[]): ReadonlyMap<number, readonly T[]> {
  const below = new Map<number, T[]>();
  for (const comment of comments) {
    const at = standsAt(lines, comment);
    if (at !== null) below.set(at, [...(below.get(at) ?? []), comment]);
  }
  return below;
}

/** The comments that stand below no line: their lines are gone, or not in this comparison. */
export function apart<T extends Commented>(changes: FileChanges, comments: readonly T[]): T[] {
  const lines = placed(changes.hunks);
  return comments.filter((comment) => standsAt(lines, comment) === null);
}

interface BlockProps {
  rows: DiffRow[];
  split: boolean;
  first: boolean;
  before: DiffRow | null;
  colours: Colours | null;
  actions: CommentActions | null;
  cursor: number | null;
  marked: ReadonlySet<number>;
  below: ReadonlyMap<number, readonly Draft[]>;
  said: ReadonlyMap<number, readonly AgentComment[]>;
  noteActions: NoteActions;
  form: number | null;
}

const lineIn = (row: DiffRow): PlacedLine => (row.right ?? row.left)!;

/** Rows that are drawn again only when something in them changed: a file may have thousands. */
class Block extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    const now = this.props;
    const sameRows = now.rows.length === next.rows.length && now.rows.every((row, at) => row === next.rows[at]);
    return !sameRows || now.split !== next.split || now.colours !== next.colours || now.cursor !== next.cursor
      || now.marked !== next.marked || now.below !== next.below || now.said !== next.said || now.noteActions !== next.noteActions || now.form !== next.form || (now.actions === null) !== (next.actions === null);
  }

  override render() {
    const { rows, before, first } = this.props;
    let hunk = before === null ? -1 : lineIn(before).hunk;
    const drawn: ComponentChildren[] = [];
    for (const row of rows) {
      const line = lineIn(row);
      if (line.hunk !== hunk) {
        hunk = line.hunk;
        const begins = line.n ?? line.o ?? 0;
        if (!first || hunk > 0 || begins > 1) {
          drawn.push(<div key={`hunk ${hunk}`} role="row" class="diff-hunk"><span role="gridcell">⋯ line {begins}</span></div>);
        }
      }
      drawn.push(this.row(row));
      drawn.push(...this.comments(row));
    }
    return <div class="diff-block" role="rowgroup">{drawn}</div>;
  }

  private row(row: DiffRow) {
    const { split, marked } = this.props;
    const key = `${row.left?.at ?? ""} ${row.right?.at ?? ""}`;
    const isMarked = (line: PlacedLine | null) => line !== null && marked.has(line.at);
    if (split) {
      const both = row.left !== null && row.left === row.right;
      return (
        <div key={key} role="row" class="diff-row" aria-selected={isMarked(row.left) || isMarked(row.right)}>
          {this.cells(row.left, row.left?.o, "old", !both)}
          {this.cells(row.right, row.right?.n, "new", true)}
        </div>
      );
    }
    const line = lineIn(row);
    return (
      <div key={key} role="row" class={`diff-row${isMarked(line) ? " is-marked" : ""} ${KIND[line.k]}`} aria-selected={isMarked(line)}>
        <span role="gridcell" class="diff-number" data-at={line.at}>{line.k === "+" ? "" : line.o}</span>
        <span role="gridcell" class="diff-number" data-at={line.at}>{line.k === "-" ? "" : line.n}</span>
        {this.text(line, true)}
      </div>
    );
  }

  /** A number and a line of one column. */
  private cells(line: PlacedLine | null, number: number | undefined, column: string, focusable: boolean) {
    if (line === null) return <><span role="gridcell" class="diff-number diff-void" /><span role="gridcell" class="diff-code diff-void" /></>;
    const kind = `${KIND[line.k]}${this.props.marked.has(line.at) ? " is-marked" : ""}`;
    return (
      <>
        <span role="gridcell" class={`diff-number ${kind}`} data-at={line.at} data-column={column}>{number}</span>
        {this.text(line, focusable, kind)}
      </>
    );
  }

  private text(line: PlacedLine, focusable: boolean, kind = "") {
    const { colours, cursor } = this.props;
    return (
      <span role="gridcell" class={`diff-code ${kind}`} data-at={line.at}
        {...(focusable ? { "data-cell": line.at, tabIndex: cursor === line.at ? 0 : -1 } : {})}>
        <span class="diff-sign" aria-hidden="true">{line.k === "-" ? "−" : line.k}</span>
        {line.k !== " " && <span class="unseen">{line.k === "+" ? "added: " : "removed: "}</span>}
        <Code line={line} pieces={colours?.[line.at]} />
      </span>
    );
  }

  private comments(row: DiffRow): ComponentChildren[] {
    const { below, said, noteActions, form, actions } = this.props;
    const found: ComponentChildren[] = [];
    for (const line of new Set([row.left, row.right])) {
      if (line === null) continue;
      for (const note of said.get(line.at) ?? []) {
        found.push(<div key={idOf(note)} role="row" class="diff-comment"><div role="gridcell"><AgentNote comment={note} actions={noteActions} /></div></div>);
      }
      if (actions === null) continue;
      for (const draft of below.get(line.at) ?? []) {
        found.push(<div key={draft.id} role="row" class="diff-comment"><div role="gridcell"><DraftComment draft={draft} actions={actions} /></div></div>);
      }
      if (form === line.at) found.push(<div key="form" role="row" class="diff-comment"><div role="gridcell"><CommentForm actions={actions} /></div></div>);
    }
    return found;
  }
}

const KIND = { "+": "is-added", "-": "is-removed", " ": "" } as const;

/** The text of a line: coloured, shortened if it is very long, with what cannot be seen made visible. */
function Code({ line, pieces }: { line: PlacedLine; pieces: Piece[] | undefined }) {
  const [whole, show] = useState(false);
  const long = line.t.length > LINE_SHOWN && !whole;
  const parts = pieces && !long ? pieces : [{ text: long ? line.t.slice(0, LINE_SHOWN) : line.t, class: "" }];
  return (
    <span class="diff-text" dir="ltr">
      {parts.map((piece, at) => (piece.class === ""
        ? <Visible key={at} text={piece.text} />
        : <span key={at} class={piece.class}><Visible text={piece.text} /></span>))}
      {long && <> <button type="button" class="quiet small" onClick={() => show(true)}>Show {line.t.length - LINE_SHOWN} more characters</button></>}
      {line.cr && <span class="diff-end diff-return" title="The line ends with a carriage return">CR</span>}
      {line.end && <span class="diff-end"> no line break at the end of the file</span>}
    </span>
  );
}

/** Lines as they are quoted. */
export const linesWords = (lines: readonly PlacedLine[]): string => {
  const first = lines[0];
  const last = lines.at(-1);
  if (!first || !last) return "";
  const old = lines.some((line) => line.k === "-");
  const number = (line: PlacedLine) => (old ? line.o : line.n) ?? numberOf(line);
  const which = lines.length === 1 ? `line ${number(first)}` : `lines ${number(first)} to ${number(last)}`;
  return old && sideOf(first) === "old" ? `${which} before the change` : which;
};
