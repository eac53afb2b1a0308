// A living terminal: what the agent shows, and a keyboard for one.
import { useEffect, useRef, useState } from "preact/hooks";
import type { TaskItem } from "../api";
import { get, ofTask } from "../http";
import type { Screen as ScreenAnswer } from "../api";
import { arrive } from "../store";
import { Attachment } from "../terminal/attach";
import { fontFor, makeTerminal, settleSmall, type Made } from "../terminal/make";
import { usePlace, useShown, useVisible } from "../terminal/visible";
import { Close, Copy, Keyboard, Search } from "./icons";
import { Loading, say } from "./parts";

/** Letters as large as this where there is room. */
const FONT = 13;
/** Programs are made for at least so many columns; smaller screens get smaller letters. */
const LEAST_COLS = 80;
const LEAST_FONT = 6;
/** A viewer with more than this still to draw starts again from a new screen. */
const TOO_FAR_BEHIND = 4 * 1024 * 1024;

/** How long a small terminal waits before it is arranged anew. */
const SETTLE = 150;

type Phase = "connecting" | "open" | "lost" | "ended";

export function LiveTerminal({ id, task }: { id: string; task: TaskItem }) {
  const frame = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const made = useRef<Made | null>(null);
  const link = useRef<Attachment | null>(null);
  const [phase, setPhase] = useState<Phase>("connecting");
  const [keyboard, setKeyboard] = useState<{ yours: boolean; holder: string | null }>({ yours: false, holder: null });
  const [searching, setSearching] = useState(false);
  const shown = useShown();

  useEffect(() => {
    const parent = host.current;
    if (!shown || !parent) return;
    const one = makeTerminal(parent, { cols: LEAST_COLS, rows: 24, fontSize: FONT, input: true, fast: true });
    made.current = one;
    const { term } = one;
    let yours = false;
    let size = { cols: LEAST_COLS, rows: 24 };
    let pending = 0;

    const write = (bytes: Uint8Array) => {
      pending += bytes.length;
      term.write(bytes, () => {
        pending -= bytes.length;
      });
      if (pending > TOO_FAR_BEHIND) {
        pending = 0;
        attached.again();
      }
    };
    /** The size this viewer would give the terminal. */
    const wanted = () => {
      term.options.fontSize = FONT;
      const room = one.fit.proposeDimensions();
      if (!room || !Number.isFinite(room.cols)) return null;
      if (room.cols >= LEAST_COLS) return room;
      term.options.fontSize = fontFor(one, LEAST_COLS, 1, LEAST_FONT, FONT);
      return one.fit.proposeDimensions() ?? null;
    };
    const scale = () => {
      term.options.fontSize = fontFor(one, size.cols, size.rows, LEAST_FONT, FONT);
    };
    const arrange = () => {
      if (!yours) {
        scale();
        return;
      }
      const room = wanted();
      if (!room) return;
      const cols = Math.min(1000, Math.max(20, room.cols));
      const rows = Math.min(1000, Math.max(5, room.rows));
      if (cols !== size.cols || rows !== size.rows) attached.tell({ type: "resize", cols, rows });
    };
    const first = wanted();
    const attached = new Attachment({ id, task: task.id, readOnly: false, ...(first ?? {}) }, {
      screen: (bytes, cols, rows) => {
        size = { cols, rows };
        term.reset();
        term.resize(cols, rows);
        write(bytes);
        arrange();
      },
      bytes: write,
      resized: (cols, rows) => {
        size = { cols, rows };
        term.resize(cols, rows);
        if (!yours) scale();
      },
      keyboard: (mine, holder) => {
        yours = mine;
        term.options.disableStdin = !mine;
        setKeyboard({ yours: mine, holder });
        arrange();
        if (mine && isFree(frame.current)) term.focus();
      },
      state: (verdict) => arrive({ type: "verdict", id, task: task.id, verdict, at: Date.now() }),
      refused: (reason) => say({ text: reason }),
      ended: () => setPhase("ended"),
      connected: (yes) => setPhase(yes ? "open" : "lost"),
    });
    link.current = attached;
    term.onData((text) => {
      if (yours) attached.type(text);
    });
    term.onBinary((text) => {
      if (yours) attached.typeBytes(text);
    });
    term.attachCustomKeyEventHandler((event) => {
      if (event.type !== "keydown") return true;
      const letter = event.key.toLowerCase();
      if (event.ctrlKey && event.shiftKey && letter === "c") {
        copy(one);
        event.preventDefault();
        return false;
      }
      if (event.ctrlKey && event.shiftKey && letter === "f") {
        setSearching(true);
        event.preventDefault();
        return false;
      }
      // A way out for those who use no mouse: Tab belongs to the program.
      if (event.ctrlKey && event.shiftKey && letter === "l") {
        frame.current?.querySelector<HTMLElement>(".terminal-bar button")?.focus();
        event.preventDefault();
        return false;
      }
      return true;
    });
    const observer = new ResizeObserver(() => arrange());
    observer.observe(parent);
    return () => {
      observer.disconnect();
      attached.stop();
      one.dispose();
      made.current = null;
      link.current = null;
    };
  }, [shown, id, task.id, task.attempt]);

  const held = keyboard.holder && !keyboard.yours;
  return (
    <div class="terminal-frame" ref={frame}>
      <div class="terminal-bar">
        <span class={`terminal-state phase-${phase}`} role="status">
          {phase === "connecting" && "Connecting"}
          {phase === "open" && (keyboard.yours ? "You have the keyboard" : held ? `Keyboard: ${keyboard.holder}` : "Watching")}
          {phase === "lost" && "Connection lost, trying again"}
          {phase === "ended" && "The process has ended"}
        </span>
        {keyboard.yours && <span class="muted leave">Ctrl+Shift+L leaves it</span>}
        <span class="spread" />
        {phase === "open" && !keyboard.yours && (
          <button type="button" class="small" onClick={() => link.current?.tell({ type: "take" })}>
            <Keyboard size={14} /> Take keyboard
          </button>
        )}
        {phase === "open" && keyboard.yours && (
          <button type="button" class="quiet small" title="Let somebody else type" onClick={() => link.current?.tell({ type: "release" })}>
            <Keyboard size={14} /> Release
          </button>
        )}
        <button type="button" class="quiet icon-only small" aria-label="Search in the terminal" title="Search (Ctrl+Shift+F)"
          aria-pressed={searching} onClick={() => setSearching(!searching)}><Search size={14} /></button>
        <button type="button" class="quiet icon-only small" aria-label="Copy selection or screen" title="Copy selection, or the whole screen (Ctrl+Shift+C)"
          onClick={() => made.current && copy(made.current)}><Copy size={14} /></button>
      </div>
      {searching && <SearchBar made={made} onClose={() => {
        setSearching(false);
        made.current?.search.clearDecorations();
        made.current?.term.focus();
      }} />}
      <div class="terminal-host" ref={host} />
    </div>
  );
}

/** Whether the focus may go to the terminal by itself: no other field or control has it. */
function isFree(frame: Element | null): boolean {
  const at = document.activeElement;
  if (!at || at === document.body || frame?.contains(at)) return true;
  return at.matches("a, main") && !at.matches(":focus-visible");
}

function copy(one: Made): void {
  const { term } = one;
  let text = term.getSelection();
  if (text === "") {
    const buffer = term.buffer.active;
    const lines: string[] = [];
    for (let row = 0; row < term.rows; row += 1) {
      lines.push(buffer.getLine(buffer.viewportY + row)?.translateToString(true) ?? "");
    }
    text = lines.join("\n").trimEnd();
  }
  navigator.clipboard.writeText(text).then(
    () => say({ text: "Copied." }),
    () => say({ text: "The browser does not allow copying." }),
  );
}

function SearchBar({ made, onClose }: { made: { current: Made | null }; onClose: () => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [missing, setMissing] = useState(false);
  useEffect(() => input.current?.focus(), []);
  const find = (back: boolean) => {
    const text = input.current?.value ?? "";
    if (text === "" || !made.current) return;
    const options = { decorations: { matchOverviewRuler: "#e3a63c", activeMatchColorOverviewRuler: "#e3a63c", matchBackground: "#5b4a1c", activeMatchBackground: "#a8791f" } };
    setMissing(!(back ? made.current.search.findPrevious(text, options) : made.current.search.findNext(text, options)));
  };
  return (
    <form class="terminal-search" role="search" onSubmit={(event) => {
      event.preventDefault();
      find(false);
    }} onKeyDown={(event) => {
      if (event.key === "Escape") onClose();
    }}>
      <input ref={input} type="search" aria-label="Search in the terminal" placeholder="Search" />
      <button type="button" class="small" onClick={() => find(true)}>Previous</button>
      <button type="submit" class="small">Next</button>
      {missing && <span class="muted" role="status">not found</span>}
      <button type="button" class="quiet icon-only small" aria-label="Close search" onClick={onClose}><Close size={14} /></button>
    </form>
  );
}

/** A small terminal that is only looked at. */
export function SmallTerminal({ id, task }: { id: string; task: TaskItem }) {
  const host = useRef<HTMLDivElement>(null);
  const visible = useVisible(host);
  const place = usePlace(visible);
  useEffect(() => {
    const parent = host.current;
    if (!place || !parent) return;
    const one = makeTerminal(parent, { cols: 80, rows: 24, fontSize: 7, input: false, fast: false });
    const { term } = one;
    let cols = 80;
    let settling: ReturnType<typeof setTimeout> | undefined;
    const settle = () => {
      settling ??= setTimeout(() => {
        settling = undefined;
        settleSmall(one, parent, cols);
      }, SETTLE);
    };
    let pending = 0;
    const write = (bytes: Uint8Array) => {
      pending += bytes.length;
      term.write(bytes, () => {
        pending -= bytes.length;
        settle();
      });
      if (pending > TOO_FAR_BEHIND / 4) {
        pending = 0;
        attached.again();
      }
    };
    const resize = (wide: number, high: number) => {
      cols = wide;
      term.resize(wide, high);
      settle();
    };
    const attached = new Attachment({ id, task: task.id, readOnly: true }, {
      screen: (bytes, cols, rows) => {
        term.reset();
        resize(cols, rows);
        write(bytes);
      },
      bytes: write,
      resized: resize,
      keyboard: () => undefined,
      state: (verdict) => arrive({ type: "verdict", id, task: task.id, verdict, at: Date.now() }),
      refused: () => undefined,
      ended: () => undefined,
      connected: () => undefined,
    });
    const observer = new ResizeObserver(settle);
    observer.observe(parent);
    return () => {
      clearTimeout(settling);
      observer.disconnect();
      attached.stop();
      one.dispose();
    };
  }, [place, id, task.id, task.attempt]);
  return <div class="small-terminal" ref={host} aria-hidden="true" inert />;
}

/** What a terminal showed last, after its process has ended. */
export function LastScreen({ id, task, small = false }: { id: string; task: TaskItem; small?: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  const visible = useVisible(host);
  const [state, setState] = useState<"loading" | "shown" | "none">("loading");
  useEffect(() => {
    const parent = host.current;
    if (!visible || !parent) return;
    const stop = new AbortController();
    let dispose = () => undefined as void;
    get<ScreenAnswer>(ofTask(id, task.id, "/screen"), stop.signal).then((screen) => {
      if (stop.signal.aborted) return;
      const one = makeTerminal(parent, { cols: screen.cols, rows: screen.rows, fontSize: small ? 7 : FONT, input: false, fast: !small });
      const scale = () => {
        if (small) settleSmall(one, parent, screen.cols);
        else one.term.options.fontSize = fontFor(one, screen.cols, screen.rows, 2, 16);
      };
      one.term.write(Uint8Array.from(atob(screen.dump), (letter) => letter.charCodeAt(0)), scale);
      const observer = new ResizeObserver(scale);
      observer.observe(parent);
      dispose = () => {
        observer.disconnect();
        one.dispose();
      };
      setState("shown");
    }).catch(() => {
      if (!stop.signal.aborted) setState("none");
    });
    return () => {
      stop.abort();
      dispose();
    };
  }, [visible, id, task.id, task.attempt]);
  return (
    <>
      {state === "loading" && !small && <Loading what="the last screen" />}
      {state === "none" && !small && <p class="muted pad">There is no screen of this attempt.</p>}
      <div class={small ? "small-terminal" : "terminal-host last-screen"} ref={host} {...(small ? { "aria-hidden": "true" as const, inert: true } : {})} />
    </>
  );
}
