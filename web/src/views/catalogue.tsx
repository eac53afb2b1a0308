// What can be run: grimoires with their text, and adapters with what is installed.
import type { AdapterItem, Adapters, Grimoire, Grimoires } from "../api";
import { get } from "../http";
import { href } from "../route";
import { Editor } from "./editor";
import { Graph } from "./graph";
import { AdapterIcon } from "./adapter-icons";
import { Book, Mark, Play } from "./icons";
import { Empty, Loading, useAsked, Wrong } from "./parts";

export function GrimoiresPage({ name }: { name: string | null }) {
  const list = useAsked("grimoires", (signal) => get<Grimoires>("/grimoires", signal));
  if (list.error !== null) return <Wrong error={list.error} />;
  if (list.value === null) return <Loading what="grimoires" />;
  const { grimoires } = list.value;
  if (grimoires.length === 0) {
    return <Empty icon={<Book size={28} />} title="No grimoires"><p>Put one into <code>.coven/grimoires/</code> of a folder, or into your own configuration.</p></Empty>;
  }
  const chosen = name ?? grimoires[0]!.name;
  return (
    <article class="page two-pane">
      <nav class="pane-list" aria-label="Grimoires">
        <h1>Grimoires</h1>
        <ul>
          {grimoires.map((one) => (
            <li key={one.name}>
              <a href={href({ at: "grimoires", name: one.name })} aria-current={one.name === chosen ? "page" : undefined}>
                <span class="pane-name">{one.name}{!one.usable && <Mark standing="failed" label="cannot be run" />}</span>
                <span class="muted pane-more">{one.description}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <OneGrimoire key={chosen} name={chosen} />
    </article>
  );
}

function OneGrimoire({ name }: { name: string }) {
  const { value, error } = useAsked(`grimoire ${name}`, (signal) => get<Grimoire>(`/grimoires/${encodeURIComponent(name)}`, signal));
  if (error !== null) return <Wrong error={error} />;
  if (value === null) return <Loading what="the grimoire" />;
  return (
    <section class="pane" aria-label={name}>
      <header class="pane-head">
        <h2>{value.name}</h2>
        <span class="chip">{value.layer}</span>
        {value.trigger !== "manual" && <span class="chip">on {value.trigger}</span>}
        <span class="spread" />
        {value.usable && <a class="button primary" href={href({ at: "new", grimoire: value.name })}><Play size={14} /> Run</a>}
      </header>
      <p>{value.description}</p>
      {value.path && <p class="muted path">{value.path}</p>}
      {value.whyNot && <div class="wrong"><div class="wrong-text"><strong>It cannot be run</strong><p>{value.whyNot}</p></div></div>}
      {value.inputs.length > 0 && (
        <table class="plain-table">
          <caption>Inputs</caption>
          <thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">What it is</th></tr></thead>
          <tbody>
            {value.inputs.map((input) => (
              <tr key={input.name}>
                <td><code>{input.name}</code>{input.required && input.default == null && <span class="needed"> needed</span>}</td>
                <td>{input.type}</td>
                <td>{input.description ?? ""}{input.default != null && <span class="muted"> usually {JSON.stringify(input.default)}</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <div class="grimoire-body">
        <Editor text={value.text} problems={value.problems} label={`Text of ${value.name}`} rows={24} />
        {value.plan && <aside class="plan preview" aria-label="Plan"><h2>Plan</h2><Graph plan={value.plan} /></aside>}
      </div>
    </section>
  );
}

export function AdaptersPage() {
  const { value, error } = useAsked("adapters", (signal) => get<Adapters>("/adapters", signal));
  if (error !== null) return <Wrong error={error} />;
  if (value === null) return <Loading what="adapters" />;
  const found = value.adapters.filter((one) => one.found != null);
  const missing = value.adapters.filter((one) => one.found == null);
  return (
    <article class="page">
      <h1>Adapters</h1>
      <p class="muted">Agents that can be run. A file <code>adapters/TYPE/config.json</code> in your configuration or in a trusted folder adds one.</p>
      <AdapterTable name="Installed" adapters={found} />
      <AdapterTable name="Not installed" adapters={missing} />
    </article>
  );
}

function AdapterTable({ name, adapters }: { name: string; adapters: readonly AdapterItem[] }) {
  if (adapters.length === 0) return null;
  return (
    <section aria-label={name}>
      <h2 class="section-title">{name} <span class="count">{adapters.length}</span></h2>
      <ul class="adapters">
        {adapters.map((one) => (
          <li key={one.type} class="adapter">
            <AdapterIcon name={one.icon} />
            <div class="adapter-words">
              <div class="adapter-name"><strong>{one.displayName}</strong> <code>{one.type}</code> {one.layer !== "built-in" && <span class="chip">{one.layer}</span>}</div>
              <div class="muted adapter-more">{one.modes.join(", ")} · {one.found ?? `${one.command}: not found on the PATH`}</div>
              {one.problem && <div class="field-wrong">{one.problem}</div>}
            </div>
            <Versions one={one} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Versions({ one }: { one: AdapterItem }) {
  if (!one.installedVersion && !one.testedVersion) return null;
  const same = one.installedVersion && one.testedVersion && one.installedVersion.includes(one.testedVersion);
  return (
    <dl class="versions">
      {one.installedVersion && <div><dt>installed</dt><dd>{one.installedVersion}</dd></div>}
      {one.testedVersion && <div><dt>tested</dt><dd>{one.testedVersion}{same ? <Mark standing="done" label="the tested version" /> : null}</dd></div>}
    </dl>
  );
}
