// The whole page.
import { useEffect } from "preact/hooks";
import { access } from "../http";
import { place } from "../route";
import { connection, loaded } from "../store";
import { AdaptersPage, GrimoiresPage } from "./catalogue";
import { Header } from "./header";
import { NewRun } from "./new-run";
import { Overview } from "./overview";
import { Sayings } from "./parts";
import { Rail } from "./rail";
import { SessionPage } from "./session";
import { Impostor, SignIn, Starting } from "./sign-in";

export function App() {
  switch (access.value) {
    case "starting":
      return <Starting />;
    case "out":
      return <><SignIn /><Sayings /></>;
    case "impostor":
      return <Impostor />;
    case "in":
      break;
  }
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to the content</a>
      <Header />
      {connection.value === "lost" && (
        <div class="lost" role="alert">
          The daemon does not answer{loaded.value ? "; what you see may be old" : ""}. The page tries again by itself. <code>coven daemon status</code> says more.
        </div>
      )}
      <div class="below">
        <Rail />
        <main id="main" tabIndex={-1}><Main /></main>
      </div>
      <Sayings />
    </div>
  );
}

function Main() {
  const at = place.value;
  useEffect(() => {
    document.getElementById("main")?.scrollTo({ top: 0 });
  }, [at.at, at.at === "session" ? at.id : ""]);
  switch (at.at) {
    case "overview":
      return <Overview />;
    case "session":
      return <SessionPage key={at.id} id={at.id} task={at.task} tab={at.tab} file={at.file ?? null} />;
    case "new":
      return <NewRun grimoire={at.grimoire} />;
    case "grimoires":
      return <GrimoiresPage name={at.name} />;
    case "adapters":
      return <AdaptersPage />;
  }
}
