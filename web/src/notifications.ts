// What is seen of the page while it is not looked at: its title, its icon, and notifications.
import { effect } from "@preact/signals";
import { go, toSession } from "./route";
import { notify } from "./settings";
import { connection, loaded, waiting } from "./store";
import { KIND } from "./labels";

const icon = (count: number, lost: boolean): string => {
  const mark = count > 0
    ? `<circle cx="23" cy="9" r="9" fill="#e3a63c"/><text x="23" y="13.4" font-family="sans-serif" font-size="12.5" font-weight="700" text-anchor="middle" fill="#1a1200">${count > 9 ? "9+" : count}</text>`
    : "";
  const ground = lost ? "#5b6270" : "#6c5ce0";
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${ground}"/><g fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"><path d="M10.5 11.5 15 16l-4.5 4.5"/><path d="M17.5 21h5"/></g>${mark}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
};

export function startNotifications(): void {
  effect(() => {
    const count = waiting.value.length;
    document.title = count > 0 ? `(${count}) Coven` : "Coven";
    const link = document.querySelector<HTMLLinkElement>("#icon");
    if (link) link.href = icon(count, connection.value === "lost");
  });

  let known: Set<string> | null = null;
  effect(() => {
    if (!loaded.value) return;
    const ids = new Set(waiting.value.map((item) => item.id));
    const before = known;
    known = ids;
    // What already waited when the page was opened is seen on it.
    if (before === null || !notify.value || !document.hidden) return;
    for (const item of waiting.value) {
      if (before.has(item.id)) continue;
      const note = new Notification(`${item.task ?? item.step}: ${KIND[item.kind]}`, {
        body: item.reason,
        tag: item.id,
      });
      note.onclick = () => {
        window.focus();
        go(toSession(item.workflowId, item.task ?? null));
      };
    }
  });
}
