// What a task printed, or showed on its terminal: as text, or byte by byte as it came.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Log, Output, TaskItem } from "../api";
import { ask, get, ofTask } from "../http";
import { say } from "./parts";
import { Copy, Upload } from "./icons";
import { Loading, Wrong } from "./parts";

/** How much of the end is shown; the rest can be downloaded. */
const SHOWN = 256 * 1024;
/** How many of the last lines of a terminal are shown. */
const SHOWN_LINES = 5000;
const AGAIN = 1000;

export function OutputView({ id, task }: { id: string; task: TaskItem }) {
  const [raw, setRaw] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [text, setText] = useState<string | null>(null);
  const [missing, setMissing] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const box = useRef<HTMLPreElement>(null);
  const path = (rest: string) => ofTask(id, task.id, `/output?attempt=${task.attempt}${rest}`);

  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let next: number | null = null;
    let shown = "";
    setText(null);
    setMissing(null);
    setError(null);
    const show = (added: string, replace: boolean) => {
      shown = (replace ? added : shown + added).slice(-2 * SHOWN);
      const element = box.current;
      const atEnd = !element || element.scrollHeight - element.scrollTop - element.clientHeight < 40;
      setText(shown);
      if (atEnd) requestAnimationFrame(() => {
        if (box.current) box.current.scrollTop = box.current.scrollHeight;
      });
    };
    const look = async (): Promise<void> => {
      let live = task.live;
      if (raw) {
        const answer = await ask(path(`&raw=true&offset=${-SHOWN}&limit=${SHOWN}`), { signal: stop.signal });
        show(visible(new TextDecoder().decode(await answer.arrayBuffer())), true);
      } else if (task.mode === "interactive") {
        const log = await get<Log>(ofTask(id, task.id, `/log?attempt=${task.attempt}&tail=${SHOWN_LINES}`), stop.signal);
        live = log.live;
        setMissing(log.first > 0 ? `The first ${log.first} lines are not shown.` : null);
        show(log.lines.join("\n"), true);
      } else {
        const from = next === null ? -SHOWN : next;
        const output: Output = await get<Output>(path(`&offset=${from}&limit=${SHOWN}`), stop.signal);
        if (next === null && output.offset > 0) setMissing(`The first ${Math.round(output.offset / 1024)} KiB are not shown; Download has up to 16 MiB.`);
        const first = next === null;
        next = output.next;
        live = output.live;
        if (output.text !== "" || first) show(output.text, first);
        if (output.next < output.end) return look();
      }
      if (live && !stop.signal.aborted) timer = setTimeout(() => void turn(), AGAIN);
    };
    const turn = () => look().catch((wrong: unknown) => {
      if (stop.signal.aborted) return;
      setError(wrong);
      if (task.live) timer = setTimeout(() => void turn(), 3 * AGAIN);
    });
    void turn();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, task.id, task.attempt, task.live, raw]);

  const download = () => {
    ask(path("&raw=true&limit=16777216"))
      .then((answer) => answer.blob())
      .then((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = `${task.id}-${task.attempt}.txt`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      })
      .catch((wrong: unknown) => say({ error: wrong }));
  };

  return (
    <div class="output">
      <div class="output-bar">
        <div class="segmented" role="group" aria-label="Form of the output">
          <button type="button" aria-pressed={!raw} onClick={() => setRaw(false)}>Clean</button>
          <button type="button" aria-pressed={raw} onClick={() => setRaw(true)}>Raw</button>
        </div>
        <label class="inline"><input type="checkbox" checked={wrap} onChange={(event) => setWrap(event.currentTarget.checked)} /> Wrap lines</label>
        <span class="spread" />
        <button type="button" class="quiet small" onClick={() => {
          navigator.clipboard.writeText(text ?? "").then(() => say({ text: "Copied." }), () => say({ text: "The browser does not allow copying." }));
        }}><Copy size={14} /> Copy</button>
        <button type="button" class="quiet small" onClick={download}><Upload size={14} /> Download</button>
      </div>
      {error !== null && <Wrong error={error} />}
      {!raw && missing !== null && <p class="muted pad">{missing}</p>}
      {text === null && error === null
        ? <Loading what="the output" />
        : <pre ref={box} class={`output-text${wrap ? " wrap" : ""}`} tabIndex={0} role="region" aria-label="Output">{text === "" ? "Nothing was printed." : text}</pre>}
    </div>
  );
}

/** Makes control characters visible: `␛` for escape and so on. */
function visible(text: string): string {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, (letter) =>
    letter === "\t" ? "\t" : letter === "\u007f" ? "␡" : String.fromCharCode(0x2400 + letter.charCodeAt(0)));
}
