// What a session holds: its variables, its definition, what went wrong.
import type { ErrorEntry } from "../api";
import { shownValue } from "../values";
import { Mark } from "./icons";

export function Variables({ variables }: { variables: Record<string, unknown> }) {
  const names = Object.keys(variables);
  if (names.length === 0) {
    return <p class="muted pad">No variables yet. Inputs and the outputs of steps appear here under their names.</p>;
  }
  return (
    <dl class="variables">
      {names.map((name) => {
        const text = shownValue(variables[name]);
        const long = text.length > 400 || text.split("\n").length > 8;
        return (
          <div key={name}>
            <dt><code>{name}</code></dt>
            <dd>{long
              ? <details><summary>{text.split("\n")[0]?.slice(0, 140)}</summary><pre tabIndex={0}>{text}</pre></details>
              : <pre tabIndex={0}>{text}</pre>}</dd>
          </div>
        );
      })}
    </dl>
  );
}

export function ErrorList({ errors }: { errors: readonly ErrorEntry[]; id: string }) {
  if (errors.length === 0) return <p class="muted pad">Nothing went wrong.</p>;
  return (
    <ul class="errors">
      {errors.map((entry, at) => (
        <li key={at}>
          <Mark standing="failed" />
          <div>
            <strong>{entry.step}</strong>
            <pre tabIndex={0}>{entry.error}</pre>
          </div>
        </li>
      ))}
    </ul>
  );
}

export function DefinitionView({ definition }: { definition: unknown }) {
  const text = typeof definition === "string"
    ? definition
    : textOf(definition) ?? JSON.stringify(definition, null, 2);
  return <pre class="definition" tabIndex={0} role="region" aria-label="Definition">{text}</pre>;
}

/** The text of a definition that is kept with it. */
function textOf(definition: unknown): string | null {
  if (definition === null || typeof definition !== "object") return null;
  const { text, source } = definition as { text?: unknown; source?: unknown };
  if (typeof text === "string") return text;
  return typeof source === "string" ? source : null;
}

