//! The process that is killed, the run it keeps, and the folder it keeps it in.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{InterventionChoice, InterventionKind, SessionId};
use coven_notation::SourceFile;
use coven_orchestrator::{LiveEvent, NewSession, Options, Orchestrator, PublishedEvent};
use coven_policy::{EffectivePolicies, Policy};
use coven_runtime::processes::{self, Identity};

use crate::support::{Base, DEADLINE, processes_of, program};

/// Tells the child which base directory to keep, and what to run in it.
const BASE: &str = "COVEN_TEST_BASE";
const PLAY: &str = "COVEN_TEST_PLAY";

/// Tells it where to say that nothing can be written down.
const STUCK_FILE_VARIABLE: &str = "COVEN_TEST_TOLD";

/// One of everything. Each task leaves one line, so that a second run of any would show.
const EVERYTHING: &str = r#"
name: everything
description: One of everything, each leaving a line.
defaults: {adapter: demo, mode: headless, permissions: all}
steps:
  - {name: first, type: script, command: echo first >> log.txt}
  - name: list
    type: script
    command: echo '["a", "b"]'
    expect: json
    output: items
  - name: fan
    type: parallel-agents
    for_each: ${items}
    prompt: disobey echo fan-${item} >> log.txt; say did ${item}
    output: results
  - name: polish
    type: agent-loop
    prompt: disobey echo polish >> log.txt; say polished
    arbiter: {prompt: Good?, extra_args: [--script, verdict.txt]}
    max_iterations: 2
  - name: ask
    type: agent
    mode: interactive
    permissions: ask
    prompt: approve echo asked >> log.txt; say done
  - {name: gate, type: gate, command: test -s log.txt, message: There must be a log.}
  - {name: count, type: script, command: 'for n in {1..3000}; do echo "line $n of many"; done | tee counted.txt', output: counted}
  - {name: last, type: script, command: echo last >> log.txt}
"#;

/// An agent that is told three things, two of them typed at its terminal.
const TALK: &str = r#"
{"id": "talk", "stages": [{"id": "only", "tasks": [{
    "id": "talk", "adapter": "demo", "permissions": "all",
    "prompt": "disobey echo 0 >> log.txt",
    "pendingInputs": ["disobey echo 1 >> log.txt", "disobey echo 2 >> log.txt"]
}]}]}
"#;

/// Runs until a file is there, and then goes on.
const WAITS: &str = r"
name: waits
description: Runs until a file is there.
steps:
  - {name: wait, type: script, command: 'echo begun >> log.txt; until test -e go.txt; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done'}
  - {name: last, type: script, command: echo last >> log.txt}
";

/// The name of a definition that a test gives.
pub(super) const GIVEN: &str = "given.yaml";

/// What the keeper runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Play {
    /// Loop, fan-out, gate, approval and scripts.
    Everything,
    Demo,
    /// A stage task with queued inputs.
    Talk,
    /// A script that waits for a file.
    Waits,
    /// A definition that the test writes beside the base directory. What conflicts is skipped.
    Given,
}

impl Play {
    fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Demo => "demo",
            Self::Talk => "talk",
            Self::Waits => "waits",
            Self::Given => "given",
        }
    }

    fn new_session(name: &str) -> NewSession {
        match name {
            "everything" => NewSession::of_definition("everything.yaml", EVERYTHING),
            "talk" => NewSession::of_definition("talk.json", TALK),
            "waits" => NewSession::of_definition("waits.yaml", WAITS),
            "given" => {
                let path = std::env::var_os(BASE).map(PathBuf::from).unwrap();
                let text = std::fs::read_to_string(path.with_file_name(GIVEN)).unwrap();
                NewSession::of_definition(GIVEN, &text)
            }
            _ => NewSession::of_grimoire("demo"),
        }
    }
}

/// The process that is killed: keeps the base directory until its session is over.
#[test]
#[ignore = "started by the tests beside it, to be killed"]
fn keeps_a_session_until_it_is_killed() {
    let Some(base) = std::env::var_os(BASE).map(PathBuf::from) else { return };
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    reactor.block_on(async {
        let mut options = Options::new(&base, crate::support::state_of(&base), program());
        let policy = "version: 1\nrules:\n  - {name: yes, kind: approval, decision: allow}\n";
        let policy = Policy::read(&SourceFile::new("policy.yaml", policy)).unwrap();
        options.policies = EffectivePolicies { user: Some(policy), ..EffectivePolicies::default() };
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let id = if let Some(entry) = orchestrator.list().first() {
            entry.id.clone()
        } else {
            let new = Play::new_session(&std::env::var(PLAY).unwrap());
            orchestrator.execute_workflow(new).await.unwrap()
        };
        let controller = orchestrator.resume(&id, None).await.unwrap();
        let mut events = controller.subscribe(0).unwrap();
        let telling = async {
            while let Some(envelope) = events.next().await.unwrap() {
                match envelope.what {
                    PublishedEvent::Live(LiveEvent::Storage { problem }) => {
                        let file = std::env::var_os(STUCK_FILE_VARIABLE).unwrap();
                        std::fs::write(file, problem).unwrap();
                    }
                    PublishedEvent::Fact { event, .. } => {
                        skip_conflict(&orchestrator, &event).await;
                    }
                    PublishedEvent::Live(_) => {}
                }
            }
        };
        tokio::select! {
            _ = controller.wait(false) => {}
            () = telling => {}
        }
        orchestrator.close().await;
    });
}

/// Decides what nobody but a person would.
async fn skip_conflict(orchestrator: &Orchestrator, event: &SessionEvent) {
    if let SessionEvent::InterventionRequired { intervention, .. } = event
        && intervention.kind == InterventionKind::MergeConflict
    {
        let skip = InterventionDecision::new(InterventionChoice::Skip, "mira");
        // A keeper before this one may have decided it.
        orchestrator.answer(&intervention.id, skip, None).await.ok();
    }
}

/// A base directory for one run, and beside it the evidence that agents and commands leave.
pub(super) struct Place {
    base: Base,
    evidence: tempfile::TempDir,
    play: Play,
}

impl Place {
    pub(super) fn new(play: Play) -> Self {
        let place = Self { base: Base::new(), evidence: tempfile::tempdir().unwrap(), play };
        let verdict = r#"json {"verdict": "done", "reason": "good"}"#;
        std::fs::write(place.base().join("verdict.txt"), verdict).unwrap();
        // The demo agent remembers here what it was told; an arbiter may write here as well.
        std::fs::create_dir_all(place.conversations()).unwrap();
        std::fs::create_dir(place.evidence.path().join("tmp")).unwrap();
        place.write_bash();
        place
    }

    /// A bash in front of the real one that writes down every command it is given.
    fn write_bash(&self) {
        let folder = self.evidence.path().join("bin");
        std::fs::create_dir(&folder).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join("bash"));
        let real = real.into_iter().find(|bash| bash.is_file()).unwrap();
        let text = format!(
            "#!/bin/sh\nfor last; do :; done\nprintf '%s\\0' \"$last\" >> '{}'\nexec '{}' \"$@\"\n",
            self.commands().display(),
            real.display()
        );
        let bash = folder.join("bash");
        std::fs::write(&bash, text).unwrap();
        std::fs::set_permissions(&bash, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(super) fn base(&self) -> &Path {
        self.base.path()
    }

    /// Where the commands of scripts and gates are written down.
    pub(super) fn commands(&self) -> PathBuf {
        self.evidence.path().join("commands")
    }

    /// Where a keeper says that nothing can be written down.
    pub(super) fn told(&self) -> PathBuf {
        self.evidence.path().join("told")
    }

    /// Where scripts put their temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.evidence.path().join("tmp")
    }

    /// Where the demo agent keeps what it was told.
    pub(super) fn conversations(&self) -> PathBuf {
        self.evidence.path().join(".local/state/coven-demo")
    }

    pub(super) fn keeper(&self) -> Keeper {
        let test = "killed::keeper::keeps_a_session_until_it_is_killed";
        let mut path = self.evidence.path().join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        // A write beyond the limit of a process is to fail, and not to end it.
        let child = Command::new("sh")
            .args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", test])
            .env(BASE, self.base())
            .env(PLAY, self.play.name())
            .env(STUCK_FILE_VARIABLE, self.told())
            .env("HOME", self.evidence.path())
            .env("TMPDIR", self.temporary())
            .env("PATH", path)
            .env_remove("COVEN_DEMO_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Keeper(child)
    }

    /// Lets a keeper live for a while. Says whether it was killed, and did not end by itself.
    pub(super) fn kill_at(&self, moment: Duration) -> bool {
        let begun = Instant::now();
        let mut keeper = self.keeper();
        let mut ended = false;
        wait_until("the moment to be killed at", || {
            ended = keeper.has_ended();
            ended || begun.elapsed() >= moment
        });
        keeper.kill();
        !ended
    }

    /// Lets a keeper end the run.
    pub(super) fn finish(&self, after: &str) {
        let mut keeper = self.keeper();
        let what = format!("the end after {after} in {}", self.base().display());
        wait_until(&what, || keeper.has_ended());
        assert!(keeper.0.wait().unwrap().success(), "after {after}");
    }

    /// The folders of the sessions there are.
    pub(super) fn sessions(&self) -> Vec<PathBuf> {
        let folder = self.base().join(".coven/sessions");
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|it| it.join("journal.jsonl").exists()).collect()
    }

    /// How many records the session has.
    pub(super) fn records(&self) -> usize {
        let journals = self.sessions().into_iter().map(|session| session.join("journal.jsonl"));
        let texts = journals.filter_map(|journal| std::fs::read(journal).ok());
        let lines = texts.map(|bytes| bytes.split(|byte| *byte == b'\n').count()).max();
        // The first line is the header, and what follows the last line end is none.
        lines.unwrap_or(0).saturating_sub(2)
    }
}

impl Drop for Place {
    /// Leaves nothing behind where a test failed.
    fn drop(&mut self) {
        let folders = self.sessions();
        let names = folders.iter().filter_map(|folder| folder.file_name()?.to_str());
        let ids: Vec<SessionId> = names.filter_map(|name| SessionId::new(name).ok()).collect();
        let left = || {
            let pids = ids.iter().flat_map(processes_of).map(|(pid, _)| pid);
            pids.filter_map(|pid| Identity::of(pid.try_into().ok()?)).collect()
        };
        processes::end_all(left, Duration::from_secs(10));
    }
}

/// A keeper. It is killed when it goes.
pub(super) struct Keeper(Child);

impl Keeper {
    /// Limits the size of the files that it can write. Says whether that is possible here.
    pub(super) fn limit(&self, bytes: &str) -> bool {
        let mut command = Command::new("prlimit");
        command.arg(format!("--pid={}", self.0.id())).arg(format!("--fsize={bytes}:"));
        command.status().is_ok_and(|status| status.success())
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    pub(super) fn kill(&mut self) {
        // One that has ended needs no end.
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(super) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "never came: {what}");
        std::thread::park_timeout(Duration::from_micros(200));
    }
}
