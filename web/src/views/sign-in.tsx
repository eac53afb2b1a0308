// Signing in: by the code in the address, or by one that is typed; and what is shown while something
// else than the daemon answers.
import { useState } from "preact/hooks";
import { signIn, signInProblem } from "../http";
import { Logo } from "./icons";
import { Wrong } from "./parts";

export function SignIn() {
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const wrong = signInProblem.value;
  return (
    <main class="sign-in">
      <Logo size={48} />
      <h1>Sign in to Coven</h1>
      <p>This page talks to the daemon on this machine, and only for a browser that was signed in. Open it with</p>
      <pre class="commands">coven ui</pre>
      <p class="muted">That signs in this browser with all its tabs, until <code>coven device rm</code> removes it. A code can be used once, within a minute.</p>
      {wrong !== null && <Wrong error={wrong} />}
      <form onSubmit={(event) => {
        event.preventDefault();
        setBusy(true);
        signIn(code).catch((error: unknown) => {
          signInProblem.value = error;
        }).finally(() => setBusy(false));
      }}>
        <label class="field"><span>Or paste a code</span>
          <input value={code} autoComplete="off" spellcheck={false} onInput={(event) => setCode(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={busy || code.trim() === ""}>Sign in</button>
      </form>
    </main>
  );
}

/** Something answers on this port that is not the daemon this browser signed in to. */
export function Impostor() {
  return (
    <main class="sign-in">
      <Logo size={48} />
      <h1>This is not your daemon</h1>
      <p role="alert">Another program answers on port {location.port}. It could not show the daemon’s signature, so this page sent it nothing that it could use.</p>
      <p>See which port the daemon has now, and open the page there:</p>
      <pre class="commands">coven daemon status{"\n"}coven ui</pre>
      <p class="muted">Do not reload this page and do not type anything into a page on this port. If you removed the daemon’s state folder, <code>coven ui</code> signs this browser in again. This page goes on by itself once the daemon answers here.</p>
    </main>
  );
}

/** Until it is known whether this browser is signed in. */
export function Starting() {
  return <main class="sign-in" aria-busy="true"><Logo size={48} /><p class="muted">Connecting to the daemon…</p></main>;
}
