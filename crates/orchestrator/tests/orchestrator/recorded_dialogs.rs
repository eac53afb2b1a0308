//! The handlers of the built-in adapters on the approval dialogs of the real programs. A program on
//! a real terminal shows what a recording shows at a mark, and the tape says what was written to it.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coven_adapters::builtin;
use coven_adapters::replay::is_reply;
use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{ContentDigest, Intervention, InterventionChoice, InterventionKind, SessionId};
use coven_orchestrator::{AdmissionQueue, EventSubscription, Orchestrator};
use coven_tape::{TapeEvent, TapeReader};
use coven_terminal::recording::{EventData, RecordingReader};
use serde_json::json;

use crate::support::{Base, decide, end, fact};

/// Shows a dialog, reads until a key comes that decides it, and waits a moment for what would be too
/// much. Replies of the terminal to what the program had asked it are none of these keys. The title is
/// cleared with the dialog, as the real programs do: one that still announces a question, over a
/// screen without one, is brought to a person after two seconds.
const PLAYER: &str = r#"#!/bin/bash
for word in "$@"; do [ "$word" = --version ] && { echo "$DIALOG_VERSION"; exit 0; }; done
stty raw -echo; cat "$DIALOG"
while true; do
    key=$(dd bs=4096 count=1 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
    case "$key" in
        "") exit 1;;
        1b5b43|1b4f43) printf '\0337\033[1;1Hmoved\0338';;
        0d|31|32|70|79|1b|1b5b323775) break;;
    esac
done
printf '\033]0;\007\033[?1049l\033[?25h\033[2J\033[Hthanks\r\n'
IFS= read -r -t 1 -n 1 more; exit 0
"#;

/// A dialog of a recording.
struct RecordedDialog {
    kind: &'static str,
    /// The recording, and which of its marks this is.
    name: String,
    size: String,
    /// Everything that the program had printed by then.
    printed: String,
}

/// The approval dialogs in all recordings of a program. After a resize the program paints anew in a
/// size that the player does not have.
fn dialogs(kind: &'static str) -> Vec<RecordedDialog> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let folders = ["agents", "recordings"].map(|folder| fixtures.join(folder).join(kind));
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "cast"));
    files.sort();
    files.iter().flat_map(|path| read(kind, path)).collect()
}

fn read(kind: &'static str, path: &Path) -> Vec<RecordedDialog> {
    let reader = RecordingReader::new(BufReader::new(File::open(path).unwrap())).unwrap();
    let size = format!("{}x{}", reader.header().width, reader.header().height);
    let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let (mut printed, mut found) = (String::new(), Vec::new());
    for event in reader {
        match event.unwrap().data {
            EventData::Output(text) => printed.push_str(&text),
            EventData::Resize { .. } => break,
            EventData::Marker(label) if label.starts_with("awaiting_approval:") => {
                let name = format!("{stem} {}", found.len() + 1);
                let (size, printed) = (size.clone(), printed.clone());
                found.push(RecordedDialog { kind, name, size, printed });
            }
            _ => {}
        }
    }
    found
}

/// What became of a dialog.
enum DialogEnd {
    /// The agent has ended, as its outcome says.
    Answered(String),
    Asked(Box<Intervention>),
}

struct DialogTest {
    base: Base,
    orchestrator: Orchestrator,
    version: String,
}

impl DialogTest {
    /// An orchestrator in which the program of a built-in adapter is the player.
    async fn new(kind: &str) -> Self {
        let base = Base::new();
        let player = base.path().join("player");
        std::fs::write(&player, PLAYER).unwrap();
        std::fs::set_permissions(&player, PermissionsExt::from_mode(0o755)).unwrap();
        let folder = base.path().join("config/adapters").join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        let config = json!({"schemaVersion": 1, "command": player});
        std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
        let mut options = base.options();
        options.config_dir = Some(base.path().join("config"));
        options.admission = AdmissionQueue::new(8);
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let config: serde_json::Value =
            serde_json::from_str(builtin::source(kind).unwrap()).unwrap();
        let version = config["testedVersion"].as_str().unwrap().to_owned();
        Self { base, orchestrator, version }
    }

    /// Shows a dialog. `auto` says whether the adapter's handlers may answer.
    async fn show(&self, dialog: &RecordedDialog, auto: bool) -> (SessionId, EventSubscription) {
        let file = self.base.path().join(dialog.name.replace(' ', "-"));
        std::fs::write(&file, &dialog.printed).unwrap();
        let RecordedDialog { kind, size, .. } = dialog;
        let task = json!({"id": "ask", "adapter": kind, "autoApprove": auto, "size": size});
        let text = json!({"id": "asks", "stages": [{"id": "s", "tasks": [task]}]}).to_string();
        let mut new = self.base.definition(&text);
        new.env.insert("DIALOG".into(), file.into());
        new.env.insert("DIALOG_VERSION".into(), self.version.clone().into());
        let id = self.orchestrator.execute_workflow(new).await.unwrap();
        let events = self.orchestrator.subscribe(&id, 0).await.unwrap();
        (id, events)
    }

    /// What was written to the program of a session, without replies of the terminal.
    fn written(&self, id: &SessionId) -> Vec<String> {
        let tape = TapeReader::open(&self.base.attempt(id, "ask", 1)).unwrap();
        let typed = tape.records(0).filter_map(|record| match record.unwrap().event {
            TapeEvent::Input(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => None,
        });
        typed.filter(|text| !is_reply(text)).collect()
    }

    async fn cancel(&self, id: &SessionId) {
        self.orchestrator.cancel(id, "a test", "").await.unwrap();
        end(&self.orchestrator, id).await;
    }
}

async fn dialog_end(events: &mut EventSubscription, name: &str) -> DialogEnd {
    fact(events, name, |event| match event {
        SessionEvent::InterventionRequired { intervention, .. } => {
            Some(DialogEnd::Asked(intervention.clone()))
        }
        SessionEvent::TaskEnded(ended) => Some(DialogEnd::Answered(ended.outcome.reason.clone())),
        _ => None,
    })
    .await
}

/// Lets the handlers of an adapter answer all of its recorded dialogs: each is answered with exactly
/// this, once. A person is asked about those that the recording shows only in part, and about
/// dialogs in which the same key would mean something else.
async fn handlers_answer(kind: &'static str, expected: &str, for_people: &[&str]) {
    let test = DialogTest::new(kind).await;
    let dialogs = dialogs(kind);
    assert!(!dialogs.is_empty(), "{kind} has no recording of an approval");
    let mut cut = Vec::new();
    for some in dialogs.chunks(8) {
        let mut shown = Vec::new();
        for dialog in some {
            shown.push((dialog, test.show(dialog, true).await));
        }
        for (dialog, (id, mut events)) in shown {
            let name = &dialog.name;
            match dialog_end(&mut events, name).await {
                DialogEnd::Answered(reason) => {
                    assert_eq!(test.written(&id), [expected], "{kind} {name}: {reason}");
                }
                DialogEnd::Asked(asked) => {
                    let is_dialog =
                        asked.rule.as_ref().is_some_and(|rule| rule.starts_with("dialog:"));
                    assert!(asked.truncated || is_dialog, "{kind} {name}: {asked:#?}");
                    assert_eq!(test.written(&id), [] as [&str; 0], "{kind} {name}");
                    test.cancel(&id).await;
                    cut.push(name.as_str());
                }
            }
        }
    }
    assert_eq!(cut, for_people, "{kind}");
    test.orchestrator.close().await;
}

/// A person approves, approves for good and denies a dialog of an adapter: each writes exactly this,
/// once, and nothing for an answer to another question.
async fn choices_write(kind: &'static str, expected: [&[&str]; 3]) {
    let test = DialogTest::new(kind).await;
    let dialogs = dialogs(kind);
    let dialog = dialogs.iter().find(|dialog| dialog.size != "60x20").unwrap();
    let choices =
        [InterventionChoice::Approve, InterventionChoice::ApproveAlways, InterventionChoice::Deny];
    for (choice, expected) in choices.into_iter().zip(expected) {
        let (id, mut events) = test.show(dialog, false).await;
        let asked = match dialog_end(&mut events, &dialog.name).await {
            DialogEnd::Asked(asked) => asked,
            DialogEnd::Answered(reason) => panic!("{kind} {}: {reason}", dialog.name),
        };
        assert_eq!(asked.kind, InterventionKind::Approval, "{kind}");
        let other = Some(ContentDigest::of_bytes(b"something else"));
        let decision = InterventionDecision::new(choice, "a test");
        let stale = test.orchestrator.answer(&asked.id, decision, other).await;
        assert!(stale.is_err(), "{kind}: an answer to another question was taken");
        assert_eq!(test.written(&id), [] as [&str; 0], "{kind}: nothing is written by itself");
        decide(&test.orchestrator, &asked, choice).await;
        if let DialogEnd::Asked(asked) = dialog_end(&mut events, &dialog.name).await {
            panic!("{kind}: {choice} was not taken: {asked:#?} {:?}", test.written(&id));
        }
        assert_eq!(test.written(&id), expected, "{kind} {choice}");
    }
    test.orchestrator.close().await;
}

/// Escape, to a program that wants to tell it from the beginning of other keys.
const ESCAPE: &str = "\x1b[27u";

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_claude_are_answered_once_with_their_keys() {
    // In the dialog of a plan, 1 would switch to auto mode.
    let for_people = [
        "deny-shell.60x20 1",
        "plan-shell.80x24 1",
        "plan.100x30 1",
        "plan.100x30 2",
        "plan.100x30 3",
        "plan.60x20.no7501 1",
        "plan.60x20.no7501 2",
        "plan.60x20.no7501 3",
    ];
    handlers_answer("claude", "1", &for_people).await;
    choices_write("claude", [&["1"], &["2"], &[ESCAPE]]).await;
}

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_codex_are_answered_once_with_their_keys() {
    handlers_answer("codex", "y", &[]).await;
    choices_write("codex", [&["y"], &["p"], &[ESCAPE]]).await;
}

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_copilot_are_answered_once_with_their_keys() {
    handlers_answer("copilot", "1", &[]).await;
    choices_write("copilot", [&["1"], &["2"], &[ESCAPE]]).await;
}

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_gemini_are_answered_once_with_their_keys() {
    handlers_answer("gemini", "\r", &[]).await;
    choices_write("gemini", [&["1"], &["2"], &[ESCAPE]]).await;
}

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_opencode_are_answered_once_with_their_keys() {
    handlers_answer("opencode", "\r", &[]).await;
    choices_write("opencode", [&["\r"], &["\x1b[C", "\r"], &[ESCAPE]]).await;
}

/// Spec: C0.13.1, C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_dialogs_of_qwen_are_answered_once_with_their_keys() {
    handlers_answer("qwen", "\r", &[]).await;
    choices_write("qwen", [&["1"], &["2"], &["\x1b"]]).await;
}
