// What the page asks the daemon to do: decide, start, resume, cancel, and what tasks are told.
import type { Decide, InterventionItem, Started, StartWorkflow, Workflow } from "./api";
import { ask, ofTask, ofWorkflow, post } from "./http";
import { refresh } from "./live";
import { arrive } from "./store";

export async function decide(item: InterventionItem, decision: Decide): Promise<void> {
  // An intervention's id is the session's, a slash and a number: both are parts of the path.
  const path = item.id.split("/").map(encodeURIComponent).join("/");
  await post(`/interventions/${path}`, decision);
}

export async function start(request: StartWorkflow): Promise<Started> {
  // The same press of a button makes one session, whatever becomes of the connection.
  return post<Started>("/workflows", request, { "Idempotency-Key": crypto.randomUUID() });
}

async function change(id: string, verb: "resume" | "retry"): Promise<void> {
  const workflow = await post<Workflow>(ofWorkflow(id, `/${verb}`), {});
  if (workflow) arrive({ type: "detail", workflow });
}

export const resume = (id: string) => change(id, "resume");
export const retry = (id: string) => change(id, "retry");

export async function cancel(id: string): Promise<void> {
  await ask(ofWorkflow(id), { method: "DELETE" });
  refresh(id);
}

export async function purge(id: string): Promise<void> {
  await post(ofWorkflow(id, "/purge"), {});
  arrive({ type: "forgotten", id });
}

export type TaskVerb = "interrupt" | "complete" | "stop";

export async function tell(id: string, task: string, verb: TaskVerb): Promise<void> {
  await post(ofTask(id, task, `/${verb}`));
  refresh(id);
}

export const send = (id: string, task: string, message: string) =>
  post<void>(ofTask(id, task, "/input"), { message });

export const press = (id: string, task: string, keys: string[]) =>
  post<void>(ofTask(id, task, "/input"), { keys });
