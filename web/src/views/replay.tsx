// A finished task, played back from its recording.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, ofTask } from "../http";
import { between, parseCast, sizeOf, withoutPauses, type Cast } from "../terminal/cast";
import { fontFor, makeTerminal, type Made } from "../terminal/make";
import { duration } from "../time";
import { Pause, Play } from "./icons";
import { Loading, useAsked, Wrong } from "./parts";

const SPEEDS = [0.5, 1, 2, 4, 8];
/** Pauses are shortened to this many seconds where that is wished. */
const LONGEST_PAUSE = 2;

export function Replay({ id, task, attempt }: { id: string; task: string; attempt: number }) {
  const path = ofTask(id, task, `/recording?attempt=${attempt}`);
  const { value, error, again } = useAsked(path, async (signal) => parseCast(await (await ask(path, { signal })).text()));
  if (error !== null) {
    return <div class="pad"><Wrong error={error} /><button type="button" onClick={again}>Try again</button></div>;
  }
  if (value === null) return <Loading what="the recording" />;
  if (value.frames.length === 0) return <p class="muted pad">Nothing was printed in this attempt.</p>;
  return <Player cast={value} />;
}

function Player({ cast: whole }: { cast: Cast }) {
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<Made | null>(null);
  const [skip, setSkip] = useState(true);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const [time, setTime] = useState(0);
  const cast = useRef<Cast>(whole);
  const at = useRef({ frame: 0, time: 0, cols: whole.cols, rows: whole.rows });
  cast.current = skip ? withoutPauses(whole, LONGEST_PAUSE) : whole;
  const { length, marks } = cast.current;

  const scale = () => {
    const one = made.current;
    if (one) one.term.options.fontSize = fontFor(one, at.current.cols, at.current.rows, 4, 16);
  };

  /** Shows the moment `to`; going back starts from the beginning. */
  const seek = (to: number) => {
    const one = made.current;
    if (!one) return;
    if (to < at.current.time) {
      one.term.reset();
      one.term.resize(whole.cols, whole.rows);
      at.current = { frame: 0, time: 0, cols: whole.cols, rows: whole.rows };
    }
    const { frames, next } = between(cast.current, at.current.frame, to);
    let text = "";
    for (const frame of frames) {
      if (frame.kind === "o") text += frame.data;
      const size = frame.kind === "r" ? sizeOf(frame.data) : null;
      if (!size) continue;
      if (text !== "") one.term.write(text);
      text = "";
      const { cols, rows } = size;
      // In its turn: a size belongs between what was written before and after it.
      one.term.write("", () => {
        one.term.resize(cols, rows);
        scale();
      });
      at.current.cols = cols;
      at.current.rows = rows;
    }
    if (text !== "") one.term.write(text);
    at.current.frame = next;
    at.current.time = to;
    setTime(to);
  };

  useEffect(() => {
    const parent = host.current;
    if (!parent) return;
    const one = makeTerminal(parent, { cols: whole.cols, rows: whole.rows, fontSize: 13, input: false, fast: true });
    made.current = one;
    const observer = new ResizeObserver(scale);
    observer.observe(parent);
    at.current = { frame: 0, time: 0, cols: whole.cols, rows: whole.rows };
    // The end is what people look for first; playing starts over.
    seek(cast.current.length);
    return () => {
      observer.disconnect();
      one.dispose();
      made.current = null;
    };
  }, [whole]);

  useEffect(() => {
    if (!playing) return;
    let last = performance.now();
    let turn = 0;
    const step = (now: number) => {
      const to = Math.min(length, at.current.time + ((now - last) / 1000) * speed);
      last = now;
      seek(to);
      if (to >= length) setPlaying(false);
      else turn = requestAnimationFrame(step);
    };
    turn = requestAnimationFrame(step);
    return () => cancelAnimationFrame(turn);
  }, [playing, speed, length]);

  const toggle = () => {
    if (!playing && at.current.time >= length) seek(0);
    setPlaying(!playing);
  };
  const mark = [...marks].reverse().find((one) => one.at <= time);
  return (
    <div class="replay">
      <div class="replay-bar">
        <button type="button" class="primary icon-only" aria-label={playing ? "Pause" : "Play"} onClick={toggle}>
          {playing ? <Pause /> : <Play />}
        </button>
        <span class="replay-time">{duration(time * 1000)} / {duration(length * 1000)}</span>
        <div class="scrubber">
          <input type="range" min={0} max={length} step="any" value={time} aria-label="Moment of the recording"
            aria-valuetext={`${duration(time * 1000)} of ${duration(length * 1000)}${mark ? `, ${mark.label}` : ""}`}
            onInput={(event) => {
              setPlaying(false);
              seek(Number(event.currentTarget.value));
            }} />
          <svg class="scrubber-marks" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
            {length > 0 && marks.map((one, number) => (
              <rect key={number} x={(one.at / length) * 996} y="0" width="4" height="10" class={`replay-mark ${classOf(one.label)}`}>
                <title>{one.label}</title>
              </rect>
            ))}
          </svg>
        </div>
        <label class="inline">Speed
          <select value={String(speed)} onChange={(event) => setSpeed(Number(event.currentTarget.value))}>
            {SPEEDS.map((one) => <option key={one} value={String(one)}>{one}×</option>)}
          </select>
        </label>
        <label class="inline"><input type="checkbox" checked={skip} onChange={(event) => {
          const share = length > 0 ? time / length : 0;
          const wanted = event.currentTarget.checked;
          setSkip(wanted);
          cast.current = wanted ? withoutPauses(whole, LONGEST_PAUSE) : whole;
          at.current.time = Infinity;
          seek(share * cast.current.length);
        }} /> Skip pauses</label>
      </div>
      {marks.length > 0 && (
        <ol class="replay-marks" aria-label="What the agent did">
          {marks.slice(0, 60).map((one, number) => (
            <li key={number}>
              <button type="button" class={`quiet small${mark === one ? " here" : ""}`} onClick={() => {
                setPlaying(false);
                seek(one.at);
              }}><span class={`mark-dot ${classOf(one.label)}`} aria-hidden="true" />{one.label} <span class="muted">{duration(one.at * 1000)}</span></button>
            </li>
          ))}
        </ol>
      )}
      <div class="terminal-host" ref={host} />
    </div>
  );
}

/** The colour of a mark, by the state it names. */
function classOf(label: string): string {
  if (/await|approval|question|dialog|choice/i.test(label)) return "is-needs";
  if (/error|fail/i.test(label)) return "is-failed";
  if (/idle|exit|done/i.test(label)) return "is-done";
  return "is-working";
}
