// Markdown as elements. A link shows where it leads, opens apart and tells no one where from.
import { blocksOf, plainText, type Block, type Inline } from "../markdown";

export function Markdown({ text }: { text: string }) {
  return <div class="markdown">{blocksOf(text).map((block, at) => <OneBlock key={at} block={block} />)}</div>;
}

function OneBlock({ block }: { block: Block }) {
  switch (block.is) {
    case "paragraph": return <p><Parts parts={block.parts} /></p>;
    // The page has its own headings; those of an agent are only set apart.
    case "heading": return <p class={`markdown-heading level-${block.level}`}><Parts parts={block.parts} /></p>;
    case "code": return block.lang === "diff" ? <Diff text={block.text} /> : <pre class="entry-code">{block.text}</pre>;
    case "quote": return <blockquote>{block.blocks.map((inner, at) => <OneBlock key={at} block={inner} />)}</blockquote>;
    case "rule": return <hr />;
    case "list": {
      const items = block.items.map((item, at) => <li key={at}>{item.map((inner, place) => <OneBlock key={place} block={inner} />)}</li>);
      return block.ordered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

function Parts({ parts }: { parts: Inline[] }) {
  return <>{parts.map((part, at) => <Part key={at} part={part} />)}</>;
}

function Part({ part }: { part: Inline }) {
  switch (part.is) {
    case "text": return <>{part.text}</>;
    case "code": return <code>{part.text}</code>;
    case "strong": return <strong><Parts parts={part.parts} /></strong>;
    case "em": return <em><Parts parts={part.parts} /></em>;
    case "link": {
      const words = plainText(part.parts);
      return (
        <>
          <a href={part.href} target="_blank" rel="noreferrer noopener nofollow">{words}</a>
          {words !== part.href && <span class="muted link-target"> ({part.href})</span>}
        </>
      );
    }
  }
}

/** A unified diff; what comes and goes has its sign besides its colour. */
export function Diff({ text }: { text: string }) {
  return (
    <pre class="entry-code diff">
      {text.replace(/\n$/, "").split("\n").map((line, at) => <span key={at} class={`diff-line ${kindOf(line)}`}>{`${line}\n`}</span>)}
    </pre>
  );
}

function kindOf(line: string): string {
  if (/^(\+\+\+|---|diff |index )/.test(line)) return "is-head";
  if (line.startsWith("+")) return "is-added";
  if (line.startsWith("-")) return "is-removed";
  return line.startsWith("@@") ? "is-head" : "";
}
