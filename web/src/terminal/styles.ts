// xterm.js writes style elements, which the page's policy refuses: only styles from our own files
// are allowed. Sheets that scripts construct are allowed, so where it asks for a style element it
// gets a hidden one that makes such a sheet, and the policy needs no exception.

export function allowTerminalStyles(): void {
  const create = document.createElement.bind(document);
  const instead = (name: string, options?: ElementCreationOptions): HTMLElement =>
    name.toLowerCase() === "style" ? bySheet(create("span")) : create(name, options);
  document.createElement = instead as typeof document.createElement;
}

function bySheet(element: HTMLElement): HTMLElement {
  let sheet: CSSStyleSheet | null = null;
  element.hidden = true;
  Object.defineProperty(element, "textContent", {
    get: () => "",
    set: (text: string) => {
      if (!sheet) {
        sheet = new CSSStyleSheet();
        document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
      }
      sheet.replaceSync(text);
    },
  });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    sheet = null;
    remove();
  };
  return element;
}
