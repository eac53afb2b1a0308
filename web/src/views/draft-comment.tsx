// A comment about lines, and the form in which one is written.
import { useEffect, useRef } from "preact/hooks";
import type { Draft, Writing } from "../review";
import { Comment, Trash } from "./icons";

export interface CommentActions {
  /** What is being typed. */
  writing: () => Writing | null;
  type: (text: string) => void;
  /** Keeps what was typed as a draft; an empty one is dropped. */
  finish: () => void;
  giveUp: () => void;
  edit: (draft: Draft) => void;
  drop: (draft: Draft) => void;
}

export const about = ({ line, endLine, side }: Pick<Draft, "line" | "endLine" | "side">): string =>
  `${endLine > line ? `lines ${line} to ${endLine}` : `line ${line}`}${side === "old" ? ", before the change" : ""}`;

export function DraftComment({ draft, actions, quote = false }: { draft: Draft; actions: CommentActions; quote?: boolean }) {
  return (
    <article class="draft-comment" aria-label={`Comment on ${about(draft)}, not sent`}>
      <header>
        <Comment size={13} /> <strong>Comment on {about(draft)}</strong>
        <span class="chip">not sent</span>
        {draft.outdated && <span class="chip chip-outdated" title="These lines have changed since. It is sent as it was seen.">outdated</span>}
        <span class="spread" />
        <button type="button" class="quiet small" onClick={() => actions.edit(draft)}>Edit</button>
        <button type="button" class="quiet small icon-only" aria-label="Delete the comment" onClick={() => actions.drop(draft)}><Trash size={13} /></button>
      </header>
      {(quote || draft.outdated) && <pre class="comment-quote">{draft.lines.slice(0, 8).join("\n")}{draft.lines.length > 8 ? "\n…" : ""}</pre>}
      <p class="comment-text">{draft.text}</p>
    </article>
  );
}

export function CommentForm({ actions }: { actions: CommentActions }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const writing = actions.writing();
  const key = writing ? `${writing.path} ${writing.side} ${writing.line} ${writing.endLine}` : "";
  useEffect(() => {
    box.current?.focus({ preventScroll: true });
    box.current?.scrollIntoView({ block: "nearest" });
  }, [key]);
  if (writing === null) return null;
  return (
    <form class="draft-comment comment-form" onSubmit={(event) => {
      event.preventDefault();
      actions.finish();
    }}>
      <label>
        <span><Comment size={13} /> Comment on {about(writing)}</span>
        <textarea ref={box} rows={3} maxLength={16_384} value={writing.text} onInput={(event) => actions.type(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.isComposing) return;
            if (event.key === "Escape") actions.giveUp();
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) actions.finish();
            else return;
            event.preventDefault();
            event.stopPropagation();
          }} />
      </label>
      <div class="comment-actions">
        <button type="submit" class="primary" disabled={writing.text.trim() === ""}>Keep <kbd aria-hidden="true">Ctrl ↵</kbd></button>
        <button type="button" onClick={actions.giveUp}>Cancel</button>
        <span class="muted">It goes to the agent when you send the review.</span>
      </div>
    </form>
  );
}
