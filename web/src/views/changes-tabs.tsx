// The views of trees and changes. They are fetched when the first one is shown, as terminals are.
import type { Workflow } from "../api";
import { later } from "./parts";

export const Changes = later(async () => (await import("./changes-chunk")).Changes);
export const Trees = later(async () => (await import("./changes-chunk")).Trees);
export const RunChanges = later(async () => (await import("./changes-chunk")).RunChanges);

/** Whether any task of a run works in a tree. */
export const hasTrees = (workflow: Workflow): boolean => workflow.tasks.some((task) => task.tree);
