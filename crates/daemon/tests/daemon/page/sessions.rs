//! The Sessions button, going on with a session, and looking back at one.

use coven_api::system::OpenBaseDir;
use coven_model::WorkflowStatus;
use serde_json::json;

use super::{at, signed_in};
use crate::support::{Home, until};

const GREET: &str = "name: greet\ndescription: x\nsteps:\n  - {name: say, type: script, command: echo hello, output: said}\n";

/// Spec: C1.17.1, C1.17.2
#[tokio::test]
async fn the_sessions_button_lists_recent_sessions_and_the_open_one_stands_out() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut ids = Vec::new();
    for goal in ["the first goal", "the second goal", "another matter"] {
        let mut start = daemon.definition(GREET);
        start.goal = Some(goal.to_owned());
        let id = daemon.start(&start).await.id.to_string();
        daemon.ends(&id, WorkflowStatus::Completed).await;
        ids.push(id);
    }
    let browser = signed_in(&daemon).await;
    assert_eq!(
        browser.js("return document.querySelector('.dropdown')", json!([])).await,
        json!(null)
    );
    browser.click("#sessions-button").await;
    browser
        .waits("three are listed", "document.querySelectorAll('.session-row').length === 3")
        .await;
    let first =
        browser.js("return document.querySelector('.session-row').innerText", json!([])).await;
    let first = first.as_str().unwrap();
    for part in ["another matter", "Completed", "base"] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert!(first.contains("ago") || first.contains("just now"), "its age in {first}");
    browser.fill(".filter input", "goal").await;
    browser.waits("two are left", "document.querySelectorAll('.session-row').length === 2").await;
    browser.click(&format!("[data-session=\"{}\"] .session-open", ids[0])).await;
    browser.waits("it is open", &format!("location.hash.includes({:?})", ids[0])).await;
    browser.click("#sessions-button").await;
    browser
        .waits("exactly the open one stands out", &format!(
            "document.querySelectorAll('.session-row.active').length === 1 && document.querySelector('.session-row.active').dataset.session === {:?}",
            ids[0]
        ))
        .await;
    // Deleting asks first.
    browser.click(&format!("[data-session=\"{}\"] button[aria-label^=Delete]", ids[1])).await;
    browser.press("Yes").await;
    browser
        .waits("it is gone", &format!("!document.querySelector('[data-session=\"{}\"]')", ids[1]))
        .await;
    assert!(daemon.client.workflow(&ids[1]).await.is_err());
}

/// A session that runs, one that waits for a person, and one that is over.
///
/// Spec: C1.17.2
#[tokio::test]
async fn running_blocked_and_finished_sessions_are_told_apart_in_the_list_as_they_change() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let begin = async |goal: &str, step: &str| {
        let text = format!("name: x\ndescription: x\nsteps:\n  - {step}\n");
        let mut start = daemon.definition(&text);
        start.goal = Some(goal.to_owned());
        daemon.start(&start).await.id.to_string()
    };
    let waits = "{name: a, type: script, command: 'until test -e go; do sleep 0.05; done'}";
    let runs = begin("the running one", waits).await;
    let asks = begin("the blocked one", "{name: a, type: gate, message: May it?}").await;
    let over = begin("the finished one", "{name: a, type: script, command: 'true'}").await;
    daemon.ends(&over, WorkflowStatus::Completed).await;
    daemon.asked(&asks).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&at(&runs)).await;
    browser.click("#sessions-button").await;

    let row = |id: &str| format!("document.querySelector('[data-session=\"{id}\"]')");
    let look = |id: &str, mark: &str, words: &str| {
        let row = row(id);
        format!("{row}?.querySelector('.mark-{mark}') && {row}.innerText.includes({words:?})")
    };
    browser.waits("it is seen to run", &look(&runs, "working", "Running")).await;
    browser.waits("it is seen to wait", &look(&asks, "needs", "Needs you")).await;
    browser.waits("it is seen to be over", &look(&over, "done", "Completed")).await;
    // The bar at the left is there for what runs or waits, and is another one for what is open.
    let bar = |id: &str| format!("getComputedStyle({}, '::before').backgroundColor", row(id));
    let bars = format!("return [{}, {}, {}]", bar(&runs), bar(&asks), bar(&over));
    let bars = browser.js(&bars, json!([])).await;
    assert_eq!(bars[2], "rgba(0, 0, 0, 0)", "none for what is over: {bars}");
    assert!(bars[0] != bars[1] && bars[1] != bars[2], "{bars}");
    let open = "[...document.querySelectorAll('.session-row')].filter((row) => row.querySelector('[aria-current=true]')).map((row) => row.dataset.session)";
    let open = browser.js(&format!("return {open}"), json!([])).await;
    assert_eq!(open, json!([runs]), "exactly the open one says so");
    assert!(
        browser
            .js(&format!("return {}.innerText", row(&runs)), json!([]))
            .await
            .as_str()
            .unwrap()
            .contains("open")
    );

    std::fs::write(home.base().join("go"), "").unwrap();
    browser.waits("its end is seen", &look(&runs, "done", "Completed")).await;
    browser
        .waits(
            "it does not count as running any more",
            &format!("!{}.classList.contains('alive')", row(&runs)),
        )
        .await;
    browser.waits("the other still waits", &look(&asks, "needs", "Needs you")).await;
}

#[tokio::test]
async fn a_session_that_does_not_run_goes_on_from_the_list() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(GREET);
    start.hold = true;
    start.goal = Some("waits for a word".to_owned());
    let id = daemon.start(&start).await.id.to_string();
    let browser = signed_in(&daemon).await;
    browser.click("#sessions-button").await;
    browser.sees("waits for a word").await;
    browser.press("Resume").await;
    daemon.ends(&id, WorkflowStatus::Completed).await;
    browser.waits("it is open", &format!("location.hash.includes({id:?})")).await;
    browser.sees("Completed").await;
}

#[tokio::test]
async fn a_finished_task_is_played_back_with_its_marks() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = json!({"id": "a", "adapter": "demo", "prompt": "say the very first words; think 1; say and the last ones; exit 0"});
    let id = daemon.stage(&[task]).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/a?tab=replay", at(&id))).await;
    browser
        .waits(
            "there are marks of what it did",
            "document.querySelectorAll('.replay-marks li').length > 0",
        )
        .await;
    let end = "Number(document.querySelector('.scrubber input').max)";
    let now = "Number(document.querySelector('.scrubber input').value)";
    browser.waits("it shows the end", &format!("{end} > 0 && {now} === {end}")).await;
    // The page itself keeps the moments it showed: looking from outside could miss them all.
    let script = format!(
        "window.moments = []; (function look() {{ window.moments.push({now}); requestAnimationFrame(look); }})()"
    );
    browser.js(&script, json!([])).await;
    browser.click("button[aria-label=Play]").await;
    browser
        .waits(
            "it plays from the beginning to the end",
            &format!(
                "window.moments.some((one) => one < {end} / 2) && window.moments.at(-1) === {end}"
            ),
        )
        .await;
    let back = "window.moments.findIndex((one) => one < window.moments[0])";
    browser
        .waits(
            "time only goes forward",
            &format!("window.moments.slice({back}).every((one, at, all) => at === 0 || one >= all[at - 1])"),
        )
        .await;
    browser.press("Output").await;
    browser.sees("the very first words").await;
    browser.press("Last screen").await;
    browser.waits("the screen is painted", "document.querySelector('.last-screen .xterm')").await;
}

#[tokio::test]
async fn a_headless_agent_is_read_as_a_transcript() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let task = json!({"id": "a", "adapter": "demo", "executionMode": "headless", "prompt": "say I look first.; approve echo looked; say All is well.; cost 0.25"});
    let id = daemon.stage(&[task]).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/a", at(&id))).await;
    browser.sees("I look first.").await;
    browser.waits("its tool is shown", "document.querySelector('.entry-tool')").await;
    let folded = "document.querySelector('.entry-tool details').open === false";
    browser.waits("its card is folded", folded).await;
    browser.sees("$0.25").await;
}

#[tokio::test]
async fn what_an_agent_writes_is_markdown_and_never_markup() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let say = "say # Findings\\n\\n- **one** [docs](https://docs.example/x)\\n- [run](javascript:window.hacked=1)\\n\\n![pixel](https://pixel.example/p.png) <img src=x onerror='window.hacked=1'><b>bold</b>; write notes.txt first line";
    let task = json!({"id": "a", "adapter": "demo", "executionMode": "headless", "permissions": "all", "prompt": say});
    let id = daemon.stage(&[task]).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}/a", at(&id))).await;
    browser
        .waits("lists are lists", "document.querySelectorAll('.markdown li').length === 2")
        .await;
    browser.sees("https://docs.example/x").await;
    browser.sees("<b>bold</b>").await;
    let links = "JSON.stringify([...document.querySelectorAll('.markdown a')].map((one) => one.href)) === '[\"https://docs.example/x\",\"https://pixel.example/p.png\"]'";
    browser.waits("links lead to the web only", links).await;
    let nothing = "document.querySelectorAll('.transcript img, .transcript b, .transcript iframe').length === 0 && window.hacked === undefined";
    browser.waits("nothing of it is markup", nothing).await;
    browser.waits("its change is shown", "document.querySelector('.diff-line.is-added')").await;
}

#[tokio::test]
async fn a_failed_run_shows_why_and_is_tried_again() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let text = "name: failing\ndescription: x\nsteps:\n  - {name: look, type: script, command: cat missing.txt}\n";
    let id = daemon.start(&daemon.definition(text)).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Failed).await;
    let browser = signed_in(&daemon).await;
    browser.visit(&format!("{}?tab=errors", at(&id))).await;
    browser.waits("the error is told", "document.querySelector('.errors pre')").await;
    std::fs::write(home.base().join("missing.txt"), "here").unwrap();
    browser.press("Retry").await;
    until("it is done", || async {
        let workflow = daemon.client.workflow(&id).await.unwrap();
        (workflow.item.status == WorkflowStatus::Completed).then_some(())
    })
    .await;
    browser.sees("Completed").await;
}

#[tokio::test]
async fn a_foreign_session_stands_apart_and_can_only_be_read() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let mut start = daemon.definition(GREET);
    start.goal = Some("made elsewhere".to_owned());
    let id = daemon.start(&start).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let moved = home.path().join("moved");
    daemon.stop().await;
    std::fs::rename(home.base(), &moved).unwrap();
    std::fs::create_dir(home.path().join("base")).unwrap();
    let daemon = home.daemon().await;
    let open = OpenBaseDir { base_dir: moved.display().to_string() };
    daemon.client.open_base_dir(&open).await.unwrap();
    let browser = signed_in(&daemon).await;
    let group = "document.querySelector('.rail-group[aria-label=Foreign]')?.innerText";
    browser.waits("it stands apart", &format!("{group}?.includes('made elsewhere')")).await;
    browser.click("#sessions-button").await;
    browser.waits("it is listed", "document.querySelector('.session-row')").await;
    let buttons = "document.querySelectorAll('.session-row button').length === 0";
    browser.waits("nothing can be done with it from the list", buttons).await;
    browser.visit(&format!("#/session/{id}")).await;
    browser.sees("You did not make this session in this folder").await;
    browser.sees("say").await;
    let actions = "document.querySelector('.session-head .session-actions') === null";
    browser.waits("nor where it is shown", actions).await;
}

#[tokio::test]
async fn a_damaged_session_says_so_in_the_list_and_why_where_it_is_shown() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = daemon.start(&daemon.definition(GREET)).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    daemon.stop().await;
    let journal = home.base().join(".coven/sessions").join(&id).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{}\n", text.lines().next().unwrap())).unwrap();
    let daemon = home.daemon().await;
    let open = OpenBaseDir { base_dir: home.base().display().to_string() };
    daemon.client.open_base_dir(&open).await.unwrap();
    let browser = signed_in(&daemon).await;
    browser.click("#sessions-button").await;
    let row = "document.querySelector('.session-row')?.innerText";
    browser.waits("the list says so", &format!("{row}?.includes('Damaged')")).await;
    let badge = "document.querySelector('.run .badge')?.innerText";
    browser.waits("the overview says so", &format!("{badge}?.includes('Damaged')")).await;
    browser.visit(&format!("#/session/{id}")).await;
    browser.sees("The session is damaged").await;
    browser.sees("its end was cut off").await;
    // Nothing was removed: with its journal it is there again.
    std::fs::write(&journal, text).unwrap();
    assert_eq!(daemon.client.workflow(&id).await.unwrap().item.status, WorkflowStatus::Completed);
}
