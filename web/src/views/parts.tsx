// Small pieces that many views are made of.
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { Refused } from "../http";
import { age, full, now } from "../time";
import { ofSession } from "../labels";
import type { WorkflowItem } from "../api";
import { Close, Mark, Warn } from "./icons";

export function Badge({ item }: { item: WorkflowItem }) {
  const { standing, label } = ofSession(item);
  return (
    <span class={`badge badge-${standing}`}>
      <Mark standing={standing} label="" />
      {label}
    </span>
  );
}

/** A moment as its age, with the full time on request. */
export function Ago({ at }: { at: number }) {
  return <time dateTime={new Date(at).toISOString()} title={full(at)}>{age(at, now.value)}</time>;
}

/** What went wrong, why, and what to do. */
export function Wrong({ error, onClose }: { error: unknown; onClose?: () => void }) {
  const problem = error instanceof Refused ? error.problem : null;
  const title = problem?.title ?? "Something went wrong";
  const text = error instanceof Error ? error.message : String(error);
  return (
    <div class="wrong" role="alert">
      <Warn />
      <div class="wrong-text">
        <strong>{title}</strong>
        {text && text !== title && <p>{text}</p>}
        {problem?.hint && <p class="muted">{problem.hint}</p>}
      </div>
      {onClose && (
        <button type="button" class="quiet icon-only" onClick={onClose} aria-label="Dismiss"><Close /></button>
      )}
    </div>
  );
}

export function Empty({ icon, title, children }: { icon?: ComponentChildren; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {icon && <div class="empty-icon">{icon}</div>}
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Shows that something is coming, but only once it takes long enough to be noticed. */
export function Loading({ what }: { what: string }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading" role="status">{shown ? `Loading ${what}…` : ""}</p>;
}

/** A button that asks once more before it does what cannot be undone. */
export function Sure({ label, question, children, onSure, disabled, class: kind = "quiet", title }: {
  label: string;
  question: string;
  children: ComponentChildren;
  onSure: () => void;
  disabled?: boolean;
  class?: string;
  title?: string;
}) {
  const [asking, ask] = useState(false);
  const yes = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (asking) yes.current?.focus();
  }, [asking]);
  if (!asking) {
    return (
      <button type="button" class={kind} disabled={disabled} aria-label={label} title={title ?? label}
        onClick={(event) => {
          event.stopPropagation();
          ask(true);
        }}>
        {children}
      </button>
    );
  }
  return (
    <span class="sure" role="group" aria-label={question}>
      <span>{question}</span>
      <button ref={yes} type="button" class="danger small" onClick={(event) => {
        event.stopPropagation();
        ask(false);
        onSure();
      }}>Yes</button>
      <button type="button" class="small" onClick={(event) => {
        event.stopPropagation();
        ask(false);
      }}>No</button>
    </span>
  );
}

interface Said {
  id: number;
  error?: unknown;
  text?: string;
}
const said = signal<readonly Said[]>([]);
let lastSaid = 0;

/** Says something at the corner of the page, for a while. */
export function say(what: { error: unknown } | { text: string }): void {
  const id = (lastSaid += 1);
  said.value = [...said.value.slice(-3), { id, ...what }];
  setTimeout(() => unsay(id), "error" in what ? 12_000 : 4_000);
}

function unsay(id: number): void {
  said.value = said.value.filter((one) => one.id !== id);
}

/** Does something, and says so if it does not work. */
export function attempt(run: () => Promise<unknown>): void {
  run().catch((error: unknown) => say({ error }));
}

export function Sayings() {
  return (
    <div class="sayings" aria-live="polite">
      {said.value.map((one) =>
        one.error !== undefined
          ? <Wrong key={one.id} error={one.error} onClose={() => unsay(one.id)} />
          : <div key={one.id} class="saying">{one.text}</div>)}
    </div>
  );
}

/** Tabs in the way assistive technology expects them. */
export function Tabs({ label, tabs, active, onSelect }: {
  label: string;
  tabs: readonly { id: string; name: ComponentChildren; count?: number }[];
  active: string;
  onSelect: (id: string) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const index = tabs.findIndex((tab) => tab.id === active);
    const next = tabs[(index + by + tabs.length) % tabs.length];
    if (!next) return;
    onSelect(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={(event) => {
      if (event.key === "ArrowRight") move(1);
      if (event.key === "ArrowLeft") move(-1);
    }}>
      {tabs.map((tab) => (
        <button key={tab.id} type="button" role="tab" data-tab={tab.id} aria-selected={tab.id === active}
          tabIndex={tab.id === active ? 0 : -1} class="tab" onClick={() => onSelect(tab.id)}>
          {tab.name}
          {tab.count !== undefined && tab.count > 0 && <span class="count">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

/** Something that is asked for once when it is first shown, and again when it changes. */
export function useAsked<T>(key: string, run: (signal: AbortSignal) => Promise<T>): {
  value: T | null;
  error: unknown;
  again: () => void;
} {
  const [state, set] = useState<{ key: string; value: T | null; error: unknown }>({ key: "", value: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    run(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) set({ key, value, error: null });
      },
      (error: unknown) => {
        if (!stop.signal.aborted) set((old) => ({ key, value: old.key === key ? old.value : null, error }));
      },
    );
    return () => stop.abort();
  }, [key, turn]);
  const mine = state.key === key;
  return {
    value: mine ? state.value : null,
    error: mine ? state.error : null,
    again: () => again((number) => number + 1),
  };
}

/** A view whose code is fetched when it is first shown. */
export function later<P extends object>(fetchIt: () => Promise<ComponentType<P>>): (props: P) => preact.JSX.Element | null {
  let View: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [, come] = useState(0);
    const [error, fail] = useState<unknown>(null);
    useEffect(() => {
      if (View) return;
      fetchIt().then((view) => {
        View = view;
        come(1);
      }, fail);
    }, []);
    if (error !== null) return <Wrong error={new Error("A part of the page could not be loaded. Reload the page.")} />;
    return View ? <View {...props} /> : null;
  };
}
