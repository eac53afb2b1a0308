//! Opening the page: how much is fetched, and how long it takes until it answers.

use serde_json::{Value, json};

use super::super::browser::Browser;

/// Bytes that are fetched, as they are and compressed.
pub(super) struct Size {
    /// To show the page.
    pub(super) page: (u64, u64),
    /// To show the first terminal as well.
    pub(super) terminal: (u64, u64),
}

/// Milliseconds since the browser began to open the page, for each round.
#[derive(Default)]
pub(super) struct Times {
    pub(super) drawn: Vec<f64>,
    /// Every agent is listed.
    pub(super) listed: Vec<f64>,
    /// A click on the last of them, at once, has brought up its task.
    pub(super) answered: Vec<f64>,
    /// Its terminal shows its screen, and takes keys.
    pub(super) attached: Vec<f64>,
    /// The same with nothing kept by the browser: every agent is listed.
    pub(super) listed_cold: Vec<f64>,
}

/// Runs in the page before anything else: looks in every frame at how far it has come, and clicks.
const WATCHING: &str = "(() => {
    const marks = {};
    window.marks = marks;
    const look = () => {
        const rows = document.querySelectorAll('.rail-agent');
        if (marks.listed === undefined && rows.length >= WANTED) {
            marks.listed = performance.now();
            const last = rows[rows.length - 1];
            marks.to = last.getAttribute('href');
            last.click();
        }
        if (marks.answered === undefined && location.hash === marks.to && document.querySelector('.task-head h2'))
            marks.answered = performance.now();
        if (marks.answered !== undefined && document.querySelector('.terminal-state')?.innerText === 'You have the keyboard')
            marks.attached = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})()";

/// Opens the page several times while so many agents are alive.
pub(super) async fn times(browser: &Browser, agents: usize, rounds: usize) -> Times {
    let source = WATCHING.replace("WANTED", &agents.to_string());
    let added =
        browser.own("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
    let mut times = Times::default();
    for cold in [false, true] {
        browser.own("Network.enable", json!({})).await;
        browser.own("Network.setCacheDisabled", json!({ "cacheDisabled": cold })).await;
        // The first time does not count: the browser learns the program.
        for round in 0..=rounds {
            browser.visit("#/").await;
            browser.reload().await;
            browser.waits("it has answered", "window.marks.attached").await;
            if round == 0 {
                continue;
            }
            let marks = browser
                .js("return { ...window.marks, drawn: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0 }", json!([]))
                .await;
            let mark = |name: &str| marks[name].as_f64().unwrap();
            if cold {
                times.listed_cold.push(mark("listed"));
            } else {
                times.drawn.push(mark("drawn"));
                times.listed.push(mark("listed"));
                times.answered.push(mark("answered"));
                times.attached.push(mark("attached"));
            }
        }
    }
    browser.own("Network.setCacheDisabled", json!({ "cacheDisabled": false })).await;
    let added = json!({ "identifier": added["identifier"] });
    browser.own("Page.removeScriptToEvaluateOnNewDocument", added).await;
    times
}

/// Fetches again what the page has fetched of itself, and compresses it.
const WEIGHING: &str = "
    const own = [location.origin + '/', ...performance.getEntriesByType('resource')
        .map((one) => one.name.split('#')[0])
        .filter((name) => /\\.(js|css|svg)$/.test(new URL(name).pathname))];
    const weights = {};
    for (const name of new Set(own)) {
        const body = await (await fetch(name)).blob();
        const packed = await new Response(body.stream().pipeThrough(new CompressionStream('gzip'))).blob();
        weights[new URL(name).pathname] = [body.size, packed.size];
    }
    return weights;";

/// What is fetched for the page, and with its first terminal.
pub(super) async fn size(browser: &Browser) -> Size {
    browser.visit("#/").await;
    browser.reload().await;
    browser.waits("it is drawn", "document.querySelector('.rail-agent')").await;
    let page = sum(&browser.js_later(WEIGHING).await);
    browser.js("document.querySelector('.rail-agent').click()", json!([])).await;
    browser.sees("You have the keyboard").await;
    let terminal = sum(&browser.js_later(WEIGHING).await);
    Size { page, terminal }
}

fn sum(weights: &Value) -> (u64, u64) {
    let weights = weights.as_object().unwrap();
    let all = |at: usize| weights.values().map(|pair| pair[at].as_u64().unwrap()).sum();
    (all(0), all(1))
}
