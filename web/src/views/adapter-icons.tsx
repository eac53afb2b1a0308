// The pictures that an adapter can name in its metadata. The same list is in
// crates/adapters/src/icons.rs, and a test there compares the two. None is the sign of a company.
import type { JSX } from "preact";

/** What is shown for an icon that is not in the list. */
const DEFAULT = "agent";

const DRAWINGS: Record<string, JSX.Element> = {
  agent: <><rect x="3" y="5.5" width="10" height="7.5" rx="1.8" /><path d="M8 2.5v3M6.2 9h.01M9.8 9h.01" stroke-width="2" /></>,
  aider: <><circle cx="5.3" cy="5.6" r="2" /><circle cx="10.7" cy="5.6" r="2" /><path d="M2 13c.3-2.4 1.6-3.6 3.3-3.6S8 10.6 8 13c0-2.4 1-3.6 2.7-3.6S13.7 10.6 14 13" /></>,
  book: <path d="M3 2.8h8.2a1.3 1.3 0 0 1 1.3 1.3v9.1H4.3A1.3 1.3 0 0 1 3 11.9zM3 11.6c0-.8.6-1.3 1.3-1.3h8.2" />,
  brain: <path d="M8 3.2c-1-1.4-3.3-.9-3.5.8-1.5.3-1.9 2-1 3-1 1-.7 2.8.8 3.2.1 1.8 2.6 2.5 3.7 1.1M8 3.2c1-1.4 3.3-.9 3.5.8 1.5.3 1.9 2 1 3 1 1 .7 2.8-.8 3.2-.1 1.8-2.6 2.5-3.7 1.1M8 3.2v8.1" />,
  claude: <path d="M8 2.5v11M2.5 8h11M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6" />,
  codex: <><path d="M8 1.9 13.3 5v6L8 14.1 2.7 11V5z" /><path d="m6.3 6.5 1.5 1.5-1.5 1.5M8.8 9.7h1.4" /></>,
  copilot: <><circle cx="5.2" cy="9" r="2.7" /><circle cx="10.8" cy="9" r="2.7" /><path d="M7.9 9h.2M3.2 7.2C3.6 4.6 5.4 3.2 8 3.2s4.4 1.4 4.8 4" /></>,
  demo: <><circle cx="8" cy="8" r="5.6" /><path d="M6.7 5.6v4.8L10.6 8z" /></>,
  gear: <><circle cx="8" cy="8" r="2.2" /><path d="M8 2v2.2M8 11.8V14M2 8h2.2M11.8 8H14M3.8 3.8l1.5 1.5M10.7 10.7l1.5 1.5M12.2 3.8l-1.5 1.5M5.3 10.7l-1.5 1.5" /></>,
  gemini: <><circle cx="6" cy="8" r="3.9" /><circle cx="10" cy="8" r="3.9" /></>,
  opencode: <path d="M6 3C4.3 3 4.6 4.6 4.6 5.8S4 8 3 8c1 0 1.6 1 1.6 2.2S4.3 13 6 13M10 3c1.7 0 1.4 1.6 1.4 2.8S12 8 13 8c-1 0-1.6 1-1.6 2.2s.3 2.8-1.4 2.8" />,
  plug: <path d="M6 2.5v3M10 2.5v3M4.2 5.5h7.6v2a3.8 3.8 0 0 1-7.6 0zM8 11.3v2.4" />,
  qwen: <><circle cx="7.6" cy="7.6" r="5" /><path d="m9.3 9.3 4 4" /></>,
  spark: <path d="M8.9 1.8 3.6 9h3.7l-.6 5.2L12.4 7H8.6z" />,
  terminal: <><rect x="1.8" y="2.8" width="12.4" height="10.4" rx="1.4" /><path d="m4.6 6 2 2-2 2M8.4 10.2h3" /></>,
  tool: <path d="M9.9 3.1a3.2 3.2 0 0 0-3.7 4.5L2.6 11.2a1.5 1.5 0 0 0 2.2 2.2l3.6-3.6a3.2 3.2 0 0 0 4.5-3.7l-2 2-1.9-.5-.5-1.9z" />,
};

/** The picture of an adapter. For a name that is not known it is the default one with a broken
 *  frame, and pointing at it says why. */
export function AdapterIcon({ name }: { name: string }) {
  const known = Object.hasOwn(DRAWINGS, name);
  const shown = known ? name : DEFAULT;
  return (
    <span class={`adapter-icon${known ? "" : " unknown"}`} data-icon={shown}
      title={known ? undefined : `There is no icon “${name}”, so this is the default one.`}>
      <svg class="icon" width="20" height="20" viewBox="0 0 16 16" fill="none" stroke="currentColor"
        stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
        {DRAWINGS[shown]}
      </svg>
    </span>
  );
}
