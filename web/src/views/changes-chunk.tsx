// What is fetched together once changes or trees are looked at.
import type { Workflow } from "../api";
import { RUN_TREE } from "../api-trees";
import { toSession } from "../route";
import { Changes, useTrees } from "./changes";
import { Empty, Loading, Wrong } from "./parts";

export { Changes } from "./changes";
export { Trees } from "./trees";

/** The changes of the run: of its tree if it has one, and otherwise the way to those of its tasks. */
export function RunChanges({ workflow, file }: { workflow: Workflow; file: string | null }) {
  const { value, error } = useTrees(workflow.id);
  if (value === null) return error !== null ? <Wrong error={error} /> : <Loading what="the changes" />;
  if (value.trees.some((one) => one.tree === RUN_TREE)) return <Changes workflow={workflow} task={RUN_TREE} tree={RUN_TREE} file={file} />;
  return (
    <Empty title="The run has no tree of its own">
      <p>Its tasks have: {value.trees.map((one, at) => <span key={one.tree}>{at > 0 && ", "}<a href={toSession(workflow.id, one.tree, "changes")}>{one.tree}</a></span>)}</p>
    </Empty>
  );
}
