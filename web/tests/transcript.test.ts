import assert from "node:assert/strict";
import { test } from "node:test";
import type { TranscriptEntry } from "../src/api";
import { blocksOf, inlineOf, type Block, type Inline } from "../src/markdown";
import { extended, storyOf } from "../src/transcript";

const entry = (id: number, kind: string, text = "", more: Partial<TranscriptEntry> = {}): TranscriptEntry => ({ id, at: 0, kind, text, ...more });

test("pieces of a text are one text, and nothing is told twice", () => {
  const first = extended([], [entry(1, "text", "I lo"), entry(2, "text", "ok.", { continues: true })]);
  assert.deepEqual(first.map((one) => one.text), ["I look."]);
  const again = extended(first, [entry(2, "text", "ok.", { continues: true }), entry(3, "text", " More.", { continues: true }), entry(4, "text", "New.")]);
  assert.deepEqual(again.map((one) => one.text), ["I look. More.", "New."]);
});

test("a call of a tool is one card with its question, its changes and its result", () => {
  const { shown, usage, plan } = storyOf([
    entry(1, "tool", "a.rs", { call: "c", tool: "Edit" }),
    entry(2, "diff", "-a\n+b\n", { call: "c", path: "a.rs" }),
    entry(3, "question", "a.rs", { call: "c", request: "7" }),
    entry(4, "answered", "answered", { request: "7" }),
    entry(5, "result", "ok", { call: "c", ok: true }),
    entry(6, "result", "of another call", { call: "d", ok: true }),
    entry(7, "plan", "", { steps: [{ text: "x", status: "pending" }] }),
    entry(8, "usage", "", { usage: { outputTokens: 3 } }),
    entry(9, "text", "Done."),
    entry(10, "final", "Done.", { ok: true, repeated: true }),
  ]);
  assert.deepEqual(shown.map((one) => (one.is === "tool" ? "card" : one.entry.kind)), ["card", "result", "plan", "text"]);
  const card = shown[0]!;
  assert.ok(card.is === "tool" && card.diffs.length === 1 && card.asked && card.answered && card.result?.text === "ok");
  assert.deepEqual([usage?.outputTokens, plan.length], [3, 1]);
});

test("what a helper of the agent says is no part of what the agent says", () => {
  const by = "subagent reviewer";
  const all = extended([], [entry(1, "text", "I lo"), entry(2, "text", "Reading.", { by }), entry(3, "text", "ok.", { continues: true }), entry(4, "text", " On.", { continues: true, by })]);
  assert.deepEqual(all.map((one) => [one.text, one.by]), [["I lo", undefined], ["Reading.", by], ["ok.", undefined], [" On.", by]]);
});

test("markdown is read as people write it", () => {
  const blocks = blocksOf("# Head\n\nSome **bold** and `code`\n\n- one\n- two\n  more\n\n1. first\n\n```rust\nfn a() {}\n```\n> said\n");
  assert.deepEqual(blocks.map((block) => block.is), ["heading", "paragraph", "list", "list", "code", "quote"]);
  assert.deepEqual(inlineOf("a **b** *c* `d`").map((part) => part.is), ["text", "strong", "text", "em", "text", "code"]);
});

/** All links in a text. */
function links(blocks: Block[]): string[] {
  const inside = (parts: Inline[]): string[] => parts.flatMap((part) => (part.is === "link" ? [part.href, ...inside(part.parts)] : "parts" in part ? inside(part.parts) : []));
  return blocks.flatMap((block) => {
    if (block.is === "paragraph" || block.is === "heading") return inside(block.parts);
    if (block.is === "quote") return links(block.blocks);
    return block.is === "list" ? block.items.flatMap(links) : [];
  });
}

test("a link leads to the web or is text, and nothing is fetched", () => {
  const hostile = "[a](javascript:alert(1)) [b](data:text/html,x) [c](//evil.example) [d](file:///etc/passwd) [e](https://ok.example/x) ![p](https://pic.example/p.png) <img src=x onerror=alert(1)> <script>x</script>";
  assert.deepEqual(links(blocksOf(hostile)), ["https://ok.example/x", "https://pic.example/p.png"]);
});

test("text that is made to take long does not", () => {
  const began = Date.now();
  for (const text of ["*".repeat(50_000), "[".repeat(50_000), "`".repeat(20_001), "> ".repeat(20_000), "- ".repeat(20_000), "**a".repeat(20_000), "![".repeat(30_000), "\n".repeat(50_000)]) {
    blocksOf(text);
  }
  assert.ok(Date.now() - began < 5000, `${Date.now() - began} ms`);
});
