// The words of the daemon's API about trees: changes, reviews, landing. Held against the published
// document by the same test as api.ts.
import type { AttemptId, Timestamp } from "./api";

/** The task that stands for the tree of the run. */
export const RUN_TREE = "@run";

export type FileChangeStatus = "added" | "modified" | "deleted" | "renamed" | "type-changed";
export type FileKind = "file" | "symlink" | "submodule";
export type ReviewSide = "old" | "new";
export type ReviewDelivery = "none" | "message" | "queued" | "attempt" | "run";
export type TreeState = "wanted" | "ready" | "gone" | "removed";
export type MergeMode = "merge" | "squash" | "rebase";
export type MergeOutcome = "landed" | "would-land" | "nothing" | "conflict" | "dirty-checkout";

export interface CheckpointItem {
  number: number;
  attempt?: AttemptId;
  files?: number;
  at: Timestamp;
}

export interface ModeChange {
  old: string;
  new: string;
}

export interface TreeFileChange {
  /** Below the top folder of the tree; in quotation marks with escapes if it is no plain line. */
  path: string;
  old?: string;
  status: FileChangeStatus;
  kind: FileKind;
  added: number;
  removed: number;
  binary: boolean;
  tooLarge: boolean;
  mode?: ModeChange;
}

export interface TreeChanges {
  tree: string;
  branch: string;
  against: string;
  target?: string;
  base: string;
  head: string;
  /** Whether the tree is there; otherwise these are the changes of its last checkpoint. */
  present: boolean;
  files: TreeFileChange[];
  /** How many files are not listed. */
  omitted?: number;
  checkpoints: CheckpointItem[];
}

export interface ChangeLine {
  k: " " | "+" | "-";
  o?: number;
  n?: number;
  t: string;
  /** It ends with a carriage return. */
  cr?: boolean;
  /** The file ends after it without a line feed. */
  end?: boolean;
}

export interface ChangeHunk {
  oldStart: number;
  newStart: number;
  lines: ChangeLine[];
}

export interface FileChanges {
  tree: string;
  base: string;
  head: string;
  file: TreeFileChange;
  hunks: ChangeHunk[];
  cut?: boolean;
  /** Characters that cannot be seen stand as their names, such as `⟨U+202E⟩`. */
  marked?: boolean;
}

export interface AgentSummary {
  task: string;
  attempt: number;
  text: string;
}

/** What an agent that reviews says about lines. */
export interface AgentComment {
  task: string;
  attempt: number;
  /** Its place in the answer of that attempt. */
  place: number;
  path: string;
  side: ReviewSide;
  /** As it is counted now; of one that is outdated as the agent counted. */
  line: number;
  endLine?: number;
  text: string;
  /** The lines as the agent saw them. */
  lines: string[];
  outdated?: boolean;
}

export interface AgentComments {
  tree?: string;
  /** The commit of the files in which the lines are counted. */
  head?: string;
  summaries: AgentSummary[];
  comments: AgentComment[];
  /** How many comments are not listed. */
  omitted?: number;
}

export interface ReviewComment {
  path: string;
  side?: ReviewSide;
  line: number;
  endLine?: number;
  text: string;
}

export interface SendReview {
  comments?: ReviewComment[];
  summary?: string;
  against?: string;
  head?: string;
  send?: boolean;
}

export interface ReviewAnswer {
  delivery: ReviewDelivery;
  attempt?: number;
  /** The name of the run that begins with it. */
  run?: string;
  message: string;
  /** Places in the comments whose lines have changed since. */
  outdated?: number[];
}

export interface TreeLanding {
  state: "open" | "landed" | "conflict";
  onto?: string;
  commit?: string;
  /** More was committed in the tree since. */
  newer?: boolean;
  paths?: string[];
}

export interface TreeTrouble {
  work: string;
  error: string;
}

export interface PortRange {
  first: number;
  count: number;
}

export interface TreeItem {
  workflow: string;
  workflowName: string;
  tree: string;
  state: TreeState;
  path: string;
  branch: string;
  base: string;
  head?: string;
  root: string;
  target?: string;
  landing: TreeLanding;
  changed: number;
  checkpoints: number;
  uncommitted?: boolean;
  /** Why it stays where it is. */
  kept?: string;
  problem?: TreeTrouble;
  ports?: PortRange;
  size?: number;
}

export interface TreeList {
  trees: TreeItem[];
}

export interface MergeRequest {
  task?: string;
  into?: string;
  mode?: MergeMode;
  message?: string;
  dryRun?: boolean;
}

export interface MergeAnswer {
  outcome: MergeOutcome;
  tree: string;
  branch: string;
  into: string;
  mode: MergeMode;
  commit?: string;
  commits: number;
  paths: string[];
  messages?: string[];
  /** Where `into` is checked out. */
  checkout?: string;
  /** How many files are changed in that checkout, if it is in the way. */
  changed?: number;
  /** Files of the tree that are not committed; they are, before it is landed. */
  uncommitted?: string[];
}

export interface RestoreTree {
  workflow: string;
  task?: string;
  checkpoint?: number;
}

export interface UnwrittenFile {
  path: string;
  why: string;
}

export interface RestoredTree {
  workflow: string;
  workflowName: string;
  tree: string;
  checkpoint: number;
  path: string;
  branch: string;
  written: number;
  failed?: UnwrittenFile[];
}

export interface PruneTrees {
  workflow?: string;
  force?: string;
  dryRun?: boolean;
}

export interface PrunedTree {
  workflow: string;
  workflowName: string;
  tree: string;
  path: string;
  why?: string;
}

export interface PrunedTrees {
  removed: PrunedTree[];
  kept: PrunedTree[];
}

export interface FolderAgent {
  workflow: string;
  workflowName: string;
  task: string;
  adapter: string;
}

/** Several agents that may write to one folder at the same time. */
export interface SharedFolder {
  folder: string;
  agents: FolderAgent[];
}
