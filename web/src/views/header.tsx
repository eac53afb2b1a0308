// The bar on top: the state of the connection, the sessions there are, what waits for a person.
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import type { WorkflowItem, WorkflowPage } from "../api";
import { isOver } from "../api";
import { purge, resume, retry } from "../actions";
import { get } from "../http";
import { go, href, place, toSession } from "../route";
import { notify, theme, wishNotifications, type Theme } from "../settings";
import { arrive, connection, details, foreignSessions, sessions, waiting, type Connection } from "../store";
import { ofSession, shortPath } from "../labels";
import { Bell, Book, ChevronDown, Logo, Mark, Menu, Moon, Play, Plug, Plus, Retry, Screen, Search, Sun, Trash } from "./icons";
import { Ago, attempt, say, Sure } from "./parts";
import { SharingMark } from "./sharing";

export const railOpen = signal(false);

const CONNECTION: Record<Connection, string> = {
  connecting: "Connecting",
  open: "Connected",
  lost: "Daemon not reachable",
  "signed-out": "Not signed in",
};

export function Header() {
  const at = place.value.at;
  const count = waiting.value.length;
  return (
    <header class="top">
      <button type="button" class="quiet icon-only rail-toggle" aria-label="Agents and sessions"
        aria-expanded={railOpen.value} aria-controls="rail" onClick={() => (railOpen.value = !railOpen.value)}>
        <Menu />
      </button>
      <a class="brand" href="#/" aria-label="Coven, overview"><Logo /><span>Coven</span></a>
      <SessionsMenu />
      <nav class="places" aria-label="Pages">
        <a href="#/grimoires" aria-current={at === "grimoires" ? "page" : undefined}><Book /><span>Grimoires</span></a>
        <a href="#/adapters" aria-current={at === "adapters" ? "page" : undefined}><Plug /><span>Adapters</span></a>
      </nav>
      <span class="spread" />
      {count > 0 && (
        <a class="needs-count" href="#/" onClick={() => setTimeout(() => document.querySelector<HTMLElement>(".attention")?.focus(), 50)} aria-label={`${count} waiting for you`}>
          <Mark standing="needs" label="" />{count}<span class="wide-only"> waiting</span>
        </a>
      )}
      <span class={`connection connection-${connection.value}`} role="status" title={CONNECTION[connection.value]}>
        <span class="dot" aria-hidden="true" /><span class={connection.value === "open" ? "wide-only" : ""}>{CONNECTION[connection.value]}</span>
      </span>
      <NotifyToggle />
      <ThemeToggle />
      <a class="button primary new-run" href={href({ at: "new", grimoire: null })}><Plus /><span>New run</span></a>
    </header>
  );
}

const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };

function ThemeToggle() {
  const words = { system: "as the system", dark: "dark", light: "light" }[theme.value];
  const Picture = { system: Screen, dark: Moon, light: Sun }[theme.value];
  return (
    <button type="button" class="quiet icon-only" title={`Theme: ${words}`} aria-label={`Theme: ${words}. Change`}
      onClick={() => (theme.value = NEXT[theme.value])}><Picture /></button>
  );
}

function NotifyToggle() {
  if (typeof Notification === "undefined") return null;
  const on = notify.value;
  return (
    <button type="button" class={`quiet icon-only notify${on ? " on" : ""}`} aria-pressed={on}
      aria-label="Notify me when something needs me" title={on ? "Notifications are on" : "Notify me when something needs me"}
      onClick={() => {
        void wishNotifications(!on).then((done) => {
          if (!done) say({ text: "The browser does not allow notifications for this page." });
        });
      }}><Bell /></button>
  );
}

function SessionsMenu() {
  const [open, setOpen] = useState(false);
  const [filter, setFilter] = useState("");
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const active = place.value.at === "session" ? place.value.id : null;
  // Told by the event itself, not by what is drawn after it: by then it may have been opened again.
  useEffect(() => {
    const close = () => setOpen(false);
    window.addEventListener("hashchange", close);
    return () => window.removeEventListener("hashchange", close);
  }, []);

  useEffect(() => {
    if (!open) return;
    input.current?.focus();
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);

  // What the page does not know of, the daemon may find.
  useEffect(() => {
    if (!open || filter.trim() === "") return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get<WorkflowPage>(`/workflows?limit=50&search=${encodeURIComponent(filter.trim())}`, stop.signal)
        .then((page) => arrive({ type: "listed", items: page.workflows }), () => undefined);
    }, 200);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [open, filter]);

  const wanted = filter.trim().toLowerCase();
  const found = [...sessions.value, ...foreignSessions.value].filter((item) =>
    wanted === "" || `${item.name} ${item.goal ?? ""} ${item.id} ${item.baseDir} ${item.foreign ? "foreign" : item.status}`.toLowerCase().includes(wanted));

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      setOpen(false);
      button.current?.focus();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...(root.current?.querySelectorAll<HTMLElement>(".session-open") ?? [])];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    const next = rows[event.key === "ArrowDown" ? Math.min(rows.length - 1, at + 1) : at - 1];
    (next ?? input.current)?.focus();
    event.preventDefault();
  };

  return (
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button ref={button} type="button" class="menu-button" id="sessions-button" aria-haspopup="dialog" aria-expanded={open}
        onClick={() => setOpen(!open)}>
        Sessions <ChevronDown size={14} />
      </button>
      {open && (
        <div class="dropdown" role="dialog" aria-label="Sessions">
          <div class="filter">
            <Search />
            <input ref={input} type="search" value={filter} placeholder="Filter by goal, name, folder" aria-label="Filter sessions"
              onInput={(event) => setFilter(event.currentTarget.value)} />
            <span class="muted">{found.length}</span>
          </div>
          {found.length === 0
            ? <p class="muted none">{wanted === "" ? "No sessions yet. Start one with New run." : "No session matches."}</p>
            : (
              <ul class="session-list">
                {found.slice(0, 100).map((item) => (
                  <SessionRow key={item.id} item={item} active={item.id === active} onDone={() => setOpen(false)} />
                ))}
              </ul>
            )}
        </div>
      )}
    </div>
  );
}

function SessionRow({ item, active, onDone }: { item: WorkflowItem; active: boolean; onDone: () => void }) {
  const over = isOver(item.status);
  const detail = details.value.get(item.id);
  const resumable = !item.foreign && !over && (detail ? !detail.live : item.status === "pending");
  const alive = !item.foreign && !over;
  return (
    <li class={`session-row${active ? " active" : ""}${alive ? " alive" : ""}`} data-session={item.id}>
      <a class="session-open" href={toSession(item.id)} aria-current={active ? "true" : undefined} onClick={onDone}>
        <Mark {...ofSession(item)} />
        <span class="session-words">
          <span class="session-goal">{item.goal || item.name}</span>
          <span class="session-about muted">
            <span title={item.problem ?? undefined}>{ofSession(item).label}</span>
            <Ago at={item.createdAt} />
            <span class="path" title={item.baseDir}>{shortPath(item.baseDir)}</span>
            <SharingMark item={item} />
          </span>
        </span>
        {active && <span class="chip chip-accent">open</span>}
      </a>
      <span class="session-actions">
        {resumable && (
          <button type="button" class="quiet small" title="Let it go on from where it stands" onClick={() => {
            attempt(async () => {
              await resume(item.id);
              go(toSession(item.id));
              onDone();
            });
          }}><Play size={13} /> Resume</button>
        )}
        {!item.foreign && item.status === "failed" && (
          <button type="button" class="quiet small" title="Try what failed again" onClick={() => {
            attempt(async () => {
              await retry(item.id);
              go(toSession(item.id));
              onDone();
            });
          }}><Retry size={13} /> Retry</button>
        )}
        {!item.foreign && over && (
          <Sure label={`Delete ${item.goal || item.name}`} question="Delete for good?" class="quiet icon-only small"
            onSure={() => attempt(async () => {
              await purge(item.id);
              if (active) go({ at: "overview" });
            })}><Trash size={14} /></Sure>
        )}
      </span>
    </li>
  );
}
