//! A copy of a project folder has the sessions of the original in its `.coven`. There names and `@`
//! mean the copies, which can be read; nothing that is done there reaches the original.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::http;
use crate::home::{Home, SIZE, Said};
use crate::terminal::Terminal;

/// A home with a session that asks for an approval, one that has ended, and a copy of the project.
struct Copied {
    home: Home,
    asks: String,
    ended: String,
    copy: PathBuf,
}

impl Copied {
    fn new() -> Self {
        let home = Home::new();
        home.run("  - {name: one, type: script, command: echo first, output: said}\n", &[]).ok();
        let ended = home.only();
        let asks = home.asking("approve echo yes > yes.txt");
        let copy = home.path("copy");
        let mut cp = Command::new("cp");
        let copied = cp.arg("-r").args([home.path("project"), copy.clone()]).status();
        assert!(copied.unwrap().success());
        Self { home, asks, ended, copy }
    }

    fn here(&self, args: &[&str]) -> Said {
        let mut command = self.home.command(args);
        Said::of(&command.current_dir(&self.copy).output().unwrap())
    }

    fn show(&self, name: &str) -> Value {
        self.here(&["show", name, "--json"]).ok().json()
    }

    fn original(&self) -> String {
        self.home.path("project").canonicalize().unwrap().display().to_string()
    }

    /// Nothing that is done in the copy reaches the original, and what is read there is the copy.
    fn check(&self) {
        let (asks, ended) = (self.asks.as_str(), self.ended.as_str());
        let copy = self.copy.canonicalize().unwrap().display().to_string();
        for name in [asks, ended, "@"] {
            let shown = self.show(name);
            assert_eq!(
                (&shown["baseDir"], &shown["foreign"]),
                (&copy.as_str().into(), &true.into())
            );
        }
        let words = self.here(&["show", ended]).ok();
        assert!(words.out.contains("it is a copy, and can only be read"), "{words:?}");
        assert!(words.out.contains(&self.original()), "{words:?}");
        for line in [
            &["rm"][..],
            &["cancel"],
            &["approve"],
            &["deny"],
            &["answer"],
            &["resume"],
            &["retry", "--detach"],
            &["stop"],
            &["send"],
            &["interrupt"],
            &["finish"],
            &["wait"],
        ] {
            for name in [asks, ended, "@"] {
                let mut args = [line, &[name]].concat();
                if matches!(line[0], "answer" | "send") {
                    args.push("approve");
                }
                let said = self.here(&args);
                assert_eq!(said.code, 1, "{args:?}: {said:?}");
                let is_told = said.err.contains("is a copy") && said.err.contains(&self.original());
                assert!(is_told, "{args:?}: {said:?}");
            }
        }
        let mut attach = self.home.command(&["attach", asks]);
        attach.current_dir(&self.copy);
        let mut attached = Terminal::start(attach, SIZE);
        attached.until_shows("is a copy");
        attached.finish();
        assert_eq!(self.here(&["output", ended, "one"]).ok().out, "first\n");
        assert_eq!(self.here(&["logs", ended]).ok().out, "first\n");
        self.here(&["events", ended]).ok();
        self.here(&["audit", ended]).ok();
        let listed = self.here(&["ls", "-C", ".", "--json"]).ok().json();
        let listed = listed["workflows"].as_array().unwrap();
        assert!(listed.iter().all(|item| item["foreign"] == true), "{listed:?}");
        assert_eq!(listed.len(), 2);

        // Over the API, where a session is named with its folder.
        let id = self.show(asks)["id"].as_str().unwrap().to_owned();
        let there = format!("{id}@{}", copy.replace('/', "%2F"));
        let answer = http::request(&self.home, "GET", &format!("/workflows/{there}"), None);
        assert_eq!((answer.status, &answer.body["baseDir"]), (200, &copy.as_str().into()));
        for (method, path) in [("DELETE", ""), ("POST", "/purge"), ("POST", "/resume")] {
            let answer =
                http::request(&self.home, method, &format!("/workflows/{there}{path}"), None);
            assert_eq!(answer.body["code"], "foreign-session", "{method} {path}: {answer:?}");
        }
        let asked = format!("/interventions?workflow={there}");
        let answer = http::request(&self.home, "GET", &asked, None);
        assert_eq!(answer.body["interventions"], serde_json::json!([]), "{answer:?}");

        let original = self.home.coven(&["show", asks, "--json"]).ok().json();
        assert_eq!(original["status"], "blocked", "{original:#}");
        assert_eq!(self.home.coven(&["output", ended, "one"]).ok().out, "first\n");
        assert!(!self.home.path("project/yes.txt").exists() && !self.copy.join("yes.txt").exists());
        // By its whole id it is meant everywhere.
        let by_id = self.here(&["show", &id, "--json"]).ok().json();
        assert_eq!(by_id["baseDir"], self.original().as_str());
    }
}

#[test]
fn in_a_copied_folder_names_mean_the_copies_and_nothing_reaches_the_original() {
    let copied = Copied::new();
    copied.check();
    copied.home.kill_daemon();
    copied.check();
    copied.home.coven(&["approve", &copied.asks]).ok();
    copied.home.coven(&["cancel", &copied.asks]).ok();
    copied.home.coven(&["wait", &copied.asks, "--timeout", "60s"]).code(4);
    assert_eq!(copied.here(&["rm", &copied.asks]).code, 1);
    copied.home.coven(&["show", &copied.asks]).ok();
}

#[test]
fn a_copied_folder_has_sessions_of_its_own_beside_the_copies() {
    let copied = Copied::new();
    let text = "name: own\ndescription: A test.\nsteps:\n  - {name: one, type: script, command: echo own}\n";
    fs::write(copied.copy.join("own.yaml"), text).unwrap();
    copied.here(&["run", "./own.yaml"]).ok();
    let own = copied.show("@");
    assert_eq!((&own["grimoire"], &own["foreign"]), (&"own".into(), &Value::Null));
    assert_eq!(copied.show(&copied.ended)["foreign"], true);
    copied.here(&["rm", "@"]).ok();
    assert_eq!(copied.show("@")["foreign"], true, "only copies are left");
    copied.home.coven(&["show", &copied.ended]).ok();
    copied.home.coven(&["cancel", &copied.asks]).ok();
}
