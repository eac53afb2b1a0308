// Where the page begins.
import "@xterm/xterm/css/xterm.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/attention.css";
import "./styles/session.css";
import "./styles/forms.css";
import "./styles/changes.css";
import { render } from "preact";
import { startNotifications } from "./notifications";
import { credential, signIn, signInProblem } from "./http";
import { connect } from "./live";
import { followAddress, takeCode } from "./route";
import { applySettings } from "./settings";
import { allowTerminalStyles } from "./terminal/styles";
import { startClock } from "./time";
import { App } from "./views/app";

/** Signs in with the code in the address, if there is one. */
async function useCode(): Promise<void> {
  const code = takeCode();
  if (code === null) return;
  await signIn(code).catch((error: unknown) => {
    signInProblem.value = error;
    // A browser that is a device needs no code, and is not signed out by a link with a wrong one.
    return credential().then(() => undefined, () => undefined);
  });
}

async function begin(): Promise<void> {
  applySettings();
  allowTerminalStyles();
  followAddress();
  startClock();
  const root = document.getElementById("page");
  if (root) render(<App />, root);
  await useCode();
  // An address with a code may also be put into a tab that is open.
  window.addEventListener("hashchange", () => void useCode());
  connect();
  startNotifications();
}

void begin();
