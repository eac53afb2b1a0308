// The review before it is sent: what is in it, what the agent gets, and that it is one message.
import { useEffect, useState } from "preact/hooks";
import type { ReviewAnswer } from "../api-trees";
import { draftsOf, keepDrafts } from "../drafts";
import { ofTask, post } from "../http";
import { plural } from "../labels";
import { NO_DRAFTS, request, whereOf } from "../review";
import { Modal } from "./modal";
import { Send } from "./icons";
import { say, Wrong } from "./parts";

/** How a review reached the agent, in words. */
export function deliveryWords({ delivery, attempt, run }: ReviewAnswer): string {
  switch (delivery) {
    case "message": return "The review reached the agent.";
    case "queued": return "The agent gets the review as soon as it takes a message.";
    case "attempt": return `Attempt ${attempt ?? ""} begins with the review.`.replace("  ", " ");
    case "run": return `It is over, so a new run begins with the review: ${run ?? ""}.`;
    case "none": return "Nothing was sent.";
  }
}

export function ReviewDialog({ id, task, onClose }: { id: string; task: string; onClose: () => void }) {
  const list = draftsOf(id, task);
  const { drafts, summary, writing } = list.value;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [shown, setShown] = useState<ReviewAnswer | null>(null);
  const { body, commented } = request(list.value, true);
  const empty = drafts.length === 0 && summary.trim() === "";
  const unfinished = (writing?.text ?? "").trim() !== "";
  // What was said of another text is no longer so.
  useEffect(() => setShown(null), [drafts, summary]);

  const ask = async (really: boolean) => {
    if (busy || empty) return;
    setBusy(true);
    setError(null);
    try {
      const answer = await post<ReviewAnswer>(ofTask(id, task, "/review"), { ...body, send: really });
      setShown(answer);
      if (!really) return;
      keepDrafts(id, task, () => NO_DRAFTS);
      const outdated = answer.outdated?.length ?? 0;
      say({ text: `${deliveryWords(answer)}${outdated > 0 ? ` ${plural(outdated, "comment")} went along as the lines were seen, because they have changed since.` : ""}` });
      onClose();
    } catch (wrong) {
      setError(wrong);
    } finally {
      setBusy(false);
    }
  };
  const outdated = new Set((shown?.outdated ?? []).map((at) => commented[at]?.id));
  return (
    <Modal title={`Send the review of ${task}`} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => {
        event.preventDefault();
        void ask(true);
      }} onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void ask(true);
      }}>
        <label class="field"><span>About the whole <span class="muted">(optional)</span></span>
          <textarea rows={3} maxLength={16_384} value={summary} onInput={(event) => {
            const text = event.currentTarget.value;
            keepDrafts(id, task, (old) => ({ ...old, summary: text }));
          }} /></label>
        {drafts.length > 0
          ? (
            <>
              <p>{plural(drafts.length, "comment")}, sent as one message:</p>
              <ul class="review-list">
                {drafts.map((draft) => (
                  <li key={draft.id}><code><bdi>{whereOf(draft)}</bdi></code> {(draft.outdated || outdated.has(draft.id)) && <span class="chip chip-outdated">outdated</span>} <span>{draft.text}</span></li>
                ))}
              </ul>
            </>
          )
          : <p class="muted">There are no comments on lines. Choose a line and press <kbd>c</kbd>, or click its number.</p>}
        {unfinished && <p class="notice notice-needs">A comment is still being written. It is not sent; keep it first.</p>}
        {shown && <details open class="review-message"><summary>The message, as the agent gets it</summary><pre tabIndex={0}>{shown.message}</pre></details>}
        {error !== null && <Wrong error={error} />}
        <div class="dialog-end">
          <button type="submit" class="primary" disabled={busy || empty}><Send size={14} /> Send <kbd aria-hidden="true">Ctrl ↵</kbd></button>
          <button type="button" disabled={busy || empty} onClick={() => void ask(false)}>Show the message</button>
          <button type="button" class="quiet" onClick={onClose}>Not yet</button>
        </div>
      </form>
    </Modal>
  );
}
