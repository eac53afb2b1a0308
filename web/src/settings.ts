// What a person prefers, kept in this browser: theme and notifications.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "system" | "dark" | "light";
const THEME = "coven.theme";
const NOTIFY = "coven.notify";
const DIFF = "coven.diff";

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing forgets the wish with the tab.
  }
}

const asTheme = (text: string | null): Theme =>
  text === "dark" || text === "light" ? text : "system";

export const theme = signal<Theme>(asTheme(stored(THEME)));
const systemIsLight = signal(matchMedia("(prefers-color-scheme: light)").matches);
export const isLight = computed(() =>
  theme.value === "light" || (theme.value === "system" && systemIsLight.value));

export const notify = signal(stored(NOTIFY) === "yes");

/** Whether changes are shown in one column or in two. */
export const diffColumns = signal<"unified" | "split">(stored(DIFF) === "split" ? "split" : "unified");

export async function wishNotifications(wanted: boolean): Promise<boolean> {
  if (wanted && typeof Notification !== "undefined" && Notification.permission !== "granted") {
    if ((await Notification.requestPermission()) !== "granted") return false;
  }
  notify.value = wanted;
  return true;
}

export function applySettings(): void {
  matchMedia("(prefers-color-scheme: light)").addEventListener("change", (event) => {
    systemIsLight.value = event.matches;
  });
  effect(() => {
    document.documentElement.dataset.theme = isLight.value ? "light" : "dark";
    keep(THEME, theme.value);
  });
  effect(() => keep(DIFF, diffColumns.value));
  effect(() => keep(NOTIFY, notify.value ? "yes" : "no"));
}
