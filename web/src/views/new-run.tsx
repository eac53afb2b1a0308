// Starting a run: from a grimoire, from a definition, or one agent.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Adapters, Checked, Diagnostic, Grimoire, Grimoires, InputItem, PlanView, StartWorkflow, Status, Trust } from "../api";
import { start } from "../actions";
import { get, post, Refused } from "../http";
import { readInputs } from "../inputs";
import { go, href, toSession } from "../route";
import { Editor } from "./editor";
import { Graph } from "./graph";
import { Play, Upload } from "./icons";
import { Loading, useAsked, Wrong } from "./parts";

type From = "grimoire" | "definition" | "agent";

const EXAMPLE = `name: my-first-run
description: One agent answers, then a script shows it.
inputs:
  question: {description: What to ask, default: What is this folder about?}
steps:
  - name: ask
    type: agent
    adapter: demo
    mode: headless
    prompt: \${input.question}
    output: answer
  - name: show
    type: script
    command: printf '%s\\n' "\${answer}"
`;

export function NewRun({ grimoire }: { grimoire: string | null }) {
  const [from, setFrom] = useState<From>("grimoire");
  const [baseDir, setBaseDir] = useState("");
  const [goal, setGoal] = useState("");
  const [text, setText] = useState(EXAMPLE);
  const [inputs, setInputs] = useState<Record<string, string>>({});
  const [agent, setAgent] = useState({ adapter: "", prompt: "", mode: "interactive", permissions: "" });
  const [wrong, setWrong] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const status = useAsked("status", (signal) => get<Status>("/status", signal));
  const dir = useSettled(baseDir.trim(), 400);
  const query = dir.startsWith("/") ? `?baseDir=${encodeURIComponent(dir)}` : "";
  const list = useStill(useAsked(`grimoires ${query}`, (signal) => get<Grimoires>(`/grimoires${query}`, signal)));
  const adapters = useStill(useAsked(`adapters ${query}`, (signal) => get<Adapters>(`/adapters${query}`, signal)));
  const chosen = grimoire ?? list.value?.grimoires.find((one) => one.usable && one.trigger === "manual")?.name ?? null;
  const detail = useAsked(`grimoire ${chosen} ${query}`, async (signal) =>
    chosen === null ? null : get<Grimoire>(`/grimoires/${encodeURIComponent(chosen)}${query}`, signal));
  const checked = useChecked(from === "definition" ? text : null, dir);

  const wanted: readonly InputItem[] = from === "grimoire" ? detail.value?.inputs ?? [] : from === "definition" ? checked.value?.inputs ?? [] : [];
  const plan: PlanView | null = (from === "grimoire" ? detail.value?.plan : from === "definition" ? checked.value?.plan : null) ?? null;
  const read = useMemo(() => readInputs(wanted, inputs), [wanted, inputs]);
  const problems = from === "definition" ? checked.value?.problems ?? [] : detail.value?.problems ?? [];
  const firstAgent = adapters.value?.adapters.find((one) => one.found != null && one.type !== "shell")?.type ?? "demo";
  const ready = from === "grimoire"
    ? detail.value !== null && detail.value.usable
    : from === "definition" ? checked.value?.ok === true : true;

  const submit = () => {
    const missing = Object.keys(read.wrong)[0];
    if (missing !== undefined) {
      document.getElementById(`input-${missing}`)?.focus();
      setWrong(new Error(`The input “${missing}” ${read.wrong[missing]}.`));
      return;
    }
    const wish: StartWorkflow = {
      ...(from === "grimoire" && chosen !== null ? { grimoire: chosen } : {}),
      ...(from === "definition" ? { definition: { name: "definition", text } } : {}),
      ...(from === "agent" ? { agent: {
        adapter: agent.adapter || firstAgent,
        mode: agent.mode as "interactive" | "headless",
        ...(agent.prompt ? { prompt: agent.prompt } : {}),
        ...(agent.permissions ? { permissions: agent.permissions } : {}),
      } } : {}),
      ...(Object.keys(read.values).length > 0 ? { input: read.values } : {}),
      ...(goal.trim() ? { goal: goal.trim() } : {}),
      ...(baseDir.trim() ? { baseDir: baseDir.trim() } : {}),
    };
    setBusy(true);
    setWrong(null);
    start(wish)
      .then((started) => go(toSession(started.id)))
      .catch(setWrong)
      .finally(() => setBusy(false));
  };

  const places: Diagnostic[] = wrong instanceof Refused ? wrong.problem.problems ?? [] : [];
  return (
    <article class="page new-run-page">
      <h1>New run</h1>
      <div class="new-run-body">
        <form class="new-run-form" onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}>
          <div class="segmented" role="group" aria-label="What to run">
            <button type="button" aria-pressed={from === "grimoire"} onClick={() => setFrom("grimoire")}>Grimoire</button>
            <button type="button" aria-pressed={from === "definition"} onClick={() => setFrom("definition")}>Definition</button>
            <button type="button" aria-pressed={from === "agent"} onClick={() => setFrom("agent")}>One agent</button>
          </div>

          <label class="field"><span>Folder</span>
            <input value={baseDir} list="base-dirs" placeholder="The daemon's own; otherwise an absolute path" spellcheck={false}
              autoComplete="off" onInput={(event) => setBaseDir(event.currentTarget.value)} />
            <datalist id="base-dirs">
              {status.value?.baseDirs.map((one) => <option key={one.path} value={one.path} />)}
            </datalist>
          </label>

          {from === "grimoire" && (
            <>
              {list.error !== null && <Wrong error={list.error} />}
              {list.value === null && list.error === null && <Loading what="grimoires" />}
              {list.value && (
                <fieldset class="choices">
                  <legend>Grimoire</legend>
                  {list.value.grimoires.map((one) => (
                    <label key={one.name} class={`choice${one.name === chosen ? " chosen" : ""}${one.usable ? "" : " unusable"}`}>
                      <input type="radio" name="grimoire" value={one.name} checked={one.name === chosen}
                        onChange={() => go(href({ at: "new", grimoire: one.name }))} />
                      <span>
                        <strong>{one.name}</strong> <span class="chip">{one.layer}</span>
                        <span class="muted choice-more">{one.description}</span>
                        {one.whyNot && <span class="choice-not">{one.whyNot}</span>}
                      </span>
                    </label>
                  ))}
                </fieldset>
              )}
              {detail.value && !detail.value.usable && <TrustPanel baseDir={dir} onTrusted={() => {
                list.again();
                detail.again();
              }} />}
            </>
          )}

          {from === "definition" && (
            <>
              <div class="field-head">
                <span>Definition: a grimoire in YAML, or stages in JSON</span>
                <FileButton onText={setText} />
              </div>
              <Editor text={text} problems={problems} onInput={setText} label="Definition" />
              <p class="muted" role="status">
                {checked.busy ? "Checking…" : checked.error !== null ? "" : checked.value?.ok ? "No errors found." : ""}
              </p>
              {checked.error !== null && <Wrong error={checked.error} />}
            </>
          )}

          {from === "agent" && (
            <>
              <label class="field"><span>Agent</span>
                <select value={agent.adapter || firstAgent} onChange={(event) => setAgent({ ...agent, adapter: event.currentTarget.value })}>
                  {adapters.value?.adapters.map((one) => (
                    <option key={one.type} value={one.type}>{one.displayName}{one.found == null ? " (not installed)" : ""}</option>
                  ))}
                </select>
              </label>
              <label class="field"><span>Prompt</span>
                <textarea rows={4} value={agent.prompt} onInput={(event) => setAgent({ ...agent, prompt: event.currentTarget.value })}
                  placeholder="What it is told first; leave empty to begin the conversation yourself" />
              </label>
              <div class="two">
                <label class="field"><span>Mode</span>
                  <select value={agent.mode} onChange={(event) => setAgent({ ...agent, mode: event.currentTarget.value })}>
                    <option value="interactive">On a terminal</option>
                    <option value="headless">Headless, one prompt</option>
                  </select>
                </label>
                <label class="field"><span>May do without asking</span>
                  <select value={agent.permissions} onChange={(event) => setAgent({ ...agent, permissions: event.currentTarget.value })}>
                    <option value="">What is usual for it</option>
                    <option value="read-only">Only look</option>
                    <option value="ask">Nothing; it asks</option>
                    <option value="edits">Edit files</option>
                    <option value="all">Anything</option>
                  </select>
                </label>
              </div>
            </>
          )}

          <label class="field"><span>Goal <span class="muted">(what this run is for, optional)</span></span>
            <input value={goal} autoComplete="off" onInput={(event) => setGoal(event.currentTarget.value)} />
          </label>

          {wanted.length > 0 && (
            <fieldset class="inputs">
              <legend>Inputs</legend>
              {wanted.map((one) => (
                <InputField key={one.name} item={one} value={inputs[one.name]} wrong={inputs[one.name] !== undefined ? read.wrong[one.name] : undefined}
                  onInput={(value) => setInputs({ ...inputs, [one.name]: value })} />
              ))}
            </fieldset>
          )}

          {wrong !== null && <Wrong error={wrong} onClose={() => setWrong(null)} />}
          {places.length > 0 && from !== "definition" && (
            <ul class="problems">{places.map((one, at) => <li key={at}>{one.line}:{one.column} {one.message}</li>)}</ul>
          )}
          {wrong instanceof Refused && wrong.code === "not-trusted" && <TrustPanel baseDir={dir} onTrusted={() => setWrong(null)} />}
          <div class="form-end">
            <button type="submit" class="primary large" disabled={busy || !ready}><Play size={14} /> {busy ? "Starting…" : "Start run"}</button>
            {!ready && from === "definition" && problems.some((one) => one.severity === "error") && <span class="muted">Mend the errors first.</span>}
          </div>
        </form>
        <aside class="plan preview" aria-label="What it would do">
          <h2>What it would do</h2>
          {from === "agent"
            ? <p class="muted">One agent in a session of its own. You can talk to it in its terminal, and finish it when it is done.</p>
            : plan ? <Graph plan={plan} /> : <p class="muted">The steps appear here once the definition has no errors.</p>}
        </aside>
      </div>
    </article>
  );
}

/** What was asked for, and until it is there what was known before: a list must not vanish and come
 *  back while the user chooses from it. */
function useStill<T, A extends { value: T | null; error: unknown }>(asked: A): A {
  const last = useRef<T | null>(null);
  if (asked.value !== null || asked.error !== null) last.current = asked.value;
  return { ...asked, value: asked.value ?? last.current };
}

/** A value once it has not changed for a while. */
function useSettled(value: string, pause: number): string {
  const [settled, settle] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => settle(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}

function useChecked(text: string | null, baseDir: string): { value: Checked | null; error: unknown; busy: boolean } {
  const [state, set] = useState<{ value: Checked | null; error: unknown; of: string | null }>({ value: null, error: null, of: null });
  useEffect(() => {
    if (text === null || text.trim() === "") return;
    let stopped = false;
    const timer = setTimeout(() => {
      post<Checked>("/grimoires/check", { text, ...(baseDir.startsWith("/") ? { baseDir } : {}) }).then(
        (value) => {
          if (!stopped) set({ value, error: null, of: text });
        },
        (error: unknown) => {
          if (!stopped) set((old) => ({ ...old, error, of: text }));
        },
      );
    }, 250);
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [text, baseDir]);
  return { value: state.value, error: state.error, busy: text !== null && state.of !== text };
}

function InputField({ item, value, wrong, onInput }: {
  item: InputItem;
  value: string | undefined;
  wrong: string | undefined;
  onInput: (value: string) => void;
}) {
  const usual = item.default == null ? "" : typeof item.default === "string" ? item.default : JSON.stringify(item.default);
  const id = `input-${item.name}`;
  const control = () => {
    if (item.type === "boolean") {
      return (
        <select id={id} value={value ?? usual} onChange={(event) => onInput(event.currentTarget.value)}>
          {usual === "" && <option value="">not given</option>}
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    }
    if (item.type === "array" || item.type === "object") {
      return <textarea id={id} rows={3} value={value ?? ""} placeholder={usual || (item.type === "array" ? "[\"…\"]" : "{ }")} spellcheck={false}
        aria-invalid={wrong !== undefined} onInput={(event) => onInput(event.currentTarget.value)} />;
    }
    return <input id={id} value={value ?? ""} placeholder={usual} inputMode={item.type === "number" ? "decimal" : "text"} autoComplete="off"
      aria-invalid={wrong !== undefined} aria-required={item.required} onInput={(event) => onInput(event.currentTarget.value)} />;
  };
  return (
    <label class="field" htmlFor={id}>
      <span>{item.name}{item.required && item.default == null && <span class="needed"> needed</span>} <span class="muted">{item.type}</span></span>
      {control()}
      {item.description && <span class="muted field-more">{item.description}</span>}
      {wrong !== undefined && <span class="field-wrong">{item.name} {wrong}</span>}
    </label>
  );
}

function FileButton({ onText }: { onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input ref={input} type="file" accept=".yaml,.yml,.json,text/*" hidden aria-label="Definition file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void file.text().then(onText);
          event.currentTarget.value = "";
        }} />
      <button type="button" class="small" onClick={() => input.current?.click()}><Upload size={14} /> Open a file</button>
    </>
  );
}

/** Asks whether what a folder brings along may be used, and shows what that is. */
function TrustPanel({ baseDir, onTrusted }: { baseDir: string; onTrusted: () => void }) {
  const query = baseDir ? `?baseDir=${encodeURIComponent(baseDir)}` : "";
  const { value, again } = useAsked(`trust ${query}`, (signal) => get<Trust>(`/trust${query}`, signal));
  const [wrong, setWrong] = useState<unknown>(null);
  if (!value || value.state === "trusted" || value.state === "nothing") return null;
  return (
    <div class="trust">
      <strong>{value.state === "changed" ? "What this folder brings along has changed" : "This folder is not trusted"}</strong>
      <p>Its own grimoires, adapters and policy run commands as you. Look at these files of {value.baseDir} before you agree:</p>
      <ul>{value.files.map((file) => <li key={file}><code>{file}</code></li>)}</ul>
      <p>Agreeing is not possible in a browser. In a terminal:</p>
      <pre class="commands">coven trust {value.baseDir}</pre>
      {wrong !== null && <Wrong error={wrong} />}
      <button type="button" onClick={() => {
        get<Trust>(`/trust${query}`).then((now) => {
          if (now.state === "trusted" || now.state === "nothing") {
            onTrusted();
            again();
          } else if (now.digest !== value.digest) {
            again();
          }
        }, setWrong);
      }}>I have agreed; look again</button>
    </div>
  );
}
