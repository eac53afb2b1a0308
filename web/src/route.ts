// Where the page is, kept in the fragment of the address, so that links, reload and the back
// button work and the daemon never hears of it.
import { computed, signal } from "@preact/signals";

export type Place =
  | { at: "overview" }
  | { at: "session"; id: string; task: string | null; tab: string | null; file?: string }
  | { at: "new"; grimoire: string | null }
  | { at: "grimoires"; name: string | null }
  | { at: "adapters" };

/** The place a fragment names; what it does not know is the overview. */
export function parse(fragment: string): Place {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?");
  const [first, second, third] = path.split("/").map(decode);
  const asked = new URLSearchParams(query);
  switch (first) {
    case "session":
      if (second) {
        const file = asked.get("file");
        return { at: "session", id: second, task: third || null, tab: asked.get("tab"), ...(file === null ? {} : { file }) };
      }
      return { at: "overview" };
    case "new":
      return { at: "new", grimoire: second || null };
    case "grimoires":
      return { at: "grimoires", name: second || null };
    case "adapters":
      return { at: "adapters" };
    default:
      return { at: "overview" };
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The fragment of a place. */
export function href(place: Place): string {
  const code = encodeURIComponent;
  switch (place.at) {
    case "overview":
      return "#/";
    case "session": {
      const task = place.task === null ? "" : `/${code(place.task)}`;
      const tab = place.tab === null ? "" : `?tab=${code(place.tab)}`;
      const file = place.tab === null || place.file === undefined ? "" : `&file=${code(place.file)}`;
      return `#/session/${code(place.id)}${task}${tab}${file}`;
    }
    case "new":
      return place.grimoire === null ? "#/new" : `#/new/${code(place.grimoire)}`;
    case "grimoires":
      return place.name === null ? "#/grimoires" : `#/grimoires/${code(place.name)}`;
    case "adapters":
      return "#/adapters";
  }
}

export const toSession = (id: string, task: string | null = null, tab: string | null = null, file?: string) =>
  href({ at: "session", id, task, tab, ...(file === undefined ? {} : { file }) });

/** The one-time code in a fragment such as `#code=…`, where there is one. */
export function codeIn(fragment: string): string | null {
  const found = /^#(?:.*&)?code=([^&]+)/.exec(fragment);
  return found?.[1] ? decode(found[1]) : null;
}

const fragment = signal(typeof location === "undefined" ? "" : location.hash);
export const place = computed(() => parse(fragment.value));

export function go(to: Place | string): void {
  location.hash = typeof to === "string" ? to : href(to);
}

/** Follows the address bar. */
export function followAddress(): void {
  window.addEventListener("hashchange", () => {
    fragment.value = location.hash;
  });
}

/** Takes the code out of the address bar and out of the history. */
export function takeCode(): string | null {
  const code = codeIn(location.hash);
  if (code === null) return null;
  history.replaceState(null, "", `${location.pathname}#/`);
  fragment.value = "#/";
  return code;
}
