//! Changes, reviews, trees and landing on the page, with demo agents that run. What is asked about
//! trees is answered in the page, so that every answer can be had: conflicts, thousands of files,
//! links, characters that turn the direction of text.

use serde_json::json;

use super::access::barriers;
use super::browser::{Browser, key};
use super::{at, signed_in};
use crate::support::{Daemon, Home};

/// Three agents at work beside each other.
const FAN_OUT: &str = "
name: fan-out
description: x
steps:
  - {name: plan, type: agent, adapter: demo, mode: headless, prompt: 'json [\"a\", \"b\", \"c\"]', expect: json, output: tasks}
  - {name: build, type: parallel-agents, for_each: '${tasks}', adapter: demo, mode: interactive, max_concurrent: 3, prompt: think 600}
";

/// The answers that are made up, as a script.
fn made_up() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dev/mock-trees.mjs");
    std::fs::read_to_string(path).unwrap().replace("export function", "function")
}

/// Lets the page have trees. Gone after a reload.
async fn with_trees(browser: &Browser) {
    browser.js(&format!("{}\n{}", made_up(), include_str!("changes.js")), json!([])).await;
}

async fn working(daemon: &Daemon<'_>) -> String {
    let id = daemon.start(&daemon.definition(FAN_OUT)).await.id.to_string();
    daemon.see(&id, |workflow| workflow.tasks.iter().filter(|task| task.live).count() == 3).await;
    id
}

/// The changes of one of the tasks, with the keyboard on them.
async fn opened(browser: &Browser, id: &str, task: &str) {
    browser.visit(&format!("{}/{task}?tab=changes", at(id))).await;
    browser.waits("lines are shown", "document.querySelector('.diff-grid [data-cell]')").await;
    focus(browser).await;
}

async fn focus(browser: &Browser) {
    browser.js("document.querySelector('.changes').focus()", json!([])).await;
}

async fn posted(browser: &Browser, path: &str) -> serde_json::Value {
    let script =
        "return window.posted.filter((one) => one.path === arguments[0]).map((one) => one.body)";
    browser.js(script, json!([path])).await
}

#[tokio::test]
async fn comments_made_by_key_and_mouse_outlive_a_reload_and_go_as_one_message() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    opened(&browser, &id, "build.1").await;
    // By key: the cursor begins at the first line that differs.
    browser.types("c").await;
    browser
        .waits("it can be written", "document.activeElement.matches('.comment-form textarea')")
        .await;
    browser.types("Why remove it?").await;
    browser.chord(key::CONTROL, key::ENTER).await;
    browser.waits("it is kept", "document.querySelectorAll('.diff-grid .draft-comment').length === 1 && !document.querySelector('.comment-form')").await;
    browser
        .waits("the keyboard is back at the line", "document.activeElement.dataset.cell === '5'")
        .await;
    // By mouse: from one number to another.
    let press =
        "const of = (at) => [...document.querySelectorAll(`.diff-number[data-at='${at}']`)].at(-1);
        of(arguments[0]).dispatchEvent(new MouseEvent('mousedown', { bubbles: true, button: 0 }));
        of(arguments[1]).dispatchEvent(new MouseEvent('mouseup', { bubbles: true, button: 0 }));";
    browser.js(press, json!([7, 8])).await;
    browser.fill(".comment-form textarea", "Derive Hash too.").await;
    browser.click(".comment-form [type=submit]").await;
    browser.sees("Comment on lines 6 to 7").await;
    assert_eq!(posted(&browser, "tasks/build.1/review").await, json!([]));

    browser.visit("#/").await;
    browser.reload().await;
    browser.sees("Connected").await;
    with_trees(&browser).await;
    opened(&browser, &id, "build.1").await;
    browser
        .waits(
            "both are there",
            "document.querySelectorAll('.diff-grid .draft-comment').length === 2",
        )
        .await;
    browser.types("s").await;
    browser.waits("it is asked", "document.querySelector('dialog[open]')").await;
    browser
        .waits("the keyboard is in it", "document.activeElement.matches('dialog textarea')")
        .await;
    browser.types("Nearly.").await;
    browser.press("Show the message").await;
    browser.sees("The message, as the agent gets it").await;
    browser.chord(key::CONTROL, key::ENTER).await;
    browser.sees("Attempt 2 begins with the review.").await;
    browser.waits("nothing is left to send", "!document.querySelector('.draft-comment') && !Object.keys(localStorage).some((one) => one.startsWith('coven.review'))").await;
    let sent = posted(&browser, "tasks/build.1/review").await;
    assert_eq!(sent[0]["send"], false, "{sent:#}");
    assert_eq!(
        sent[1],
        json!({
            "comments": [
                {"path": "crates/store/src/retention.rs", "side": "old", "line": 6, "text": "Why remove it?"},
                {"path": "crates/store/src/retention.rs", "side": "new", "line": 6, "endLine": 7, "text": "Derive Hash too."},
            ],
            "against": "base", "head": "b".repeat(40), "summary": "Nearly.", "send": true,
        }),
    );
    assert_eq!(sent.as_array().unwrap().len(), 2);
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_review_that_is_refused_says_why_and_what_to_do_and_stays() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    let refuse = "window.special = (path) => path.endsWith('/review') ? { type: '', title: 'Not now', status: 409, code: 'not-now', detail: 'The agent has a question open.', hint: 'Answer it first.' } : undefined";
    browser.js(refuse, json!([])).await;
    opened(&browser, &id, "build.1").await;
    browser.types("c").await;
    browser.fill(".comment-form textarea", "Why?").await;
    browser.click(".comment-form [type=submit]").await;
    browser.waits("it is kept", "document.querySelector('.comment-text')").await;
    focus(&browser).await;
    browser.types("s").await;
    browser.click("dialog [type=submit]").await;
    browser.sees("The agent has a question open.").await;
    browser.sees("Answer it first.").await;
    browser.types(key::ESCAPE).await;
    browser.waits("it is closed", "!document.querySelector('dialog')").await;
    browser
        .waits("the keyboard is back", "document.activeElement.matches('.changes, .changes *')")
        .await;
    assert_eq!(
        browser.js("return document.querySelectorAll('.comment-text').length", json!([])).await,
        1
    );
}

#[tokio::test]
async fn a_comment_whose_lines_have_changed_since_is_said_to_be_outdated() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    opened(&browser, &id, "build.1").await;
    browser.js("const cell = [...document.querySelectorAll('.diff-number[data-at=\"10\"]')].at(-1);
        for (const kind of ['mousedown', 'mouseup']) cell.dispatchEvent(new MouseEvent(kind, { bubbles: true, button: 0 }));", json!([])).await;
    browser.fill(".comment-form textarea", "Why an option?").await;
    browser.click(".comment-form [type=submit]").await;
    browser.waits("it is kept", "document.querySelector('.comment-text')").await;
    // The file is another one when it is asked for again, first with the line at another place.
    let script = |lines: &str| {
        format!(
            "{}\nwindow.special = (path, query) => {{
                const told = treeAnswer({{ id: 'x', name: 'x' }}, path, query, {{}}, false);
                if (told?.head) told.head = String({lines:?}.length).padEnd(40, '0');
                if (told?.hunks) told.hunks = [{{ oldStart: 1, newStart: 1, lines: {lines:?}.split('|').map((t, at) => ({{ k: '+', n: at + 1, t }})) }}];
                return told;
            }}",
            made_up()
        )
    };
    browser.js(&script("x|    days: Option<u32>,|y"), json!([])).await;
    browser.press("Reload").await;
    browser.sees("Comment on line 2").await;
    assert!(!browser.text().await.contains("outdated"));
    browser.js(&script("x|days: u64|y"), json!([])).await;
    browser.press("Reload").await;
    browser.sees("outdated").await;
    browser
        .waits(
            "what it was about is shown",
            "document.querySelector('.comment-quote').innerText.includes('days: Option<u32>')",
        )
        .await;
}

#[tokio::test]
async fn what_the_lines_do_not_show_is_said_of_a_file() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    opened(&browser, &id, "build.1").await;
    let expected = [
        ("crates/store/src/retention.rs", "turn the direction of text"),
        ("crates/store/src/journal/segments.rs", "crates/store/src/segments.rs"),
        ("crates/store/tests/fixtures/old.journal", "It is not text"),
        ("scripts/check.sh", "Its mode was 100644 and is 100755 now: it can be executed."),
        ("fixtures/large.json", "larger than 512 KiB"),
        ("current", "A symbolic link."),
        ("vendor/grammar", "Another repository."),
    ];
    for (path, words) in expected {
        browser.click(&format!("[data-path={path:?}]")).await;
        let said =
            format!("document.querySelector('.changed-lines').innerText.includes({words:?})");
        browser.waits(words, &said).await;
    }
    // The name of a file that would turn the direction of text stands there as git quotes it.
    browser.sees("\"src/\\342\\200\\256name.rs\"").await;
    browser.click("[data-path=\"crates/store/src/retention.rs\"]").await;
    browser
        .waits(
            "the character stands out",
            "document.querySelector('.diff-grid mark.unseen-character')?.innerText === '⟨U+202E⟩'",
        )
        .await;
    browser.waits("code has colours", "document.querySelector('.diff-grid .code-keyword')").await;
    browser.sees("no line break at the end of the file").await;
    // Other tasks of the run that change the same file.
    browser.sees("Also changed by build.0, build.2").await;
    browser
        .js("[...document.querySelectorAll('.changed-lines .notice a')].at(-1).click()", json!([]))
        .await;
    browser
        .waits(
            "it is the other task's",
            "location.hash.includes('/build.2?tab=changes&file=crates')",
        )
        .await;
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn thousands_of_files_and_lines_are_drawn_in_part_and_found() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    browser.js("window.many = true", json!([])).await;
    opened(&browser, &id, "build.1").await;
    browser.sees("5000 files").await;
    browser.sees("17 more files are not listed").await;
    assert_eq!(
        browser.js("return document.querySelectorAll('.changed-file').length", json!([])).await,
        400
    );
    browser.press("Show 400 more of 5000 files").await;
    browser
        .waits("more are listed", "document.querySelectorAll('.changed-file').length === 800")
        .await;
    browser.fill(".changed-filter input", "part-4999").await;
    browser.waits("it is found", "document.querySelectorAll('.changed-file').length === 1").await;
    // The keyboard goes from file to file without the mouse.
    browser.fill(".changed-filter input", "").await;
    focus(&browser).await;
    let chosen = |path: &str| {
        format!("document.querySelector('.changed-head h3').innerText.includes({path:?})")
    };
    browser.types("nn").await;
    browser.waits("the third is shown", &chosen("part-0002.rs")).await;
    browser.types("p").await;
    browser.waits("the second is shown", &chosen("part-0001.rs")).await;

    browser.js("window.many = false", json!([])).await;
    browser
        .visit(&format!(
            "{}/build.2?tab=changes&file=crates%2Fstore%2Fsrc%2Fjournal%2Fcompaction.rs",
            at(&id)
        ))
        .await;
    browser.sees("4500 lines are not drawn yet").await;
    browser.sees("more characters").await;
    assert_eq!(
        browser.js("return document.querySelectorAll('.diff-row').length", json!([])).await,
        1500
    );
    browser.press("Show 3000 more lines").await;
    browser.waits("they are drawn", "document.querySelectorAll('.diff-row').length === 4500").await;
}

#[tokio::test]
async fn landing_says_what_would_happen_before_anything_does() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    browser.visit(&format!("{}?tab=trees", at(&id))).await;
    browser.sees("conflicts with coven/brisk-otter").await;
    browser.sees("it has commits that are not landed").await;
    let land = |tree: &str| format!("[data-tree={tree:?}] .tree-actions button");
    browser.click(&land("build.2")).await;
    browser.sees("Both changed 2 files, and nothing was touched").await;
    browser.sees("docs/retention.md").await;
    let disabled = "return document.querySelector('dialog [type=submit]').disabled";
    assert_eq!(browser.js(disabled, json!([])).await, true);
    browser.types(key::ESCAPE).await;
    browser.waits("it is closed", "!document.querySelector('dialog')").await;

    browser.click(&land("@run")).await;
    browser.sees("main is checked out with changes that are not committed.").await;
    browser.sees("4 files are changed in").await;
    assert_eq!(browser.js(disabled, json!([])).await, true);
    // Another mode is asked about anew, and only then can it be landed.
    browser.js("document.querySelectorAll('dialog [type=radio]')[1].click()", json!([])).await;
    browser.sees("3 commits can be landed on main").await;
    browser.sees("1 file of the tree is in no commit").await;
    let asked = posted(&browser, "merge").await;
    assert!(asked.as_array().unwrap().iter().all(|one| one["dryRun"] == true), "{asked}");
    browser.click("dialog [type=submit]").await;
    browser.sees("Landed: main is at dddddddddd now").await;
    let asked = posted(&browser, "merge").await;
    let done: Vec<_> =
        asked.as_array().unwrap().iter().filter(|one| one["dryRun"] == false).collect();
    assert_eq!(done, [&json!({"task": "@run", "mode": "squash", "dryRun": false})]);
    assert_eq!(browser.complaints().await, [""; 0]);
}

#[tokio::test]
async fn agents_that_write_in_one_folder_are_named() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    let sharing = json!({"folder": "/home/ada/code", "agents": [
        {"workflow": id, "workflowName": "x", "task": "build.0", "adapter": "demo"},
        {"workflow": id, "workflowName": "x", "task": "build.1", "adapter": "demo"},
    ]});
    browser.js("window.sharing = arguments[0]", json!([sharing])).await;
    browser.visit(&at(&id)).await;
    browser.sees("2 agents write in one folder").await;
    browser.waits("they can be opened", "[...document.querySelectorAll('.notice a')].some((one) => one.hash.endsWith('/build.1'))").await;
    browser.visit("#/").await;
    browser.waits("the list says so", "document.querySelector('.run .chip-needs')?.innerText.includes('2 agents write in one folder')").await;
}

#[tokio::test]
async fn changes_and_trees_have_no_serious_barrier_and_fit_every_width() {
    let home = Home::new();
    let daemon = home.daemon().await;
    let id = working(&daemon).await;
    let browser = signed_in(&daemon).await;
    with_trees(&browser).await;
    let mut found = Vec::new();
    for scheme in ["dark", "light"] {
        browser.prefers(scheme).await;
        opened(&browser, &id, "build.1").await;
        browser.waits("code has colours", "document.querySelector('.code-keyword')").await;
        browser.types("c").await;
        browser.waits("it can be written", "document.querySelector('.comment-form')").await;
        found.extend(barriers(&browser, &format!("one column, {scheme}")).await);
        browser.types(key::ESCAPE).await;
        browser.press("Side by side").await;
        browser.waits("two columns", "document.querySelector('.diff-split')").await;
        found.extend(barriers(&browser, &format!("two columns, {scheme}")).await);
        browser.press("Unified").await;
        browser.press("Land…").await;
        browser.waits("it is said", "document.querySelector('.merge-answer .notice')").await;
        found.extend(barriers(&browser, &format!("landing, {scheme}")).await);
        browser.types(key::ESCAPE).await;
        browser.visit(&format!("{}?tab=trees", at(&id))).await;
        browser.waits("trees", "document.querySelector('.tree-item')").await;
        found.extend(barriers(&browser, &format!("trees, {scheme}")).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
    for (width, height) in [(360, 740), (768, 1024), (1440, 900), (3840, 2160)] {
        browser.resize(width, height).await;
        for (place, there) in [
            (format!("{}/build.1?tab=changes", at(&id)), ".diff-grid"),
            (format!("{}?tab=changes", at(&id)), ".diff-grid"),
            (format!("{}?tab=trees", at(&id)), ".tree-item"),
        ] {
            browser.visit(&place).await;
            browser.waits("it is drawn", &format!("document.querySelector({there:?})")).await;
            let over = browser.js("const main = document.querySelector('main'); const root = document.documentElement; return Math.max(root.scrollWidth - innerWidth, root.scrollHeight - innerHeight, main.scrollWidth - main.clientWidth)", json!([])).await;
            assert!(over.as_i64().unwrap() <= 0, "{place} at {width}: {over} pixels too large");
        }
    }
}
