// Brings the commits of a tree onto a branch. What would happen is said before anything does.
import { useEffect, useRef, useState } from "preact/hooks";
import type { MergeAnswer, MergeMode, MergeRequest } from "../api-trees";
import { RUN_TREE } from "../api-trees";
import { treeName } from "../changes";
import { ofWorkflow, post } from "../http";
import { plural, shortPath } from "../labels";
import { Branch, Check, Warn } from "./icons";
import { Modal } from "./modal";
import { Loading, Wrong } from "./parts";

const MODES: { mode: MergeMode; name: string; more: string }[] = [
  { mode: "merge", name: "Merge", more: "its commits, and one that joins them if the branch has moved" },
  { mode: "squash", name: "Squash", more: "all of it as one commit" },
  { mode: "rebase", name: "Rebase", more: "each of its commits again, on top of the branch" },
];
/** So many paths are listed; the rest is counted. */
const PATHS = 100;

export function MergeDialog({ id, tree, target, onClose, onLanded }: {
  id: string;
  tree: string;
  target: string | null;
  onClose: () => void;
  onLanded: () => void;
}) {
  const [into, setInto] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const [mode, setMode] = useState<MergeMode>("merge");
  const [message, setMessage] = useState("");
  const [answer, setAnswer] = useState<MergeAnswer | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const turn = useRef(0);

  const ask = async (dryRun: boolean) => {
    const mine = (turn.current += 1);
    const request: MergeRequest = {
      task: tree,
      ...(into ? { into } : {}),
      mode,
      ...(message.trim() !== "" && mode !== "rebase" ? { message: message.trim() } : {}),
      dryRun,
    };
    setBusy(true);
    setError(null);
    if (dryRun) setAnswer(null);
    try {
      const said = await post<MergeAnswer>(ofWorkflow(id, "/merge"), request);
      if (mine !== turn.current) return;
      setAnswer(said);
      // What is typed is not taken from under the fingers.
      if (into === null) setTyped(said.into);
      if (said.outcome === "landed") onLanded();
    } catch (wrong) {
      if (mine !== turn.current) return;
      setAnswer(null);
      setError(wrong);
    } finally {
      if (mine === turn.current) setBusy(false);
    }
  };
  // First it is only said what would happen, again for each target and mode.
  useEffect(() => void ask(true), [into, mode]);
  const landed = answer?.outcome === "landed";
  return (
    <Modal title={`Land ${treeName(tree)}`} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => {
        event.preventDefault();
        // Another branch was typed: what would happen there comes first.
        if (typed.trim() !== "" && typed.trim() !== (into ?? answer?.into)) setInto(typed.trim());
        else if (answer?.outcome === "would-land" && !busy) void ask(false);
      }}>
        {!landed && (
          <>
            <label class="field"><span>Onto the branch</span>
              <input value={typed} placeholder={target ?? "the branch the run began from"} spellcheck={false} autoComplete="off"
                onInput={(event) => setTyped(event.currentTarget.value)}
                onChange={() => {
                  if (typed.trim() !== "" && typed.trim() !== (into ?? answer?.into)) setInto(typed.trim());
                }} /></label>
            <fieldset><legend>How</legend>
              <div class="merge-modes">
                {MODES.map((one) => (
                  <label key={one.mode} class={`choice${mode === one.mode ? " chosen" : ""}`}>
                    <input type="radio" name="mode" checked={mode === one.mode} onChange={() => setMode(one.mode)} />
                    <span><strong>{one.name}</strong> <span class="muted choice-more">{one.more}</span></span>
                  </label>
                ))}
              </div>
            </fieldset>
            {mode !== "rebase" && (
              <label class="field"><span>Message of the commit <span class="muted">(optional)</span></span>
                <textarea rows={2} maxLength={65_536} value={message} onInput={(event) => setMessage(event.currentTarget.value)} /></label>
            )}
          </>
        )}
        <div class="merge-answer" aria-live="polite">
          {busy && answer === null && <Loading what="what would happen" />}
          {error !== null && <Wrong error={error} />}
          {answer !== null && <Outcome answer={answer} />}
        </div>
        <div class="dialog-end">
          {landed
            ? <button type="button" class="primary" onClick={onClose}>Close</button>
            : (
              <>
                <button type="submit" class="primary" disabled={busy || answer?.outcome !== "would-land"}><Branch size={14} /> Land</button>
                <button type="button" disabled={busy} onClick={() => void ask(true)}>Look again</button>
                <button type="button" class="quiet" onClick={onClose}>Cancel</button>
              </>
            )}
        </div>
      </form>
    </Modal>
  );
}

/** What happened, or would. */
export function Outcome({ answer }: { answer: MergeAnswer }) {
  const { outcome, into, commits, paths, uncommitted = [], tree } = answer;
  const onto = <code><bdi>{into}</bdi></code>;
  switch (outcome) {
    case "landed":
      return <p class="notice notice-done"><Check size={14} /> <span>Landed: {onto} is at <code>{answer.commit?.slice(0, 10)}</code> now, with {plural(commits, "commit")} of {treeName(tree)}.</span></p>;
    case "nothing":
      return <p class="notice">Everything in it is in {onto} already.</p>;
    case "would-land":
      return (
        <>
          <p class="notice notice-done"><Check size={14} /> <span>{plural(commits, "commit")} can be landed on {onto} without a conflict. Nothing was changed yet.{answer.checkout ? ` The checkout in ${shortPath(answer.checkout)} follows.` : ""}</span></p>
          {uncommitted.length > 0 && <div class="notice notice-needs"><Warn size={14} /> <div><p>{plural(uncommitted.length, "file")} of the tree {uncommitted.length === 1 ? "is" : "are"} in no commit. They are committed first, and what is said here is said without them:</p><Paths paths={uncommitted} /></div></div>}
          {paths.length > 0 && <details><summary>{plural(paths.length, "file")} that {into} gets</summary><Paths paths={paths} /></details>}
        </>
      );
    case "conflict":
      return (
        <>
          <div class="notice notice-failed"><Warn size={14} /> <div><p><strong>It conflicts with {onto}.</strong> Both changed {plural(paths.length, "file")}, and nothing was touched:</p><Paths paths={paths} /></div></div>
          <p class="muted">{tree === RUN_TREE ? "Merge the branch in the tree of the run, or land on another branch." : "Send its agent a review that says so, merge the branch in its tree, or land on another branch."}</p>
          {(answer.messages?.length ?? 0) > 0 && <details><summary>What git says</summary><pre class="excerpt" tabIndex={0}>{answer.messages!.join("\n")}</pre></details>}
        </>
      );
    case "dirty-checkout":
      return (
        <>
          <div class="notice notice-failed"><Warn size={14} /> <div>
            <p><strong>{onto} is checked out with changes that are not committed.</strong> Nothing was touched. {answer.changed !== undefined && <>{plural(answer.changed, "file")} {answer.changed === 1 ? "is" : "are"} changed in </>}{answer.changed === undefined && "The checkout is "}<code title={answer.checkout}>{shortPath(answer.checkout ?? "")}</code>.</p>
            {paths.length > 0 ? <><p>In the way of what would be written:</p><Paths paths={paths} /></> : <p>None of them is in the way, but a checkout with changes is never written to.</p>}
          </div></div>
          <p class="muted">Commit or stash them there, or land on a branch that is not checked out.</p>
        </>
      );
  }
}

export function Paths({ paths }: { paths: readonly string[] }) {
  return (
    <ul class="merge-paths">
      {paths.slice(0, PATHS).map((path) => <li key={path}><code><bdi>{path}</bdi></code></li>)}
      {paths.length > PATHS && <li class="muted">and {paths.length - PATHS} more</li>}
    </ul>
  );
}
