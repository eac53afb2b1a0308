// The trees of a run: where each stands, what is in it, why it stays, and what can be done with it.
import { useState } from "preact/hooks";
import type { Workflow } from "../api";
import type { PrunedTrees, RestoredTree, TreeItem } from "../api-trees";
import { RUN_TREE } from "../api-trees";
import { treeName } from "../changes";
import { device, post } from "../http";
import { plural, type Standing } from "../labels";
import { toSession } from "../route";
import { useTrees } from "./changes";
import { Branch, Mark, Retry, Trash, Warn } from "./icons";
import { MergeDialog, Paths } from "./merge";
import { Modal } from "./modal";
import { Empty, Loading, say, Wrong } from "./parts";

/** How a tree stands, with a word for it. */
export function standingOf(tree: TreeItem): { standing: Standing; words: string } {
  if (tree.state === "wanted") return { standing: "pending", words: "being made" };
  if (tree.state === "gone") return { standing: "failed", words: "not there, though Coven did not remove it" };
  const { landing } = tree;
  if (landing.state === "conflict") return { standing: "needs", words: `conflicts with ${landing.onto}` };
  if (landing.state === "landed") return { standing: "done", words: `landed on ${landing.onto}${landing.newer ? ", more was done since" : ""}` };
  if (tree.state === "removed") return { standing: "skipped", words: "removed" };
  return tree.changed > 0 ? { standing: "working", words: "not landed" } : { standing: "idle", words: "nothing changed" };
}

export function Trees({ workflow }: { workflow: Workflow }) {
  const { id } = workflow;
  const { value, error, again } = useTrees(id);
  const [landing, land] = useState<TreeItem | null>(null);
  const [forced, force] = useState<TreeItem | null>(null);
  const [pruning, prune] = useState(false);
  const full = device.value?.role === "full" && !workflow.foreign;
  const restore = (tree: TreeItem) => {
    post<RestoredTree>("/trees/restore", { workflow: id, task: tree.tree })
      .then((made) => {
        say({ text: `Checkpoint ${made.checkpoint} is in ${made.path}, a new tree: ${plural(made.written, "file")}${made.failed?.length ? `; ${plural(made.failed.length, "file")} could not be written` : ""}.` });
        again();
      }, (wrong: unknown) => say({ error: wrong }));
  };
  if (value === null) return error !== null ? <Wrong error={error} /> : <Loading what="the trees" />;
  if (value.trees.length === 0) return <Empty title="This run has no trees"><p>Its agents work in the folder of the run.</p></Empty>;
  return (
    <section class="trees" aria-label="Trees of this run">
      {error !== null && <Wrong error={error} />}
      <div class="changes-bar">
        <p class="muted">Each is a git worktree with a branch of its own. What is in none of your branches is never removed.</p>
        <span class="spread" />
        {full && <button type="button" class="small" onClick={() => prune(true)}><Trash size={13} /> Remove what may go…</button>}
      </div>
      <ul class="tree-list">
        {value.trees.map((tree) => {
          const { standing, words } = standingOf(tree);
          const isRun = tree.tree === RUN_TREE;
          return (
            <li key={tree.tree} class="tree-item" data-tree={tree.tree}>
              <div class="tree-head">
                <Mark standing={standing} label="" />
                <strong>{isRun ? "The run" : tree.tree}</strong>
                <span>{words}</span>
                {tree.changed > 0 && <span class="muted">{plural(tree.changed, "file")} changed</span>}
                {tree.uncommitted && <span class="chip">not all committed</span>}
                <span class="spread" />
                <span class="tree-actions">
                  <a class="button small" href={isRun ? toSession(id, null, "changes") : toSession(id, tree.tree, "changes")}>Changes</a>
                  {full && tree.state === "ready" && <button type="button" class="small" onClick={() => land(tree)}><Branch size={13} /> Land…</button>}
                  {full && tree.checkpoints > 0 && <button type="button" class="small quiet" title="Bring its newest checkpoint back as a new tree" onClick={() => restore(tree)}><Retry size={13} /> Restore</button>}
                  {full && tree.state === "ready" && <button type="button" class="small quiet danger-quiet" onClick={() => force(tree)}><Trash size={13} /> Remove…</button>}
                </span>
              </div>
              <dl class="facts tree-facts">
                <div><dt>Branch</dt><dd><code><bdi>{tree.branch}</bdi></code></dd></div>
                {tree.target && <div><dt>For</dt><dd><code><bdi>{tree.target}</bdi></code></dd></div>}
                <div><dt>Folder</dt><dd class="path" title={tree.path}><bdi>{tree.path}</bdi></dd></div>
                {tree.ports && <div><dt>Ports</dt><dd>{tree.ports.first} to {tree.ports.first + tree.ports.count - 1}</dd></div>}
                <div><dt>Checkpoints</dt><dd>{tree.checkpoints}</dd></div>
              </dl>
              {tree.kept && <p class="tree-why"><span class="muted">Stays because</span> {tree.kept}</p>}
              {tree.landing.state === "conflict" && <div class="tree-why"><span class="muted">Both changed</span><Paths paths={tree.landing.paths ?? []} /></div>}
              {tree.problem && <p class="notice notice-failed"><Warn size={14} /> <span>{WORK[tree.problem.work] ?? "Something could not be done"}: {tree.problem.error}</span></p>}
            </li>
          );
        })}
      </ul>
      {landing && <MergeDialog id={id} tree={landing.tree} target={landing.target ?? null} onClose={() => land(null)} onLanded={again} />}
      {forced && <RemoveDialog id={id} tree={forced} onClose={() => force(null)} onRemoved={again} />}
      {pruning && <PruneDialog id={id} onClose={() => prune(false)} onRemoved={again} />}
    </section>
  );
}

const WORK: Record<string, string> = {
  make: "It could not be made",
  checkpoint: "It could not be checkpointed",
  commit: "What was left in it could not be committed",
  land: "It could not be landed",
  remove: "It could not be removed",
};

/** Removes one tree, whatever is in it, once its name was typed. */
function RemoveDialog({ id, tree, onClose, onRemoved }: { id: string; tree: TreeItem; onClose: () => void; onRemoved: () => void }) {
  const [typed, type] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [kept, setKept] = useState<string | null>(null);
  const name = tree.tree;
  const submit = async () => {
    if (typed !== name) return;
    setError(null);
    try {
      const done = await post<PrunedTrees>("/trees/prune", { workflow: id, force: name });
      const why = done.kept.find((one) => one.tree === name)?.why;
      if (why !== undefined && done.removed.length === 0) return setKept(why);
      say({ text: `The tree of ${treeName(name)} was removed. Its last checkpoint stays.` });
      onRemoved();
      onClose();
    } catch (wrong) {
      setError(wrong);
    }
  };
  return (
    <Modal title={`Remove the tree of ${treeName(name)}`} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}>
        <p>It is removed whatever is in it. Everything in it is kept in its last checkpoint first, and a branch with commits that are nowhere else stays.</p>
        {tree.kept && <p class="notice notice-needs"><Warn size={14} /> <span>It stays because {tree.kept}</span></p>}
        <label class="field"><span>To remove it, type <code>{name}</code></span>
          <input value={typed} spellcheck={false} autoComplete="off" autoCapitalize="off" onInput={(event) => type(event.currentTarget.value)} /></label>
        {kept !== null && <p class="notice notice-needs"><Warn size={14} /> <span>It was not removed: {kept}</span></p>}
        {error !== null && <Wrong error={error} />}
        <div class="dialog-end">
          <button type="submit" class="danger" disabled={typed !== name}>Remove</button>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Modal>
  );
}

/** Removes the trees that may go; says first which, and why others stay. */
function PruneDialog({ id, onClose, onRemoved }: { id: string; onClose: () => void; onRemoved: () => void }) {
  const [told, tell] = useState<PrunedTrees | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [asked, set] = useState(false);
  const ask = (dryRun: boolean) => post<PrunedTrees>("/trees/prune", { workflow: id, dryRun });
  if (!asked) {
    set(true);
    ask(true).then(tell, setError);
  }
  const submit = () => {
    ask(false).then((done) => {
      say({ text: `${plural(done.removed.length, "tree")} removed.` });
      onRemoved();
      onClose();
    }, setError);
  };
  return (
    <Modal title="Remove the trees that may go" onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}>
        {told === null && error === null && <Loading what="what may go" />}
        {told && (told.removed.length > 0
          ? <div><p>{plural(told.removed.length, "tree")} would be removed; what is in them is in a branch or a checkpoint:</p><Paths paths={told.removed.map((one) => one.tree)} /></div>
          : <p>None may go yet.</p>)}
        {told && told.kept.length > 0 && <div><p>{plural(told.kept.length, "tree")} would stay:</p><ul class="merge-paths">{told.kept.map((one) => <li key={one.tree}><code>{one.tree}</code> {one.why}</li>)}</ul></div>}
        {error !== null && <Wrong error={error} />}
        <div class="dialog-end">
          <button type="submit" class="danger" disabled={told === null || told.removed.length === 0}>Remove</button>
          <button type="button" class="quiet" onClick={onClose}>Cancel</button>
        </div>
      </form>
    </Modal>
  );
}
