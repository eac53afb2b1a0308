// Where the page begins.
import "@xterm/xterm/css/xterm.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/attention.css";
import "./styles/session.css";
import "./styles/forms.css";
import { render } from "preact";
import { startNotifications } from "./notifications";
import { keepToken } from "./http";
import { connect } from "./live";
import { followAddress, takeCode } from "./route";
import { applySettings } from "./settings";
import { allowTerminalStyles } from "./terminal/styles";
import { startClock } from "./time";
import { App } from "./views/app";
import { signIn } from "./views/sign-in";

async function begin(): Promise<void> {
  applySettings();
  allowTerminalStyles();
  followAddress();
  startClock();
  let failed: unknown = null;
  const code = takeCode();
  if (code !== null) {
    keepToken(null);
    await signIn(code).catch((error: unknown) => {
      failed = error;
    });
  }
  connect();
  startNotifications();
  const root = document.getElementById("page");
  if (root) render(<App failed={failed} />, root);
}

void begin();
