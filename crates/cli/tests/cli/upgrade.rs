//! A newer version where an older one was at work: `cargo xtask upgrade` builds the older one and
//! runs this.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use coven_runtime::processes;
use serde_json::Value;

use crate::home::{Home, Said};

/// A home in which `coven` is a file that can be replaced, as an update does.
struct Installed {
    home: Home,
    program: PathBuf,
}

impl Installed {
    fn new(program: &str) -> Self {
        let home = Home::new();
        fs::create_dir(home.path("bin")).unwrap();
        let installed = Self { program: home.path("bin/coven"), home };
        installed.replace(program);
        installed
    }

    fn replace(&self, with: &str) {
        let fresh = self.program.with_extension("new");
        // By another process: a file that this one has open for writing while another test starts
        // a child cannot be executed for a moment.
        assert!(Command::new("cp").arg(with).arg(&fresh).status().unwrap().success());
        fs::rename(fresh, &self.program).unwrap();
    }

    fn coven(&self, args: &[&str]) -> Said {
        self.run(&self.program, args)
    }

    /// The same home, asked by another file.
    fn run(&self, program: impl Into<PathBuf>, args: &[&str]) -> Said {
        let like = self.home.command(args);
        let mut command = Command::new(program.into());
        command.args(args).current_dir(like.get_current_dir().unwrap()).env_clear();
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Said::of(&command.output().unwrap())
    }

    fn daemon(&self) -> u32 {
        let status = self.coven(&["daemon", "status", "--json"]).ok().json();
        u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
    }

    /// What each job that runs is, by its process.
    fn agents(&self) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        // Jobs lie in the state folder; those of the first versions lay in the project.
        let mut folders =
            vec![self.home.path("project/.coven"), self.home.path("state/coven/jobs")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("spawn.json") && !path.with_file_name("exit.json").exists()
                {
                    let record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                    let job = record["job"].as_str().unwrap().to_owned();
                    found.push((job, record["process"]["pid"].as_u64().unwrap()));
                }
            }
        }
        found.sort();
        found
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        self.coven(&["daemon", "stop", "--agents"]).ok();
        for (job, _) in self.agents() {
            processes::end_all(|| processes::of_job(&job), crate::STEP_TIMEOUT);
        }
    }
}

fn older() -> String {
    std::env::var("COVEN_OLDER").unwrap()
}

/// Asks, and keeps a second agent busy.
fn begin(installed: &Installed) -> (String, String) {
    let prompt = "approve echo yes > yes.txt";
    let asks = installed.coven(&["new", "demo", prompt, "--detach"]).ok().out.trim().to_owned();
    let prompt = "say one\nthink 100000";
    let works = installed.coven(&["new", "demo", prompt, "--detach"]).ok().out.trim().to_owned();
    installed.coven(&["wait", &asks, "--until", "blocked", "--timeout", "60s"]).code(3);
    let end = Instant::now() + crate::STEP_TIMEOUT;
    while installed.agents().len() < 2 {
        assert!(Instant::now() < end, "two agents never ran");
        std::thread::yield_now();
    }
    (asks, works)
}

fn goes_on(installed: &Installed, asks: &str, works: &str) {
    installed.coven(&["approve", asks]).ok();
    installed.coven(&["wait", asks, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert!(installed.home.path("project/yes.txt").exists());
    installed.coven(&["finish", asks]).ok();
    installed.coven(&["wait", asks, "--timeout", "60s"]).ok();
    let said = installed.coven(&["logs", works]).ok().out;
    assert!(said.contains("one"), "{said}");
    installed.coven(&["cancel", works]).ok();
    installed.coven(&["wait", works, "--timeout", "60s"]).code(4);
    installed.coven(&["audit"]).ok();
    assert_eq!(installed.agents(), []);
}

#[test]
#[ignore = "needs an older build: `cargo xtask upgrade`"]
fn a_newer_daemon_goes_on_with_the_agents_of_an_older_one_that_was_killed() {
    let installed = Installed::new(&older());
    let (asks, works) = begin(&installed);
    let agents = installed.agents();
    assert_eq!(agents.len(), 2);
    installed.replace(env!("CARGO_BIN_EXE_coven"));
    let before = installed.daemon();
    let pid = rustix::process::Pid::from_raw(before.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    installed.coven(&["ls"]).ok();
    assert_ne!(installed.daemon(), before);
    assert_eq!(installed.agents(), agents, "the same processes");
    goes_on(&installed, &asks, &works);
}

#[test]
#[ignore = "needs an older build: `cargo xtask upgrade`"]
fn a_newer_daemon_goes_on_after_an_older_one_was_stopped() {
    let installed = Installed::new(&older());
    let (asks, works) = begin(&installed);
    let agents = installed.agents();
    installed.coven(&["daemon", "stop"]).ok();
    installed.replace(env!("CARGO_BIN_EXE_coven"));
    let inbox = installed.coven(&["inbox", "--json"]).ok().json();
    assert_eq!(inbox["interventions"].as_array().unwrap().len(), 1);
    assert_eq!(installed.agents(), agents, "the same processes");
    goes_on(&installed, &asks, &works);
}

#[test]
#[ignore = "needs an older build: `cargo xtask upgrade`"]
fn a_command_of_another_version_than_the_daemon_works_either_way() {
    for (daemon, command) in [
        (older(), env!("CARGO_BIN_EXE_coven").to_owned()),
        (env!("CARGO_BIN_EXE_coven").to_owned(), older()),
    ] {
        let installed = Installed::new(&daemon);
        let (asks, works) = begin(&installed);
        let before = installed.daemon();
        for args in [&["ls"][..], &["show", &asks], &["inbox"], &["logs", &works]] {
            installed.run(&command, args).ok();
        }
        installed.replace(&command);
        goes_on(&installed, &asks, &works);
        assert_eq!(installed.daemon(), before, "the same daemon all along");
    }
}

#[test]
#[ignore = "needs an older build: `cargo xtask upgrade`"]
fn sessions_of_a_version_that_did_not_register_them_are_foreign_and_say_so() {
    let installed = Installed::new(&std::env::var("COVEN_UNSEALED").unwrap());
    let (asks, works) = begin(&installed);
    let agents = installed.agents();
    installed.coven(&["daemon", "stop"]).ok();
    installed.replace(env!("CARGO_BIN_EXE_coven"));
    let listed = installed.coven(&["ls", "-C", ".", "--json"]).ok().json();
    let listed = listed["workflows"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|session| session["foreign"] == true), "{listed:#?}");
    let inbox = installed.coven(&["inbox", "--json"]).ok().json();
    assert_eq!(inbox["interventions"].as_array().unwrap().len(), 0);
    installed.coven(&["open"]).ok();
    let said = installed.coven(&["show", &asks]).ok();
    assert!(said.out.contains("foreign"), "{}", said.out);
    assert!(installed.coven(&["logs", &works]).ok().out.contains("one"));
    for verb in ["approve", "resume", "cancel", "rm"] {
        let said = installed.coven(&[verb, &asks]).code(1);
        assert!(said.err.contains("foreign"), "{verb}: {}", said.err);
    }
    assert_eq!(installed.agents(), agents, "nobody touched its agents");
    assert!(!installed.home.path("project/yes.txt").exists());
    // What is done here from now on is the user's own.
    let own = installed.coven(&["new", "demo", "say hello; exit 0", "--detach"]).ok().out;
    installed.coven(&["wait", own.trim(), "--timeout", "60s"]).ok();
}
