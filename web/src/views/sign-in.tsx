// Signing in: by the code in the address, or by one that is typed.
import { useState } from "preact/hooks";
import { keepToken, post } from "../http";
import { Logo } from "./icons";
import { Wrong } from "./parts";

export async function signIn(code: string): Promise<void> {
  const { token } = await post<{ token: string }>("/sign-in", { code });
  keepToken(token);
}

export function SignIn({ failed }: { failed: unknown }) {
  const [code, setCode] = useState("");
  const [wrong, setWrong] = useState<unknown>(failed);
  return (
    <main class="sign-in">
      <Logo size={48} />
      <h1>Sign in to Coven</h1>
      <p>This page talks to the daemon on this machine, and only to somebody who may. Open it with</p>
      <pre class="commands">coven ui</pre>
      <p class="muted">which signs this tab in by itself. A code can be used once, within a minute.</p>
      {wrong !== null && <Wrong error={wrong} />}
      <form onSubmit={(event) => {
        event.preventDefault();
        setWrong(null);
        signIn(code.trim()).catch(setWrong);
      }}>
        <label class="field"><span>Or type a code</span>
          <input value={code} autoComplete="off" spellcheck={false} onInput={(event) => setCode(event.currentTarget.value)} />
        </label>
        <button type="submit" disabled={code.trim() === ""}>Sign in</button>
      </form>
    </main>
  );
}
