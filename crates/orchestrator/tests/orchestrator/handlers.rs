//! Automatic handlers on real processes: what an agent reads is exactly what they say, once.

use std::path::Path;

use coven_model::event::InterventionDecision;
use coven_model::view::HistoryKind;
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_orchestrator::Orchestrator;
use coven_policy::{AgentAutomation, AgentQuestion, FunctionHandler, TerminalInput};
use serde_json::{Value, json};

use crate::support::{Base, end, intervention, nothing_left};

/// An adapter in the plain form, for a program of one line that asks and writes down what it reads.
pub(crate) fn adapter(base: &Base, program: &str, states: &Value, handlers: &[&str]) {
    let more = json!({"states": states, "autoPolicy": {"handlers": handlers}});
    adapter_with(base, program, more);
}

/// The adapter of a program in bash, with these fields of its file.
pub(crate) fn adapter_with(base: &Base, program: &str, mut config: Value) {
    let folder = base.path().join("config/adapters/asker");
    std::fs::create_dir_all(&folder).unwrap();
    config["schemaVersion"] = json!(1);
    config["command"] = json!("/bin/bash");
    config["modes"] = json!({"interactive": {"baseArgs": ["-c", program]}});
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

pub(crate) async fn open(base: &Base) -> Orchestrator {
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    Orchestrator::open(options).await.unwrap()
}

pub(crate) fn task(auto: bool) -> String {
    let task = json!({"id": "ask", "adapter": "asker", "autoApprove": auto});
    json!({"id": "asks", "stages": [{"id": "s", "tasks": [task]}]}).to_string()
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Asks the same in a line five times, and writes down every byte that it reads.
const LINES: &str = r#"for i in 1 2 3 4 5; do printf 'Proceed? (y/n) '; IFS= read -r line;
    printf '%s\n' "$line" >> got.txt; echo "step $i"; sleep 0.2; done;
    printf 'last: '; IFS= read -r -t 4 line && printf 'extra %s\n' "$line" >> got.txt; exit 0"#;

/// Spec: C0.14.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_in_a_line_is_confirmed_once_each_time_and_nothing_is_typed_after_it() {
    let base = Base::new();
    adapter(
        &base,
        LINES,
        &json!({"interaction_handler": {"pattern": "\\(y/n\\)"}}),
        &["confirmYes"],
    );
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "y\n".repeat(5));
    nothing_left(&id, &view);
}

/// Reads keys without echo, as programs with menus do, and writes down each.
fn menu(keys: u32) -> String {
    format!(
        r"stty -echo -icanon -icrnl min 1; for i in $(seq {keys}); do
        printf '\033[2J\033[HRun command %d?\r\n> 1. Yes\r\n  2. No\r\n' $i;
        key=$(dd bs=8 count=1 2>/dev/null | od -An -tx1); printf '%s;' $key >> got.txt;
        printf '\033[2J\033[Hworking\r\n'; sleep 0.3; done; exit 0"
    )
}

/// Spec: C0.13.1, C0.14.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_handler_sends_exactly_what_it_says() {
    for (handler, bytes) in
        [("pressEnter", "0d;"), ("escape", "1b;"), ("choose(2)", "32;"), ("type(y)", "79;")]
    {
        let base = Base::new();
        let states = json!({
            "interaction_handler": {"pattern": "Run command \\d+\\?", "region": "tail:4"},
            "execution_running": {"pattern": "^working", "region": "tail:4"},
        });
        adapter(&base, &menu(2), &states, &[handler]);
        let orchestrator = open(&base).await;
        let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{handler}: {:#?}", view.errors);
        assert_eq!(read(&base.path().join("got.txt")), bytes.repeat(2), "{handler}");
        nothing_left(&id, &view);
    }
}

/// A program that reads single keys has its answer with the first of `y` and Enter.
///
/// Spec: C0.14.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_is_submitted_only_while_it_is_asked_for() {
    let base = Base::new();
    let keys = r"stty -echo -icanon -icrnl min 1; for i in 1 2; do
        printf 'Remove file %d? (y/n) ' $i;
        key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); printf '%s;' $key >> got.txt;
        printf '\r\nworking\r\n'; sleep 0.3; done; exit 0";
    let states = json!({
        "interaction_handler": {"pattern": "Remove file \\d\\?", "region": "tail:1"},
        "execution_running": {"pattern": "^working", "region": "tail:1"},
    });
    adapter(&base, keys, &states, &["confirmYes"]);
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "79;79;");
    nothing_left(&id, &view);
}

/// A program that uses the library answers with a function of its own, which is asked before the
/// adapter's handlers and may leave a question to them.
///
/// Spec: C0.12.1, C0.14.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_of_the_program_answers_before_the_handlers_of_the_adapter() {
    let base = Base::new();
    let states = json!({
        "interaction_handler": {"pattern": "Run command \\d+\\?", "region": "tail:4"},
        "execution_running": {"pattern": "^working", "region": "tail:4"},
    });
    adapter(&base, &menu(2), &states, &["choose(2)"]);
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    options.automation = AgentAutomation::default().with(FunctionHandler::new(
        "first only",
        |question: &AgentQuestion<'_>| {
            let is_first = question.excerpt.iter().any(|line| line.contains("command 1?"));
            Ok(is_first.then(|| TerminalInput::new("n\r")))
        },
    ));
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "6e;0d;32;");
    let decided = orchestrator.decided(&id).await;
    let by: Vec<String> =
        decided.iter().filter_map(|(_, decision)| Some(decision.as_ref()?.by.clone())).collect();
    assert_eq!(by, ["handler:first only", "handler:choose(2)"]);
    nothing_left(&id, &view);
}

/// Spec: C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_whose_keys_are_not_taken_leaves_the_question_to_a_person() {
    let base = Base::new();
    // It shows the same whatever it reads.
    let deaf = r"stty -echo -icanon -icrnl min 1; printf 'Run command 1?\r\n> 1. Yes\r\n  2. No\r\n';
        while true; do dd bs=8 count=1 2>/dev/null | od -An -tx1 >> got.txt; done";
    let states =
        json!({"interaction_handler": {"pattern": "Run command \\d+\\?", "region": "tail:4"}});
    adapter(&base, deaf, &states, &["pressEnter"]);
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Approval);
    assert!(asked.refused.is_some(), "{asked:#?}");
    assert_eq!(read(&base.path().join("got.txt")).trim(), "0d");
    orchestrator.cancel(&id, "a test", "").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}

/// A clock above its prompt changes nothing about that. It may be waiting for nothing but Enter, and
/// stay unknown afterwards: it has the time again.
///
/// Spec: C1.9.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_shows_what_no_rule_knows_calls_a_person() {
    let base = Base::new();
    let odd = r#"printf '\nSign in with your browser: http://127.0.0.1/code\r\nor paste it here\r\n'
        while sleep 0.2; do printf '\0337\033[1;1H\033[2Kup for %s s\0338' $SECONDS; done & clock=$!
        for i in 1 2; do IFS= read -r line; printf '<%s>' "$line" >> got.txt
        echo 'which account'; done; kill $clock; exit 0"#;
    let states = json!({"interaction_idle": {"pattern": "^never$"}});
    adapter(&base, odd, &states, &[]);
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::UnknownState);
    assert!(asked.excerpt.contains("\nSign in with your browser"), "{}", asked.excerpt);
    assert!(asked.excerpt.ends_with("or paste it here"), "{}", asked.excerpt);
    let send =
        |text: &str| InterventionDecision::new(InterventionChoice::Send, "a test").with_text(text);
    assert!(orchestrator.answer_and_see(&asked.id, send(""), None).await.unwrap());
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::UnknownState);
    assert!(asked.excerpt.ends_with("which account"), "{}", asked.excerpt);
    assert_eq!(orchestrator.unheard_agents(), 0);
    // Its end may be known before that it took this.
    orchestrator.answer(&asked.id, send("mine"), None).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "<><mine>");
    nothing_left(&id, &view);
}

/// Reads one line where it shows its prompt, as aider does, works, and shows the prompt again.
const LINE_PROMPT: &str = r#"while printf 'ask> ' && IFS= read -r -t 30 line; do
    printf '%s\n' "$line" >> got.txt; echo 'Thinking'; sleep 0.5; [ "$line" = bye ] && exit 0; done"#;

/// A program that takes no prompt as an argument has it typed, once, when it is ready for it.
///
/// Spec: C1.6.3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_no_argument_is_typed_once_and_arrives_whole() {
    let base = Base::new();
    let states = json!({
        "interaction_idle": {"pattern": "^ask> ?$", "region": "cursor:1", "kind": "idle"},
        "execution_running": {"pattern": "^Thinking", "region": "tail:2"},
    });
    adapter(&base, LINE_PROMPT, &states, &[]);
    let file = base.path().join("config/adapters/asker/config.json");
    let mut config: Value = serde_json::from_str(&read(&file)).unwrap();
    config["modes"]["interactive"]["promptPosition"] = json!("typed");
    std::fs::write(&file, config.to_string()).unwrap();
    let orchestrator = open(&base).await;
    let task = json!({"id": "ask", "adapter": "asker", "prompt": "first, and whole"});
    let text = json!({"id": "asks", "stages": [{"id": "s", "tasks": [task]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    // Its turn is over, so it has worked on the prompt.
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::EndedTurn);
    let ask = coven_model::TaskId::new("ask").unwrap();
    orchestrator.send(&id, &ask, "bye", "a test").await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "first, and whole\nbye\n");
    let spawn = std::fs::read_to_string(base.attempt(&id, "ask", 1).join("spawn.json")).unwrap();
    assert!(!spawn.contains("first, and whole"), "it is no argument");
    let said = view.history.iter().filter(|entry| entry.text.contains("first, and whole"));
    let said: Vec<HistoryKind> = said.map(|entry| entry.what).collect();
    assert_eq!(said.first(), Some(&HistoryKind::Prompt), "{:#?}", view.history);
    assert_eq!(said.iter().filter(|what| **what == HistoryKind::Prompt).count(), 1);
    nothing_left(&id, &view);
}

/// A line is printed behind a question, so that it does not stand where it is answered. Nothing is
/// typed for it, and a person is shown what stands there now.
///
/// Spec: C1.9.1, C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_something_was_printed_behind_is_not_lost() {
    let base = Base::new();
    let odd = r#"printf 'Overwrite it? [y/N] '; until [ -e told ]; do read -t 0.1 -u 3 nothing; done
        echo '[log] something else'; IFS= read -r line; printf '%s' "$line" > got.txt; exit 0"#;
    let odd = format!("mkfifo other; exec 3<>other; {odd}");
    adapter(&base, &odd, &json!({"interaction_idle": {"pattern": "^never$"}}), &[]);
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.rule.as_deref(), Some("generic:yes-no"));
    std::fs::write(base.path().join("told"), "").unwrap();
    let unknown = intervention(&mut events).await;
    assert_eq!(unknown.kind, InterventionKind::UnknownState);
    assert!(unknown.excerpt.ends_with("[log] something else"), "{}", unknown.excerpt);
    let open = orchestrator.interventions().len();
    assert_eq!(open, 1, "what is not asked any more does not wait for an answer");
    assert_eq!(orchestrator.unheard_agents(), 0);
    let send = InterventionDecision::new(InterventionChoice::Send, "a test").with_text("y");
    orchestrator.answer(&unknown.id, send, None).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "y");
    nothing_left(&id, &view);
}
