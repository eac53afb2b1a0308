// Streams of events over fetch. The browser's own EventSource cannot send a token, so this is
// what it does: cut the stream into messages, and come back with the last id that was taken in.

export interface Message {
  /** The type of the event. */
  event: string;
  /** Its place, where it has one. */
  id: string | null;
  data: string;
}

/** Cuts text into messages, however it arrives. */
export class Cutter {
  private rest = "";
  private event = "";
  private data: string[] = [];
  private id: string | null = null;

  push(text: string): Message[] {
    const messages: Message[] = [];
    this.rest += text;
    for (;;) {
      const end = this.rest.search(/[\r\n]/);
      if (end < 0) return messages;
      // A lone CR at the very end may be the first half of CR LF.
      if (this.rest[end] === "\r" && end + 1 === this.rest.length) return messages;
      const line = this.rest.slice(0, end);
      const two = this.rest[end] === "\r" && this.rest[end + 1] === "\n";
      this.rest = this.rest.slice(end + (two ? 2 : 1));
      const message = this.line(line);
      if (message) messages.push(message);
    }
  }

  private line(line: string): Message | null {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.id = value;
    return null;
  }

  private dispatch(): Message | null {
    const { event, data, id } = this;
    this.event = "";
    this.data = [];
    this.id = null;
    if (data.length === 0) return null;
    return { event: event || "message", id, data: data.join("\n") };
  }
}

export type Health = "connecting" | "open" | "lost" | "ended";

/** How a stream is opened, and what is told of it. */
export interface Following {
  /** Opens the stream after this id; throws what went wrong. */
  open: (after: string | null, signal: AbortSignal) => Promise<Response>;
  /** A message. `true` means that the stream is over for good and must not be opened again. */
  message: (message: Message) => boolean | void;
  health: (health: Health, why?: unknown) => void;
  /** The last id that was taken in; nothing asks for a snapshot. */
  cursor: () => string | null;
  /** Called before the cursor is read, so that what was gathered is taken in. */
  before?: () => void;
  /** Whether it makes no sense to try again after this. */
  fatal?: (why: unknown) => boolean;
}

/** The first pause before a stream is opened again, and the longest. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;
/** The daemon sends a heartbeat every 15 seconds; silence of three is a dead connection. */
const SILENCE = 45_000;

/** Follows a stream until it is told to stop. Comes back by itself, from where it was. */
export function follow(following: Following): { stop: () => void; nudge: () => void } {
  const stopped = new AbortController();
  let pause = FIRST_PAUSE;
  let wake: (() => void) | null = null;

  const rest = (time: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, time);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const once = async (): Promise<boolean> => {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    stopped.signal.addEventListener("abort", stop);
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(stop, SILENCE);
    };
    try {
      heard();
      following.before?.();
      const answer = await following.open(following.cursor(), attempt.signal);
      if (!answer.body) throw new Error("the answer has no body");
      following.health("open");
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      const cutter = new Cutter();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return false;
        heard();
        pause = FIRST_PAUSE;
        for (const message of cutter.push(decoder.decode(value, { stream: true }))) {
          if (stopped.signal.aborted) return true;
          const over = following.message(message) === true;
          if (over) {
            attempt.abort();
            return true;
          }
        }
      }
    } finally {
      clearTimeout(silence);
      stopped.signal.removeEventListener("abort", stop);
    }
  };

  void (async () => {
    while (!stopped.signal.aborted) {
      following.health("connecting");
      let why: unknown;
      try {
        if (await once()) {
          if (!stopped.signal.aborted) following.health("ended");
          return;
        }
      } catch (error) {
        why = error;
      }
      if (stopped.signal.aborted) return;
      following.health("lost", why);
      if (why !== undefined && following.fatal?.(why)) return;
      // A little chance keeps many pages from coming back in the same moment.
      await rest(pause * (0.8 + Math.random() * 0.4));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  })();

  return {
    stop: () => {
      stopped.abort();
      wake?.();
    },
    nudge: () => wake?.(),
  };
}
