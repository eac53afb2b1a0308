//! A browser to test with: Chromium through its driver, spoken to in plain `WebDriver`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use coven_runtime::processes;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Request, Server};

/// A browser is many processes; where a whole workspace is built beside it, each of its steps may
/// take seconds. Only a failure waits for this long.
const PAGE_TIMEOUT: Duration = Duration::from_secs(150);

/// How often the page is looked at.
const PAGE_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Keys that are no letters, as `WebDriver` writes them.
pub(super) mod key {
    pub(crate) const TAB: &str = "\u{e004}";
    pub(crate) const ENTER: &str = "\u{e007}";
    pub(crate) const ESCAPE: &str = "\u{e00c}";
    pub(crate) const CONTROL: &str = "\u{e009}";
    pub(crate) const SHIFT: &str = "\u{e008}";
}

/// One window of one browser, with a profile of its own.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Goes with the window.
    profile: TempDir,
}

impl Browser {
    /// Starts the driver and a window of this size.
    pub(super) async fn open(width: u32, height: u32) -> Self {
        let profile = tempfile::Builder::new().prefix("coven-browser-").tempdir().unwrap();
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is needed: `cargo xtask test` installs it, or install Chromium and its driver");
        let port = port_of(&mut driver);
        let mut browser = Self { driver, port, session: String::new(), profile };
        // Root cannot have the browser's own sandbox, and most machines that test have no more.
        let sandbox = std::env::var_os("COVEN_BROWSER_SANDBOX").is_some();
        let arguments = [
            "--headless=new".to_owned(),
            if sandbox { "--disable-gpu" } else { "--no-sandbox" }.to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-breakpad".to_owned(),
            "--hide-scrollbars".to_owned(),
            "--force-color-profile=srgb".to_owned(),
            format!("--window-size={width},{height}"),
            format!("--user-data-dir={}", browser.profile.path().join("profile").display()),
        ];
        let wishes = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
        }}});
        let made = browser.call("POST", "/session", Some(wishes)).await;
        browser.session = made["sessionId"].as_str().unwrap().to_owned();
        let patience = u64::try_from(PAGE_TIMEOUT.as_millis()).unwrap();
        let timeouts = json!({ "script": patience, "pageLoad": patience });
        browser.call("POST", "/timeouts", Some(timeouts)).await;
        browser.resize(width, height).await;
        browser
    }

    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        self.try_call(method, path, body).await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    async fn try_call(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, String> {
        let path = if path == "/session" {
            path.to_owned()
        } else {
            format!("/session/{}{path}", self.session)
        };
        let server = Server::Tcp((Ipv4Addr::LOCALHOST, self.port).into());
        let mut request = Request::new(server, method, &path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.map_err(|error| error.to_string())?;
        let ok = response.status().is_success();
        let mut answer: Value = response.json().await.map_err(|error| error.to_string())?;
        let value = answer["value"].take();
        if ok { Ok(value) } else { Err(value["message"].to_string()) }
    }

    pub(super) async fn go(&self, url: &str) {
        self.call("POST", "/url", Some(json!({ "url": url }))).await;
    }

    /// Goes to another place of the page, by its fragment.
    pub(super) async fn visit(&self, fragment: &str) {
        self.js("location.hash = arguments[0]", json!([fragment])).await;
    }

    /// Runs a script in the page.
    pub(crate) async fn js(&self, script: &str, args: Value) -> Value {
        let body = json!({ "script": script, "args": args });
        self.call("POST", "/execute/sync", Some(body)).await
    }

    /// Runs a script that gives a promise, and waits for it.
    pub(super) async fn js_later(&self, script: &str) -> Value {
        let script = format!(
            "const done = arguments[arguments.length - 1]; (async () => {{ {script} }})()\
             .then(done, (error) => done({{ error: String(error) }}));"
        );
        let body = json!({ "script": script, "args": [] });
        self.call("POST", "/execute/async", Some(body)).await
    }

    /// Waits until an expression of the page is true.
    pub(super) async fn waits(&self, what: &str, expression: &str) {
        let script = format!("return Boolean({expression})");
        let mut glances = tokio::time::interval(PAGE_POLL_INTERVAL);
        let end = Instant::now() + PAGE_TIMEOUT;
        while Instant::now() < end {
            glances.tick().await;
            let body = json!({ "script": script, "args": [] });
            let so = self.try_call("POST", "/execute/sync", Some(body)).await;
            if so == Ok(Value::Bool(true)) {
                return;
            }
        }
        let text = self.text().await;
        let complaints = self.complaints().await;
        panic!("the page never showed that {what}; it shows:\n{text}\n{complaints:?}");
    }

    /// Waits until the page shows a text.
    pub(super) async fn sees(&self, text: &str) {
        let wanted = Value::from(text).to_string();
        self.waits(
            &format!("it says {text:?}"),
            &format!("document.body.innerText.includes({wanted})"),
        )
        .await;
    }

    /// Waits until the page no longer shows a text.
    pub(super) async fn sees_no(&self, text: &str) {
        let wanted = Value::from(text).to_string();
        self.waits(
            &format!("{text:?} is gone"),
            &format!("!document.body.innerText.includes({wanted})"),
        )
        .await;
    }

    pub(super) async fn text(&self) -> String {
        self.js("return document.body.innerText", json!([])).await.as_str().unwrap_or("").to_owned()
    }

    /// Waits for an element and gives its reference.
    async fn element(&self, css: &str) -> String {
        self.waits(
            &format!("there is {css}"),
            &format!("document.querySelector({})", Value::from(css)),
        )
        .await;
        let body = json!({ "using": "css selector", "value": css });
        let found = self.call("POST", "/element", Some(body)).await;
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    /// Clicks what a selector names, once it is there, may be clicked and does not move.
    pub(super) async fn click(&self, css: &str) {
        self.waits(
            &format!("{css} can be clicked"),
            &format!(
                "(() => {{ const one = document.querySelector({}); return one && !one.disabled && one.getAttribute('aria-disabled') !== 'true'; }})()",
                Value::from(css)
            ),
        )
        .await;
        let element = self.element(css).await;
        self.call("POST", &format!("/element/{element}/click"), Some(json!({}))).await;
    }

    /// Clicks the button or link with this text.
    pub(super) async fn press(&self, text: &str) {
        let wanted = Value::from(text).to_string();
        let find = format!(
            "[...document.querySelectorAll('button, a.button, [role=tab]')].find((one) => one.innerText.trim().startsWith({wanted}) && !one.disabled && one.getAttribute('aria-disabled') !== 'true')"
        );
        self.waits(&format!("there is a button {text:?}"), &find).await;
        self.js(&format!("{find}.click()"), json!([])).await;
    }

    /// Puts a text into a field, as if it had been typed.
    pub(super) async fn fill(&self, css: &str, text: &str) {
        self.element(css).await;
        let script = "const one = document.querySelector(arguments[0]);
            const kind = one.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement;
            Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(one, arguments[1]);
            one.dispatchEvent(new Event('input', { bubbles: true }));";
        self.js(script, json!([css, text])).await;
    }

    /// Presses keys, one after the other, wherever the keyboard is.
    pub(super) async fn types(&self, text: &str) {
        let actions: Vec<Value> = text
            .chars()
            .flat_map(|letter| {
                let value = letter.to_string();
                [
                    json!({"type": "keyDown", "value": value}),
                    json!({"type": "keyUp", "value": value}),
                ]
            })
            .collect();
        self.actions(actions).await;
    }

    /// Presses a key while another is held.
    pub(super) async fn chord(&self, held: &str, letter: &str) {
        self.actions(vec![
            json!({"type": "keyDown", "value": held}),
            json!({"type": "keyDown", "value": letter}),
            json!({"type": "keyUp", "value": letter}),
            json!({"type": "keyUp", "value": held}),
        ])
        .await;
    }

    async fn actions(&self, actions: Vec<Value>) {
        let body = json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]});
        self.call("POST", "/actions", Some(body)).await;
    }

    /// Moves the mouse to a place of the page and clicks there.
    pub(super) async fn click_at(&self, x: f64, y: f64) {
        let to = |x: f64| x.round() as i64;
        let moved = json!({"type": "pointerMove", "duration": 0, "x": to(x), "y": to(y)});
        // A program that looks for links under the mouse sees it arrive and then move.
        let nudged = json!({"type": "pointerMove", "duration": 50, "x": to(x) + 1, "y": to(y)});
        let body = json!({"actions": [{"type": "pointer", "id": "mouse", "actions": [
            moved, nudged,
            {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0},
        ]}]});
        self.call("POST", "/actions", Some(body)).await;
    }

    /// Chooses a file in a field for files.
    pub(super) async fn upload(&self, css: &str, file: &Path) {
        let element = self.element(css).await;
        let body = json!({ "text": file.display().to_string() });
        self.call("POST", &format!("/element/{element}/value"), Some(body)).await;
    }

    /// Allows the page something that browsers ask people about.
    pub(super) async fn allow(&self, permission: &str) {
        let body = json!({"descriptor": {"name": permission}, "state": "granted"});
        self.call("POST", "/permissions", Some(body)).await;
    }

    pub(super) async fn reload(&self) {
        self.call("POST", "/refresh", Some(json!({}))).await;
    }

    /// Opens another tab, in front of the others, and goes on in it.
    pub(super) async fn tab(&self) -> String {
        let made = self.call("POST", "/window/new", Some(json!({"type": "tab"}))).await;
        let handle = made["handle"].as_str().unwrap().to_owned();
        self.turn_to(&handle).await;
        handle
    }

    /// Goes on in another tab, which stays where it is: hidden, unless it is in front.
    pub(super) async fn turn_to(&self, handle: &str) {
        self.call("POST", "/window", Some(json!({ "handle": handle }))).await;
    }

    pub(super) async fn this_tab(&self) -> String {
        self.call("GET", "/window", None).await.as_str().unwrap().to_owned()
    }

    pub(super) async fn close_tab(&self) {
        self.call("DELETE", "/window", None).await;
    }

    /// Memory that the processes of this browser's pages have for themselves, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let told = |pid: u32, what: &str| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let value = status.lines().find_map(|line| line.strip_prefix(what))?.trim();
            value.split_whitespace().next()?.parse::<u32>().ok()
        };
        let is_mine = |pid: &u32| {
            let parents = std::iter::successors(Some(*pid), |pid| told(*pid, "PPid:"));
            parents.take(16).any(|parent| parent == self.driver.id())
        };
        let shows_a_page = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("--type=renderer")
        };
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| shows_a_page(pid) && is_mine(pid))
            .filter_map(|pid| told(pid, "RssAnon:"))
            .map(|kib| u64::from(kib) * 1024)
            .sum()
    }

    /// A command of the browser's own protocol.
    pub(super) async fn own(&self, command: &str, params: Value) -> Value {
        let body = json!({ "cmd": command, "params": params });
        self.call("POST", "/goog/cdp/execute", Some(body)).await
    }

    pub(super) async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.own("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Lets the system prefer dark or light.
    pub(super) async fn prefers(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.own("Emulation.setEmulatedMedia", features).await;
    }

    pub(super) async fn screenshot(&self, path: &Path) {
        let shot = self.call("GET", "/screenshot", None).await;
        std::fs::write(path, BASE64_STANDARD.decode(shot.as_str().unwrap()).unwrap()).unwrap();
    }

    /// What the browser complained about since it was asked last, without talk about graphics and
    /// about a machine that has other things to do.
    pub(super) async fn complaints(&self) -> Vec<String> {
        let log = self.call("POST", "/se/log", Some(json!({"type": "browser"}))).await;
        let messages = log.as_array().cloned().unwrap_or_default();
        messages
            .iter()
            .filter(|entry| entry["level"] != "INFO" && entry["level"] != "DEBUG")
            .filter_map(|entry| entry["message"].as_str().map(str::to_owned))
            .filter(|message| !message.contains("WebGL") && !message.contains("GL Driver"))
            .filter(|message| !message.contains("task queue exceeded allotted deadline"))
            .collect()
    }
}

/// The port that the driver says it listens on.
fn port_of(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| {
            line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse().ok()
        })
        .expect("the driver says its port");
    // It says little more, but must never find the pipe full.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    port
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ending the session ends the browser; without it the browser would outlive its driver.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let request = format!(
                "DELETE /session/{} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
                self.session, self.port
            );
            stream.set_read_timeout(Some(Duration::from_secs(20))).ok();
            if stream.write_all(request.as_bytes()).is_ok() {
                // It answers when the browser has gone.
                stream.read_exact(&mut [0; 1]).ok();
            }
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
        // A browser that took its time is ended here: nothing outlives a test.
        processes::end_all(|| living_in(self.profile.path()), Duration::from_secs(20));
    }
}

/// The processes that were started with this as their home.
fn living_in(home: &Path) -> Vec<processes::Identity> {
    let mark = format!("HOME={}", home.display());
    let lives_here = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(lives_here)
        .filter_map(processes::Identity::of)
        .collect()
}
