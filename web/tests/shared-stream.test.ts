import assert from "node:assert/strict";
import { test } from "node:test";
import { shareStream, type Sharing, type Surroundings } from "../src/shared-stream";
import type { Health, Message } from "../src/sse";

/** A browser of cardboard: one lock, one channel, and a daemon that counts who listens. */
class Browser {
  private channels = new Set<{ onmessage: ((event: MessageEvent) => void) | null }>();
  private held: { release: (why?: unknown) => void } | null = null;
  private queue: (() => void)[] = [];
  private streams = new Set<{ tell: (message: Message) => void }>();
  private facts = 0;
  /** How many streams there were at most at once. */
  most = 0;

  happens(): void {
    this.facts += 1;
    for (const stream of [...this.streams]) stream.tell(fact(this.facts));
  }

  get listening(): number {
    return this.streams.size;
  }

  tab(shown: boolean): Tab {
    return new Tab(this, shown);
  }

  /** Opens a stream: what happened since, or a snapshot. */
  listen(after: number | null, told: (message: Message) => boolean): () => void {
    let last = after;
    const one = { tell: (message: Message) => {
      if (!this.streams.has(one) || (message.event === "fact" && last === null)) return;
      if (last !== null && Number(message.id) <= last) return;
      last = Number(message.id);
      if (told(message)) this.streams.delete(one);
    } };
    this.streams.add(one);
    this.most = Math.max(this.most, this.streams.size);
    queueMicrotask(() => {
      if (last === null) one.tell({ event: "snapshot", id: String(this.facts), data: "{}" });
      for (let at = (after ?? this.facts) + 1; at <= this.facts; at += 1) one.tell(fact(at));
    });
    return () => this.streams.delete(one);
  }

  channel(): ReturnType<Surroundings["channel"]> {
    const one: ReturnType<Surroundings["channel"]> = {
      onmessage: null,
      close: () => void this.channels.delete(one),
      postMessage: (data: unknown) => {
        for (const other of this.channels) {
          if (other !== one) queueMicrotask(() => other.onmessage?.({ data } as MessageEvent));
        }
      },
    };
    this.channels.add(one);
    return one;
  }

  locks = {
    request: (_name: string, wishes: LockOptions, run: () => Promise<void> | undefined) =>
      new Promise<void>((resolve, reject) => {
        const take = () => {
          const mine = { release: (why?: unknown) => {
            if (this.held === mine) this.held = null;
            if (why === undefined) resolve();
            else reject(why);
            if (!this.held) this.queue.shift()?.();
          } };
          this.held = mine;
          void Promise.resolve(run()).then(() => mine.release());
        };
        if (wishes.steal) {
          const robbed = this.held;
          take();
          robbed?.release(new Error("taken"));
        } else if (this.held) {
          this.queue.push(take);
          wishes.signal?.addEventListener("abort", () => {
            this.queue = this.queue.filter((one) => one !== take);
            reject(new Error("given up"));
          });
        } else take();
      }),
  } as unknown as Surroundings["locks"];
}

const fact = (pos: number): Message => ({ event: "fact", id: String(pos), data: "{}" });

class Tab {
  heard: string[] = [];
  health: Health = "connecting";
  pos: number | null = null;
  readonly stream: ReturnType<typeof shareStream>;

  constructor(browser: Browser, shown: boolean) {
    const sharing: Sharing = {
      open: (told) => {
        const stop = browser.listen(told.fresh() ? null : this.pos, told.message);
        told.health("open");
        return { stop, nudge: () => undefined };
      },
      hear: (message) => {
        this.heard.push(`${message.event} ${message.id}`);
        if (message.id !== null) this.pos = Number(message.id);
      },
      health: (health) => {
        this.health = health;
      },
      pos: () => this.pos,
    };
    this.stream = shareStream(sharing, { locks: browser.locks, channel: () => browser.channel(), shown: () => shown });
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

test("tabs share one stream, and each hears everything once", async () => {
  const browser = new Browser();
  const first = browser.tab(true);
  await settled();
  browser.happens();
  const hidden = browser.tab(false);
  const shown = browser.tab(true);
  await settled();
  browser.happens();
  browser.happens();
  await settled();
  assert.equal(browser.listening, 1);
  assert.deepEqual(first.heard, ["snapshot 0", "fact 1", "fact 2", "fact 3"]);
  assert.deepEqual(hidden.heard, ["snapshot 1", "fact 2", "fact 3"]);
  assert.deepEqual(shown.heard, ["snapshot 1", "fact 2", "fact 3"]);
  assert.ok([first, hidden, shown].every((tab) => tab.health === "open"));
});

test("when the tab with the stream is closed another goes on, and nothing is missed", async () => {
  const browser = new Browser();
  const tabs = [browser.tab(true), browser.tab(false), browser.tab(false)];
  await settled();
  browser.happens();
  await settled();
  tabs[0]!.stream.stop();
  browser.happens();
  await settled();
  browser.happens();
  await settled();
  assert.equal(browser.listening, 1);
  for (const tab of tabs.slice(1)) assert.deepEqual(tab.heard.slice(-3), ["fact 1", "fact 2", "fact 3"]);
});

test("a tab that is shown takes the stream, and the one before still hears everything", async () => {
  const browser = new Browser();
  const [first, second] = [browser.tab(true), browser.tab(false)];
  await settled();
  second.stream.shown();
  browser.happens();
  await settled();
  first.stream.shown();
  browser.happens();
  await settled();
  browser.happens();
  await settled();
  assert.equal(browser.listening, 1);
  assert.ok(browser.most <= 2);
  for (const tab of [first, second]) assert.deepEqual(tab.heard, ["snapshot 0", "fact 1", "fact 2", "fact 3"]);
});
