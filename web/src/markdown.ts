// Markdown of agents as plain data. There is no HTML in it: whatever looks like HTML is text, a
// link is only what leads to the web, and a picture is its description. The views make elements
// of it, never markup.

export type Inline =
  | { is: "text"; text: string }
  | { is: "code"; text: string }
  | { is: "strong" | "em"; parts: Inline[] }
  | { is: "link"; href: string; parts: Inline[] };

export type Block =
  | { is: "paragraph"; parts: Inline[] }
  | { is: "heading"; level: number; parts: Inline[] }
  | { is: "code"; text: string; lang: string }
  | { is: "quote"; blocks: Block[] }
  | { is: "list"; ordered: boolean; start: number; items: Block[][] }
  | { is: "rule" };

/** Deeper nesting than people write is read as text. */
const DEEPEST = 6;
/** A longer text is shown as it is: reading it would take longer than a person waits. */
const LONGEST = 200_000;

export function blocksOf(text: string, depth = 0): Block[] {
  if (text.length > LONGEST || depth > DEEPEST) return [{ is: "paragraph", parts: [{ is: "text", text }] }];
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  let open: string[] = [];
  const close = () => {
    if (open.length > 0) blocks.push({ is: "paragraph", parts: inlineOf(open.join("\n")) });
    open = [];
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)/.exec(line);
    if (fence) {
      close();
      const body: string[] = [];
      for (at += 1; at < lines.length && !isFenceEnd(lines[at]!, fence[1]!); at += 1) body.push(lines[at]!);
      at += 1;
      blocks.push({ is: "code", text: body.join("\n"), lang: fence[2] ?? "" });
      continue;
    }
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    if (heading) {
      close();
      blocks.push({ is: "heading", level: heading[1]!.length, parts: inlineOf(heading[2]!) });
    } else if (/^ {0,3}([-*_])( *\1){2,}\s*$/.test(line)) {
      close();
      blocks.push({ is: "rule" });
    } else if (/^ {0,3}>/.test(line)) {
      close();
      const inner: string[] = [];
      for (; at < lines.length && /^ {0,3}>/.test(lines[at]!); at += 1) inner.push(lines[at]!.replace(/^ {0,3}> ?/, ""));
      blocks.push({ is: "quote", blocks: blocksOf(inner.join("\n"), depth + 1) });
      continue;
    } else if (itemOf(line)) {
      close();
      const [list, next] = listFrom(lines, at, depth);
      blocks.push(list);
      at = next;
      continue;
    } else if (line.trim() === "") {
      close();
    } else {
      open.push(line);
    }
    at += 1;
  }
  close();
  return blocks;
}

function isFenceEnd(line: string, fence: string): boolean {
  const end = line.trim();
  return end.length >= fence.length && end === fence[0]!.repeat(end.length);
}

function itemOf(line: string): { indent: number; ordered: boolean; start: number; text: string } | null {
  const found = /^( {0,3})([-*+]|(\d{1,9})[.)])( +|$)(.*)$/.exec(line);
  if (!found) return null;
  const [, before, mark, number, blank, text] = found;
  return { indent: before!.length + mark!.length + Math.max(1, blank!.length), ordered: number !== undefined, start: Number(number ?? 1), text: text! };
}

function listFrom(lines: string[], from: number, depth: number): [Block, number] {
  const first = itemOf(lines[from]!)!;
  const items: Block[][] = [];
  let at = from;
  while (at < lines.length) {
    const item = itemOf(lines[at]!);
    if (!item || item.ordered !== first.ordered) break;
    const inner = [item.text];
    for (at += 1; at < lines.length; at += 1) {
      const line = lines[at]!;
      if (line.trim() === "" && at + 1 < lines.length && indentOf(lines[at + 1]!) >= item.indent) inner.push("");
      else if (line.trim() !== "" && indentOf(line) >= Math.min(item.indent, 2)) inner.push(line.slice(Math.min(indentOf(line), item.indent)));
      else break;
    }
    items.push(blocksOf(inner.join("\n"), depth + 1));
    // Items of a loose list are apart by an empty line.
    if (at + 1 < lines.length && lines[at]!.trim() === "" && itemOf(lines[at + 1]!)?.ordered === first.ordered) at += 1;
  }
  return [{ is: "list", ordered: first.ordered, start: first.start, items }, at];
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Marks that stand in a line: code, emphasis, links, pictures, addresses. */
const MARKS = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|!\[([^\]\n]{0,300})\]\(([^()\s]{1,2000})[^()\n]{0,200}\)|\[([^\]\n]{1,300})\]\(([^()\s]{1,2000})[^()\n]{0,200}\)|(\*\*|__)(?=\S)([^\n]{0,2000}?\S)\7|(?<![\w*])\*(?=[^\s*])([^*\n]{0,1000}[^\s*])\*(?![\w*])|(https?:\/\/[^\s<>"'`)\]]{1,2000})/g;

export function inlineOf(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  const say = (words: string) => {
    if (words !== "") parts.push({ is: "text", text: words });
  };
  if (depth > DEEPEST) return [{ is: "text", text }];
  let at = 0;
  for (const found of text.matchAll(MARKS)) {
    say(text.slice(at, found.index));
    at = found.index + found[0].length;
    const [whole, , code, alt, picture, label, target, , strong, em, address] = found;
    if (code !== undefined) parts.push({ is: "code", text: code.trim() });
    // A picture would be fetched from wherever the agent says.
    else if (picture !== undefined) parts.push(linkTo(picture, [{ is: "text", text: alt || "picture" }], whole));
    else if (target !== undefined) parts.push(linkTo(target, inlineOf(label!, depth + 1), whole));
    else if (strong !== undefined) parts.push({ is: "strong", parts: inlineOf(strong, depth + 1) });
    else if (em !== undefined) parts.push({ is: "em", parts: inlineOf(em, depth + 1) });
    else if (address !== undefined) parts.push(linkTo(address, [{ is: "text", text: address }], whole));
  }
  say(text.slice(at));
  return parts;
}

/** A link to the web; anything else stays the text that it is. */
function linkTo(target: string, parts: Inline[], whole: string): Inline {
  const plain = parts.every((part) => part.is !== "link");
  return /^https?:\/\/[^\s/]/i.test(target) && plain ? { is: "link", href: target, parts } : { is: "text", text: whole };
}

export const plainText = (parts: Inline[]): string =>
  parts.map((part) => ("text" in part ? part.text : plainText(part.parts))).join("");
