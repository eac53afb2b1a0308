// Requests to the daemon: who we are, and what went wrong in words that help.
import { signal } from "@preact/signals";
import type { Problem } from "./api";

const KEY = "coven.token";

/** The token of this tab. It is never put into an address, and goes when the tab is closed. */
export const token = signal<string | null>(sessionStorage.getItem(KEY));

export function keepToken(value: string | null): void {
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
  token.value = value;
}

/** A request that was not done. `status` is 0 where the daemon could not be reached. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }

  get code(): string {
    return this.problem.code;
  }
}

export function unreachable(): Refused {
  return new Refused({
    type: "",
    title: "The daemon cannot be reached",
    status: 0,
    code: "unreachable",
    detail: "The daemon does not answer.",
    hint: "The page goes on by itself once it is back. `coven daemon status` says more.",
  });
}

/** The problem an answer tells of, also where it is none of ours. */
export async function problemOf(answer: Response): Promise<Refused> {
  try {
    const problem = (await answer.json()) as Problem;
    if (typeof problem.code === "string") return new Refused(problem);
  } catch {
    // It is no JSON; what is known is the status.
  }
  return new Refused({
    type: "",
    title: `The daemon answered ${answer.status}`,
    status: answer.status,
    code: "unknown",
    detail: `The daemon answered ${answer.status} ${answer.statusText}.`,
  });
}

interface Wishes {
  method?: "GET" | "POST" | "DELETE";
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Asks, and throws a {@link Refused} for everything but success. */
export async function ask(path: string, wishes: Wishes = {}): Promise<Response> {
  const headers: Record<string, string> = { ...wishes.headers };
  if (token.value !== null) headers.Authorization = `Bearer ${token.value}`;
  const init: RequestInit = {
    method: wishes.method ?? "GET",
    headers,
    cache: "no-store",
    credentials: "omit",
    ...(wishes.signal ? { signal: wishes.signal } : {}),
  };
  if (wishes.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(wishes.body);
  }
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (wishes.signal?.aborted) throw error;
    throw unreachable();
  }
  if (answer.ok) return answer;
  const refused = await problemOf(answer);
  // The token of another daemon, or of one whose token was renewed: sign in again.
  if (refused.problem.status === 401 && path !== "/sign-in") keepToken(null);
  throw refused;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await ask(path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export async function post<T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const answer = await ask(path, { method: "POST", body, ...(headers ? { headers } : {}) });
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The path of a session, or of something of it. */
export const ofWorkflow = (id: string, rest = ""): string =>
  `/workflows/${encodeURIComponent(id)}${rest}`;

/** The path of a task, or of something of it. */
export const ofTask = (id: string, task: string, rest = ""): string =>
  ofWorkflow(id, `/tasks/${encodeURIComponent(task)}${rest}`);
