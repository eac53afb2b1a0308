// The comments that are not sent yet, one list for each task whose work is looked at. They outlive
// the tab, and all tabs of the browser show the same.
import { signal, type Signal } from "@preact/signals";
import { keyOf, NO_DRAFTS, read, written, type Drafts } from "./review";

const lists = new Map<string, Signal<Drafts>>();

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function draftsOf(id: string, task: string): Signal<Drafts> {
  const key = keyOf(id, task);
  let list = lists.get(key);
  if (!list) {
    if (lists.size === 0) followOtherTabs();
    list = signal(read(stored(key)));
    lists.set(key, list);
  }
  return list;
}

/** Changes the drafts, and keeps them. False if this browser keeps nothing: then they go with the tab. */
export function keepDrafts(id: string, task: string, change: (drafts: Drafts) => Drafts): boolean {
  const list = draftsOf(id, task);
  list.value = change(list.value);
  const key = keyOf(id, task);
  const text = written(list.value);
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** Takes in what another tab wrote. */
function followOtherTabs(): void {
  window.addEventListener("storage", (event) => {
    const list = event.key === null ? undefined : lists.get(event.key);
    if (list) list.value = read(event.newValue);
    if (event.key === null) for (const one of lists.values()) one.value = NO_DRAFTS;
  });
}
