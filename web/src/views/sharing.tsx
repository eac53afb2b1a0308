// Several agents that may write to one folder at the same moment: said wherever a run is shown.
import type { WorkflowItem } from "../api";
import type { SharedFolder } from "../api-trees";
import { details } from "../store";
import { plural, shortPath } from "../labels";
import { toSession } from "../route";
import { Warn } from "./icons";

/** What is known of it: the details of a session are newer than its line in a list. */
export const sharingOf = (item: WorkflowItem): SharedFolder | null => {
  const known = details.value.get(item.id);
  return (known ? known.sharing : item.sharing) ?? null;
};

export const sharingWords = (sharing: SharedFolder): string => `${plural(sharing.agents.length, "agent")} write in one folder`;

/** In full, with who they are. */
export function Sharing({ item }: { item: WorkflowItem }) {
  const sharing = sharingOf(item);
  if (sharing === null) return null;
  return (
    <p class="notice notice-needs" role="status"><Warn size={14} /> <span>{sharingWords(sharing)}, <code title={sharing.folder}>{shortPath(sharing.folder)}</code>, and can undo each other's work: {sharing.agents.map((agent, at) => (
      <span key={`${agent.workflow}/${agent.task}`}>{at > 0 && ", "}<a href={toSession(agent.workflow, agent.task)}>{agent.workflow === item.id ? agent.task : `${agent.task} of ${agent.workflowName}`}</a> ({agent.adapter})</span>
    ))}. With trees, each has a folder of its own.</span></p>
  );
}

/** In a line of a list. */
export function SharingMark({ item }: { item: WorkflowItem }) {
  const sharing = sharingOf(item);
  if (sharing === null) return null;
  return <span class="chip chip-needs" title={sharing.agents.map((agent) => `${agent.task} of ${agent.workflowName} (${agent.adapter})`).join("\n")}><Warn size={11} /> {sharingWords(sharing)}</span>;
}
