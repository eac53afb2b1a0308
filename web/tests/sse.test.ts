import assert from "node:assert/strict";
import { test } from "node:test";
import { Cutter, follow, type Message } from "../src/sse";

test("messages are the same however the stream is cut", () => {
  const stream = ": hello\nretry: 1000\n\nevent: snapshot\nid: 7\ndata: {\"a\":1}\n\nevent: x\r\ndata: one\r\ndata: two\r\n\r\n: beat\n\ndata\n\nid: 9\ndata:plain\n\n";
  const whole = new Cutter().push(stream);
  assert.deepEqual(whole, [
    { event: "snapshot", id: "7", data: "{\"a\":1}" },
    { event: "x", id: null, data: "one\ntwo" },
    { event: "message", id: null, data: "" },
    { event: "message", id: "9", data: "plain" },
  ]);
  for (let size = 1; size < 12; size += 1) {
    const cutter = new Cutter();
    const messages: Message[] = [];
    for (let at = 0; at < stream.length; at += size) messages.push(...cutter.push(stream.slice(at, at + size)));
    assert.deepEqual(messages, whole, `in pieces of ${size}`);
  }
});

const answer = (text: string): Response => new Response(text, { headers: { "content-type": "text/event-stream" } });

test("a stream that breaks is opened again from what was taken in, and nothing is asked for twice", async () => {
  const asked: (string | null)[] = [];
  const taken: string[] = [];
  const answers = ["id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\ndata: to", "id: 3\ndata: torn\n\n"];
  await new Promise<void>((resolve) => {
    follow({
      cursor: () => (taken.length === 0 ? null : String(taken.length)),
      open: async (after) => {
        asked.push(after);
        const next = answers.shift();
        if (next === undefined) throw new Error("no more");
        return answer(next);
      },
      message: (message) => {
        taken.push(message.data);
        return message.data === "torn";
      },
      health: (health) => {
        if (health === "ended") resolve();
      },
    });
  });
  assert.deepEqual(asked, [null, "2"]);
  assert.deepEqual(taken, ["a", "b", "torn"]);
});

test("what can never work is not tried again", async () => {
  let opened = 0;
  await new Promise<void>((resolve) => {
    follow({
      cursor: () => null,
      open: () => {
        opened += 1;
        return Promise.reject(new Error("signed out"));
      },
      message: () => undefined,
      health: (health) => {
        if (health === "lost") setTimeout(resolve, 600);
      },
      fatal: () => true,
    });
  });
  assert.equal(opened, 1);
});
