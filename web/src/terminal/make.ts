// A terminal as all of the page's terminals are.
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { WebglAddon } from "@xterm/addon-webgl";
import { Terminal, type ITheme } from "@xterm/xterm";

export const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Agents are told of a dark background, so terminals are dark in both themes. */
const THEME: ITheme = {
  background: "#0b0d11",
  foreground: "#d8dce4",
  cursor: "#d8dce4",
  cursorAccent: "#0b0d11",
  selectionBackground: "#5b4fb380",
  black: "#1c2027", red: "#f07178", green: "#8fcf8b", yellow: "#e6c07b",
  blue: "#7aa8f5", magenta: "#c594e8", cyan: "#73c8d2", white: "#cfd5e0",
  brightBlack: "#79818f", brightRed: "#ff9299", brightGreen: "#aee3a9", brightYellow: "#f3d79a",
  brightBlue: "#9fc1ff", brightMagenta: "#dbb4f7", brightCyan: "#9be2ea", brightWhite: "#f4f6fa",
};

export interface Made {
  term: Terminal;
  fit: FitAddon;
  search: SearchAddon;
  dispose: () => void;
}

/** Opens what an agent printed only if it is a page, and without telling it where from. */
function openLink(_event: MouseEvent, uri: string): void {
  if (/^https?:\/\//i.test(uri)) window.open(uri, "_blank", "noopener,noreferrer");
}

export function makeTerminal(parent: HTMLElement, wishes: { cols: number; rows: number; fontSize: number; input: boolean; fast: boolean }): Made {
  const term = new Terminal({
    cols: wishes.cols,
    rows: wishes.rows,
    fontFamily: FONT,
    fontSize: wishes.fontSize,
    lineHeight: 1.1,
    theme: THEME,
    scrollback: wishes.input ? 5000 : 0,
    allowProposedApi: true,
    disableStdin: !wishes.input,
    cursorBlink: false,
    cursorInactiveStyle: wishes.input ? "outline" : "none",
    drawBoldTextInBrightColors: false,
    macOptionIsMeta: true,
    linkHandler: { activate: openLink },
  });
  term.loadAddon(new UnicodeGraphemesAddon());
  const fit = new FitAddon();
  term.loadAddon(fit);
  const search = new SearchAddon();
  term.loadAddon(search);
  term.loadAddon(new WebLinksAddon(openLink));
  keepQuiet(term);
  term.open(parent);
  if (wishes.fast) draftFast(term);
  return { term, fit, search, dispose: () => term.dispose() };
}

/** Draws with the graphics card where there is one; what the browser takes away is drawn plainly. */
function draftFast(term: Terminal): void {
  try {
    const webgl = new WebglAddon();
    webgl.onContextLoss(() => webgl.dispose());
    term.loadAddon(webgl);
  } catch {
    // Without it the terminal draws with elements, which is slower and otherwise the same.
  }
}

/** A program's questions to its terminal are answered by the daemon. A second answer from here
 *  would be typed into the program. */
function keepQuiet(term: Terminal): void {
  const { parser } = term;
  const heard = () => true;
  for (const prefix of ["", ">", "=", "?"]) {
    const id = prefix === "" ? {} : { prefix };
    parser.registerCsiHandler({ ...id, final: "c" }, heard);
    parser.registerCsiHandler({ ...id, final: "n" }, heard);
  }
  parser.registerCsiHandler({ intermediates: "$", final: "p" }, heard);
  parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, heard);
  parser.registerCsiHandler({ prefix: ">", final: "q" }, heard);
  parser.registerCsiHandler({ prefix: "?", final: "u" }, heard);
  parser.registerCsiHandler({ final: "t" }, heard);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, heard);
  parser.registerDcsHandler({ intermediates: "+", final: "q" }, heard);
  for (const code of [4, 10, 11, 12]) parser.registerOscHandler(code, (data) => data.includes("?"));
}

/** The smallest letters of a small terminal that can still be read. */
const LEAST_SMALL = 6.5;

/** Fits a small terminal into its tile: letters that can be read, cut at the right if need be, and
 *  the last rows that show something. */
export function settleSmall(made: Made, parent: HTMLElement, cols: number): void {
  const { term } = made;
  term.options.fontSize = fontFor(made, cols, 1, LEAST_SMALL, 11);
  const buffer = term.buffer.active;
  let last = term.rows - 1;
  while (last > 0 && !buffer.getLine(buffer.baseY + last)?.translateToString(true).trim()) last -= 1;
  const screen = term.element?.querySelector<HTMLElement>(".xterm-screen");
  const row = (screen?.offsetHeight ?? 0) / term.rows;
  parent.scrollTop = Math.max(0, (last + 2) * row - parent.clientHeight);
}

/** The largest letters with which so many columns and rows fit into an element. */
export function fontFor(made: Made, cols: number, rows: number, least: number, most: number): number {
  const current = made.term.options.fontSize ?? 13;
  const room = made.fit.proposeDimensions();
  if (!room || !Number.isFinite(room.cols) || !Number.isFinite(room.rows)) return current;
  const factor = Math.min((room.cols + 0.999) / cols, (room.rows + 0.999) / rows);
  const wanted = Math.floor(current * factor * 4) / 4;
  return Math.min(most, Math.max(least, wanted));
}
