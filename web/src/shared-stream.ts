// The tabs of one browser share the stream of everything, because browsers allow six connections
// to one host for all tabs together. One tab keeps the stream open and tells the others what it
// hears: the tab that was shown last, because a browser may put the others to sleep. A tab that
// missed something reads that much itself. Where a browser cannot do this each tab has a stream.
import type { Health, Message } from "./sse";

/** A stream that was opened. */
export interface Stream {
  stop: () => void;
  nudge: () => void;
}

export interface Sharing {
  /** Opens the stream after what was taken in, or from a snapshot while `fresh` says so. It is over
   *  once `message` says so. */
  open: (told: {
    message: (message: Message) => boolean;
    health: (health: Health) => void;
    fresh: () => boolean;
  }) => Stream;
  hear: (message: Message) => void;
  health: (health: Health) => void;
  /** The place up to which everything was taken in. */
  pos: () => number | null;
}

/** What tabs tell each other. */
type Word =
  /** What the tab with the stream heard. */
  | { kind: "heard"; message: Message }
  /** How its stream is, and how far it has come. */
  | { kind: "state"; health: Health; pos: number | null }
  /** It had to begin again; what the others know may be of another life of the daemon. */
  | { kind: "begun-again" }
  /** A tab that came later asks how the stream is. */
  | { kind: "asked" };

/** What a tab has of its surroundings. */
export interface Surroundings {
  locks: Pick<LockManager, "request"> | undefined;
  channel: () => Pick<BroadcastChannel, "postMessage" | "close" | "onmessage">;
  shown: () => boolean;
}

/** The reading of what a tab missed: up to where, and whether from a snapshot. */
interface Reading {
  stream: Stream | null;
  upTo: number;
  fresh: boolean;
}

const NAME = "coven.everything";

const browser = (): Surroundings => ({
  locks: typeof BroadcastChannel === "undefined" ? undefined : navigator.locks,
  channel: () => new BroadcastChannel(NAME),
  shown: () => !document.hidden,
});

/** Follows the stream together with the other tabs. `shown` is to be called when the tab is. */
export function shareStream(sharing: Sharing, around: Surroundings = browser()): Stream & { shown: () => void } {
  const { locks } = around;
  if (!locks) {
    const message = (one: Message) => {
      sharing.hear(one);
      return false;
    };
    const stream = sharing.open({ message, health: sharing.health, fresh: () => false });
    return { ...stream, shown: () => undefined };
  }

  const channel = around.channel();
  let stopped = false;
  /** The place of the last message that was heard. */
  let last = sharing.pos();
  /** How the stream is, as far as is known. */
  let health: Health = "connecting";
  /** The stream that is kept open for all. */
  let kept: Stream | null = null;
  let reading: Reading | null = null;
  let wish = new AbortController();
  let release = () => undefined as void;

  const post = (word: Word) => {
    if (!stopped) channel.postMessage(word);
  };
  const hear = (message: Message) => {
    if (message.id !== null) last = Number(message.id);
    sharing.hear(message);
  };
  const feel = (now: Health) => {
    health = now;
    sharing.health(now);
  };

  const stopReading = () => {
    reading?.stream?.stop();
    reading = null;
  };

  const read = (upTo: number, fresh = false) => {
    if (reading) {
      reading.upTo = Math.max(reading.upTo, upTo);
      reading.fresh ||= fresh;
      return;
    }
    const mine: Reading = { stream: null, upTo, fresh };
    reading = mine;
    mine.stream = sharing.open({
      fresh: () => mine.fresh,
      message: (message) => {
        if (reading !== mine) return true;
        hear(message);
        if (message.event === "snapshot") mine.fresh = false;
        if (mine.fresh || message.id === null || Number(message.id) < mine.upTo) return false;
        reading = null;
        return true;
      },
      health: (now) => {
        // Whether the daemon answers is also told by the tab that keeps the stream.
        if (now === "open" || now === "lost") feel(now);
      },
    });
  };

  const keep = () => {
    stopReading();
    kept = sharing.open({
      fresh: () => false,
      message: (message) => {
        hear(message);
        if (message.event === "gap") post({ kind: "begun-again" });
        else if (message.event === "snapshot") post({ kind: "state", health, pos: last });
        else if (message.id !== null) post({ kind: "heard", message });
        return false;
      },
      health: (now) => {
        feel(now);
        post({ kind: "state", health, pos: last });
      },
    });
  };

  /** Wishes to be the tab that keeps the stream: at once, or when its turn comes. */
  const want = (atOnce: boolean) => {
    wish.abort();
    const mine = new AbortController();
    wish = mine;
    const held = () => {
      if (stopped || mine.signal.aborted) return undefined;
      keep();
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    locks.request(NAME, atOnce ? { steal: true } : { signal: mine.signal }, held).catch(() => {
      if (mine.signal.aborted) return;
      // Another tab was shown and keeps the stream now.
      kept?.stop();
      kept = null;
      if (!stopped) want(false);
    });
  };

  channel.onmessage = ({ data }: MessageEvent<Word>) => {
    if (stopped) return;
    if (kept) {
      if (data.kind === "asked") post({ kind: "state", health, pos: last });
      return;
    }
    switch (data.kind) {
      case "heard": {
        const place = Number(data.message.id);
        if (reading) read(place);
        else if (last === null || place > last + 1) read(place);
        else if (place === last + 1) hear(data.message);
        break;
      }
      case "state":
        feel(data.health);
        if (data.pos !== null && (last === null || data.pos > last)) read(data.pos);
        break;
      case "begun-again":
        read(0, true);
        break;
      case "asked":
        break;
    }
  };

  if (around.shown()) {
    want(true);
  } else {
    want(false);
    read(0);
    post({ kind: "asked" });
  }
  return {
    stop: () => {
      stopped = true;
      wish.abort();
      release();
      kept?.stop();
      stopReading();
      channel.close();
    },
    nudge: () => {
      kept?.nudge();
      reading?.stream?.nudge();
    },
    shown: () => {
      if (!stopped && !kept) want(true);
    },
  };
}
