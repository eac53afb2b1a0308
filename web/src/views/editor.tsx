// A text with what is wrong in it, shown where it is.
import { useMemo, useRef } from "preact/hooks";
import type { Diagnostic } from "../api";
import { Warn } from "./icons";

/** The pieces of a text, those with something wrong apart. */
export function pieces(text: string, problems: readonly Diagnostic[]): { text: string; bad: string | null }[] {
  const lines = text.split("\n");
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) {
    starts.push(at);
    at += line.length + 1;
  }
  const offset = (line: number, column: number) => {
    const start = starts[line - 1] ?? text.length;
    // Columns count characters; a text counts halves of some.
    const units = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    return Math.min(text.length, start + units);
  };
  const ranges = problems
    .map((one) => {
      const from = offset(one.line, one.column);
      return { from, to: Math.max(from + 1, offset(one.endLine, one.endColumn)), severity: one.severity };
    })
    .sort((one, two) => one.from - two.from);
  const result: { text: string; bad: string | null }[] = [];
  let done = 0;
  for (const { from, to, severity } of ranges) {
    if (from < done) continue;
    if (from > done) result.push({ text: text.slice(done, from), bad: null });
    result.push({ text: text.slice(from, to), bad: severity });
    done = to;
  }
  if (done < text.length) result.push({ text: text.slice(done), bad: null });
  return result;
}

export function Editor({ text, problems, onInput, label, rows = 18 }: {
  text: string;
  problems: readonly Diagnostic[];
  onInput?: (text: string) => void;
  label: string;
  rows?: number;
}) {
  const area = useRef<HTMLTextAreaElement>(null);
  const under = useRef<HTMLPreElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const count = useMemo(() => text.split("\n").length, [text]);
  const bad = new Map(problems.map((one) => [one.line, one.severity]));
  const marked = useMemo(() => pieces(text, problems), [text, problems]);
  const follow = () => {
    const element = area.current;
    if (!element) return;
    if (under.current) {
      under.current.scrollTop = element.scrollTop;
      under.current.scrollLeft = element.scrollLeft;
    }
    if (gutter.current) gutter.current.scrollTop = element.scrollTop;
  };
  const jump = (one: Diagnostic) => {
    const element = area.current;
    if (!element) return;
    const before = text.split("\n").slice(0, one.line - 1).join("\n").length + (one.line > 1 ? 1 : 0);
    element.focus();
    element.setSelectionRange(before + one.column - 1, before + one.column - 1);
    const height = element.scrollHeight / Math.max(1, count);
    element.scrollTop = Math.max(0, (one.line - 4) * height);
    follow();
  };
  return (
    <div class="editor">
      <div class="editor-frame">
        <div class="gutter" ref={gutter} aria-hidden="true">
          {Array.from({ length: count }, (_, at) => (
            <div key={at} class={bad.has(at + 1) ? `bad-${bad.get(at + 1)}` : ""}>{at + 1}</div>
          ))}
        </div>
        <div class="editor-text">
          <pre ref={under} class="editor-under" aria-hidden="true">{marked.map((piece, at) =>
            piece.bad ? <mark key={at} class={`bad-${piece.bad}`}>{piece.text}</mark> : piece.text)}{"\n"}</pre>
          <textarea ref={area} value={text} rows={rows} readOnly={!onInput} spellcheck={false} wrap="off" aria-label={label}
            autoComplete="off" autoCapitalize="off"
            onScroll={follow} onInput={(event) => onInput?.(event.currentTarget.value)} />
        </div>
      </div>
      <Problems problems={problems} onJump={jump} />
    </div>
  );
}

export function Problems({ problems, onJump }: { problems: readonly Diagnostic[]; onJump?: (one: Diagnostic) => void }) {
  if (problems.length === 0) return null;
  return (
    <ul class="problems" aria-label="What is wrong">
      {problems.map((one, at) => (
        <li key={at} class={`problem-${one.severity}`}>
          <button type="button" class="quiet problem" onClick={() => onJump?.(one)}>
            <Warn size={14} />
            <span class="problem-place">{one.line}:{one.column}</span>
            <span>{one.message}{one.help && <span class="muted"> {one.help}</span>}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
