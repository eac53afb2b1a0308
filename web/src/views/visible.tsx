// Text of agents in which the names of unseen characters stand out.
import { namesApart, withNames } from "../changes";

export function Visible({ text }: { text: string }) {
  const parts = namesApart(withNames(text));
  if (parts.length === 1) return <>{parts[0]}</>;
  return <>{parts.map((part, at) => (at % 2 === 1 ? <mark key={at} class="unseen-character">{part}</mark> : part))}</>;
}
