// The files that an agent changed, to choose one from.
import { useRef, useState } from "preact/hooks";
import type { TreeFileChange } from "../api-trees";
import { RUN_TREE } from "../api-trees";
import { notesOf, partsOf, STATUS_LETTER, STATUS_WORDS } from "../changes";
import { plural } from "../labels";
import { Comment, Search, Warn } from "./icons";

/** So many are listed before more are asked for. */
const LISTED = 400;
/** With more than so many there is a field to look for one. */
const MANY = 12;

export function ChangedFiles({ files, omitted, chosen, drafts, notes, touched, tree, onChoose }: {
  files: readonly TreeFileChange[];
  omitted: number;
  chosen: string | null;
  /** How many comments each file has. */
  drafts: ReadonlyMap<string, number>;
  /** How many comments of agents each file has. */
  notes: ReadonlyMap<string, number>;
  /** Which other trees change a file. */
  touched: ReadonlyMap<string, readonly string[]>;
  tree: string;
  onChoose: (path: string, focus: boolean) => void;
}) {
  const [wanted, want] = useState("");
  const [listed, setListed] = useState(LISTED);
  const list = useRef<HTMLUListElement>(null);
  const needle = wanted.trim().toLowerCase();
  const fitting = needle === "" ? files : files.filter((file) => `${file.path} ${file.old ?? ""}`.toLowerCase().includes(needle));
  const shown = fitting.slice(0, listed);
  const tabbable = shown.some((file) => file.path === chosen) ? chosen : shown[0]?.path;

  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>("[data-path]") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    const next = to === undefined ? undefined : buttons[Math.min(buttons.length - 1, Math.max(0, to))];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
    onChoose(next.dataset.path!, false);
  };
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <nav class="changed-files" aria-label="Changed files">
      <p class="changed-sum"><strong>{plural(files.length, "file")}</strong> <Counts added={added} removed={removed} /></p>
      {files.length > MANY && (
        <label class="changed-filter"><Search size={14} /><span class="unseen">Find a file</span>
          <input type="search" value={wanted} placeholder="Find a file" onInput={(event) => want(event.currentTarget.value)} />
        </label>
      )}
      {fitting.length === 0 && <p class="muted">No file has this in its path.</p>}
      <ul ref={list} onKeyDown={onKeyDown}>
        {shown.map((file) => (
          <li key={file.path}>
            <button type="button" class="changed-file" data-path={file.path} aria-current={file.path === chosen ? "true" : undefined}
              tabIndex={file.path === tabbable ? 0 : -1} title={file.old ? `${file.old} → ${file.path}` : file.path} onClick={() => onChoose(file.path, true)}>
              <Status file={file} />
              <span class="changed-path" dir="ltr"><Path path={file.path} /></span>
              {drafts.has(file.path) && <span class="changed-drafts" title="comments that are not sent"><Comment size={12} />{drafts.get(file.path)}<span class="unseen"> comments</span></span>}
              {notes.has(file.path) && <span class="changed-drafts is-agents" title="comments of agents"><Comment size={12} />{notes.get(file.path)}<span class="unseen"> comments of agents</span></span>}
              <Counts added={file.added} removed={file.removed} />
              {(notesOf(file).length > 0 || touched.has(file.path)) && (
                <span class="changed-notes">
                  {notesOf(file).map((note) => <span key={note} class="chip">{note}</span>)}
                  {touched.has(file.path) && <span class="chip chip-needs"><Warn size={11} /> {tree === RUN_TREE ? "in" : "also in"} {namesOf(touched.get(file.path)!)}</span>}
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {fitting.length > shown.length && <button type="button" class="quiet small" onClick={() => setListed(listed + LISTED)}>Show {Math.min(LISTED, fitting.length - shown.length)} more of {fitting.length} files</button>}
      {omitted > 0 && <p class="muted">{plural(omitted, "more file")} {omitted === 1 ? "is" : "are"} not listed: the list would be too large. The patch has all that fits into it.</p>}
    </nav>
  );
}

/** Names of trees, the rest summed up. */
const namesOf = (trees: readonly string[]): string =>
  trees.length <= 2 ? trees.join(" and ") : `${trees.slice(0, 2).join(", ")} and ${trees.length - 2} more`;

export const Status = ({ file }: { file: TreeFileChange }) => (
  <span class={`changed-status status-${file.status}`}><span aria-hidden="true">{STATUS_LETTER[file.status]}</span><span class="unseen">{STATUS_WORDS[file.status]}: </span></span>
);

export function Path({ path }: { path: string }) {
  const [folder, name] = partsOf(path);
  // A long path breaks between folders first.
  const folders = folder.split("/").slice(0, -1).map((part, at) => <span key={at}>{part}/<wbr /></span>);
  return <bdi><span class="muted">{folders}</span>{name}</bdi>;
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="changed-counts">
      {added > 0 && <span class="is-added">+{added}<span class="unseen"> lines</span></span>}
      {removed > 0 && <span class="is-removed">−{removed}<span class="unseen"> lines</span></span>}
    </span>
  );
}
