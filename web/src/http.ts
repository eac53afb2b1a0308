// Requests to the daemon: who we are, and what went wrong in words that help.
import { signal } from "@preact/signals";
import type { DeviceItem, Problem } from "./api";
import { SignInFailure, problemOfSignIn, signInAs } from "./device";

/**
 * Whether the page may use the daemon: `starting` until that is known, `in`, `out` if this browser
 * has to sign in, `impostor` while something else than the daemon answers.
 */
export const access = signal<"starting" | "in" | "out" | "impostor">("starting");

/** Why the page is not signed in, where there is more to say than how to. */
export const signInProblem = signal<unknown>(null);

/** This browser as the daemon knows it. */
export const device = signal<DeviceItem | null>(null);

/** The token of this page. It lives in this variable only: no storage, no address. */
let token: string | null = null;
let entering: Promise<string> | null = null;

/** Forgets the token. Whoever answers next must first show that it is the daemon. */
export function doubt(): void {
  token = null;
}

/** The token, after the daemon showed itself. Throws a {@link Refused}. */
export async function credential(): Promise<string> {
  if (token !== null) return token;
  entering ??= enter(null).finally(() => {
    entering = null;
  });
  return entering;
}

/** Signs in with a code, whatever was before. */
export async function signIn(code: string): Promise<void> {
  doubt();
  await enter(code);
}

async function enter(code: string | null): Promise<string> {
  try {
    const signedIn = await signInAs(postPlain, code);
    token = signedIn.token;
    device.value = signedIn.device;
    signInProblem.value = null;
    access.value = "in";
    return signedIn.token;
  } catch (error) {
    const refused = error instanceof SignInFailure ? new Refused(problemOfSignIn(error)) : error;
    if (error instanceof SignInFailure && error.kind === "impostor") {
      access.value = "impostor";
    } else if (error instanceof SignInFailure || (refused instanceof Refused && refused.problem.status === 401)) {
      access.value = "out";
      // That a code was refused stays on the page; that none was given needs no words.
      const plain = error instanceof SignInFailure && error.kind === "no-device";
      if (!plain) signInProblem.value = refused;
    } else if (access.value === "starting") {
      // The daemon does not answer: the page says so, and tries again by itself.
      access.value = "in";
    }
    throw refused;
  }
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

async function send(path: string, wishes: Wishes, bearer: string | null): Promise<Response> {
  const headers: Record<string, string> = { ...wishes.headers };
  if (bearer !== null) headers.Authorization = `Bearer ${bearer}`;
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
  try {
    return await fetch(path, init);
  } catch (error) {
    if (wishes.signal?.aborted) throw error;
    doubt();
    throw unreachable();
  }
}

async function postPlain<T>(path: string, body: unknown): Promise<T> {
  const answer = await send(path, { method: "POST", body }, null);
  if (!answer.ok) throw await problemOf(answer);
  try {
    return (await answer.json()) as T;
  } catch {
    // The daemon answers with JSON; this is something else.
    throw new SignInFailure("impostor");
  }
}

/** Asks, and throws a {@link Refused} for everything but success. */
export async function ask(path: string, wishes: Wishes = {}): Promise<Response> {
  for (let again = false; ; again = true) {
    const bearer = await credential();
    const answer = await send(path, wishes, bearer);
    if (answer.ok) return answer;
    const refused = await problemOf(answer);
    if (refused.problem.status !== 401) throw refused;
    // A token lives as long as the daemon that gave it; the device signs in again.
    if (token === bearer) doubt();
    if (again) throw refused;
  }
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
