// A comment of an agent that reviews, at the lines it is about, with what a person can do with it.
import type { AgentComment } from "../api-trees";
import { idOf } from "../agent-comments";
import { about } from "./draft-comment";
import { Check, Comment } from "./icons";
import { Visible } from "./visible";

export interface NoteActions {
  /** The task whose agent gets what is taken over. */
  task: string;
  /** Makes a draft of it, if a review can be sent from here. */
  takeOver: ((comment: AgentComment) => void) | null;
  leaveOut: (comment: AgentComment) => void;
}

export function AgentNote({ comment, actions, quote = false }: { comment: AgentComment; actions: NoteActions; quote?: boolean }) {
  const lines = about({ line: comment.line, endLine: comment.endLine ?? comment.line, side: comment.side });
  // One's own comments are no review of one's work.
  const take = comment.task === actions.task ? null : actions.takeOver;
  return (
    <article class="draft-comment agent-comment" data-comment={idOf(comment)} aria-label={`Comment of ${comment.task} on ${lines}`}>
      <header>
        <Comment size={13} /> <strong>{comment.task}</strong> <span class="muted">on {lines}</span>
        {comment.outdated && <span class="chip chip-outdated" title="These lines are not there: they have changed since, or never were.">outdated</span>}
        <span class="spread" />
        {take !== null && <button type="button" class="small" title="It becomes a comment of yours, and is sent with the others" onClick={() => take(comment)}><Check size={13} /> Take over</button>}
        <button type="button" class="quiet small" title="It is not shown any more" onClick={() => actions.leaveOut(comment)}>Leave out</button>
      </header>
      {(quote || comment.outdated) && comment.lines.length > 0 && (
        <pre class="comment-quote">{comment.lines.slice(0, 8).join("\n")}{comment.lines.length > 8 ? "\n…" : ""}</pre>
      )}
      <p class="comment-text"><Visible text={comment.text} /></p>
    </article>
  );
}
