// Every picture of the page, drawn in place: no font, no request.
import type { ComponentChildren, JSX } from "preact";
import { STANDING, type Standing } from "../labels";

function Icon({ children, size = 16 }: { children: ComponentChildren; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor"
      stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

const drawn = (paths: JSX.Element) => ({ size }: { size?: number }) =>
  <Icon {...(size === undefined ? {} : { size })}>{paths}</Icon>;

export const Logo = ({ size = 22 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" class="logo-ground" />
    <g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">
      <path d="M10.5 11.5 15 16l-4.5 4.5" />
      <path d="M17.5 21h5" />
    </g>
  </svg>
);

export const Plus = drawn(<path d="M8 3v10M3 8h10" />);
export const ChevronDown = drawn(<path d="m4 6 4 4 4-4" />);
export const ChevronRight = drawn(<path d="m6 4 4 4-4 4" />);
export const Search = drawn(<><circle cx="7" cy="7" r="4.2" /><path d="m10.2 10.2 3.3 3.3" /></>);
export const Close = drawn(<path d="m4 4 8 8M12 4l-8 8" />);
export const Play = drawn(<path d="M5 3.5v9l7.5-4.5z" fill="currentColor" />);
export const Pause = drawn(<path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2.4" />);
export const Stop = drawn(<rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" />);
export const Trash = drawn(<path d="M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v3.5M9.2 7v3.5" />);
export const Retry = drawn(<path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.8h-2.8" />);
export const Check = drawn(<path d="m3 8.5 3.3 3.2L13 4.8" />);
export const Sun = drawn(<><circle cx="8" cy="8" r="2.8" /><path d="M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9" /></>);
export const Moon = drawn(<path d="M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z" />);
export const Screen = drawn(<><rect x="2" y="3" width="12" height="8" rx="1.2" /><path d="M6 13.5h4" /></>);
export const Bell = drawn(<path d="M8 2.2a3.6 3.6 0 0 0-3.6 3.6c0 3.2-1.4 4.4-1.4 4.4h10s-1.4-1.2-1.4-4.4A3.6 3.6 0 0 0 8 2.2zM6.8 12.6a1.3 1.3 0 0 0 2.4 0" />);
export const Menu = drawn(<path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />);
export const Terminal = drawn(<><rect x="1.8" y="2.8" width="12.4" height="10.4" rx="1.4" /><path d="m4.6 6 2 2-2 2M8.4 10.2h3" /></>);
export const Keyboard = drawn(<><rect x="1.5" y="4" width="13" height="8" rx="1.4" /><path d="M4 6.8h.01M6.7 6.8h.01M9.3 6.8h.01M12 6.8h.01M5 9.4h6" /></>);
export const Interrupt = drawn(<><circle cx="8" cy="8" r="5.6" /><path d="M6.5 6v4M9.5 6v4" /></>);
export const Upload = drawn(<path d="M8 10.5V3M5 5.8 8 2.8l3 3M3 10.5v2.7h10v-2.7" />);
export const Copy = drawn(<><rect x="5.5" y="5.5" width="8" height="8" rx="1.2" /><path d="M10.5 5.5v-3h-8v8h3" /></>);
export const Book = drawn(<path d="M3 2.8h8.2a1.3 1.3 0 0 1 1.3 1.3v9.1H4.3A1.3 1.3 0 0 1 3 11.9zM3 11.6c0-.8.6-1.3 1.3-1.3h8.2" />);
export const Plug = drawn(<path d="M6 2.5v3M10 2.5v3M4.2 5.5h7.6v2a3.8 3.8 0 0 1-7.6 0zM8 11.3v2.4" />);
export const Grid = drawn(<><rect x="2.5" y="2.5" width="4.5" height="4.5" rx=".8" /><rect x="9" y="2.5" width="4.5" height="4.5" rx=".8" /><rect x="2.5" y="9" width="4.5" height="4.5" rx=".8" /><rect x="9" y="9" width="4.5" height="4.5" rx=".8" /></>);
export const Send = drawn(<path d="M2.5 8h10M8.8 4.2 12.6 8l-3.8 3.8" />);
export const Tool = drawn(<path d="M9.9 3.1a3.2 3.2 0 0 0-3.7 4.5L2.6 11.2a1.5 1.5 0 0 0 2.2 2.2l3.6-3.6a3.2 3.2 0 0 0 4.5-3.7l-2 2-1.9-.5-.5-1.9z" />);
export const Warn = drawn(<path d="M8 2.4 14 13H2zM8 6.4v3.2M8 11.3h.01" />);
export const Branch = drawn(<><circle cx="4.5" cy="3.6" r="1.6" /><circle cx="4.5" cy="12.4" r="1.6" /><circle cx="11.5" cy="5.6" r="1.6" /><path d="M4.5 5.2v5.6M11.5 7.2c0 2.6-4 2-6.3 3.9" /></>);
export const Comment = drawn(<path d="M2.5 3h11v8H8l-3 2.6V11H2.5z" />);
export const Columns = drawn(<><rect x="2" y="3" width="12" height="10" rx="1.2" /><path d="M8 3v10" /></>);
export const Wide = drawn(<path d="M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9" />);

/** How something stands, as a still mark: each standing has its own shape, not only its colour.
 *  An empty label is for marks beside words that say the same. */
export function Mark({ standing, label }: { standing: Standing; label?: string }) {
  const words = label ?? STANDING[standing];
  if (words === "") {
    return <svg class={`mark mark-${standing}`} width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">{SHAPES[standing]}</svg>;
  }
  return (
    <svg class={`mark mark-${standing}`} width="14" height="14" viewBox="0 0 14 14" role="img" aria-label={words}>
      <title>{words}</title>
      {SHAPES[standing]}
    </svg>
  );
}

const SHAPES: Record<Standing, JSX.Element> = {
  needs: <><path d="M7 1.2 12.8 7 7 12.8 1.2 7z" class="fill" /><path d="M7 4.4v3M7 9.3h.01" class="cut" /></>,
  working: <><circle cx="7" cy="7" r="5.4" class="line" /><circle cx="7" cy="7" r="2.8" class="fill" /></>,
  idle: <circle cx="7" cy="7" r="5" class="line" />,
  done: <><circle cx="7" cy="7" r="5.8" class="fill" /><path d="m4.5 7.2 1.8 1.7 3.3-3.6" class="cut" /></>,
  failed: <><circle cx="7" cy="7" r="5.8" class="fill" /><path d="m5.1 5.1 3.8 3.8M8.9 5.1 5.1 8.9" class="cut" /></>,
  cancelled: <><circle cx="7" cy="7" r="5" class="line" /><path d="m4 10 6-6" class="line" /></>,
  pending: <circle cx="7" cy="7" r="5" class="line" stroke-dasharray="2.2 2.2" />,
  skipped: <path d="M3 7h8" class="line" />,
};
