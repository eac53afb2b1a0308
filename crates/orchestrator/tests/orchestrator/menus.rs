//! Menus of real programs: an answer is exactly one of their entries.

use std::path::Path;
use std::time::Duration;

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_orchestrator::{Orchestrator, RequestError};
use serde_json::json;

use crate::handlers::{adapter, open, read, task};
use crate::support::{Base, end, intervention, nothing_left};

/// Shows a menu, moves its mark with the arrows, and writes down every key and what was chosen.
const MENU: &str = r#"stty -echo -icanon -icrnl min 1; items=(Red Green Blue); n=0
    draw() { printf '\033[2J\033[HWhich colour?\r\n\r\n'; for i in 0 1 2; do
        if [ $i = $n ]; then printf ' \xe2\x9d\xaf '; else printf '   '; fi
        printf '%d. %s\r\n' $((i + 1)) "${items[$i]}"; done; }
    draw
    while true; do key=$(dd bs=8 count=1 2>/dev/null | od -An -tx1 | tr -d ' '); printf '%s;' "$key" >> keys.txt
        case "$key" in
            0d) printf '%s' "${items[$n]}" > got.txt; printf '\033[2J\033[Hthanks\r\n'; exit 0;;
            1b5b42|1b4f42) n=$(((n + 1) % 3)); draw;;
            1b5b41|1b4f41) n=$(((n + 2) % 3)); draw;;
        esac
    done"#;

fn answer(text: &str) -> InterventionDecision {
    InterventionDecision::new(InterventionChoice::Answer, "a test").with_text(text)
}

async fn started(base: &Base) -> (Orchestrator, coven_model::SessionId) {
    let orchestrator = open(base).await;
    let id = orchestrator.execute_workflow(base.definition(&task(true))).await.unwrap();
    (orchestrator, id)
}

fn keys(base: &Path) -> String {
    read(&base.join("keys.txt"))
}

/// Spec: C0.14.2, C1.9.1, AD.2.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_menu_that_no_rule_knows_is_brought_to_a_person_and_answered_with_one_of_its_entries() {
    let base = Base::new();
    // A handler that would press Enter on anything that a rule finds.
    let states = json!({"interaction_idle": {"pattern": "^never$"}});
    adapter(&base, MENU, &states, &["pressEnter"]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::Choice);
    assert_eq!(asked.rule.as_deref(), Some("generic:menu"));
    let labels: Vec<&str> = asked.entries.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(labels, ["Red", "Green", "Blue"]);
    // What is none of them reaches nobody, and the question stays.
    let refused =
        orchestrator.answer_and_see(&asked.id, answer("Grey"), asked.digest.clone()).await;
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "`Grey` is none of the entries; choose 1 (Red), 2 (Green), 3 (Blue)");
    assert_eq!(keys(base.path()), "", "nothing was pressed");
    let taken = orchestrator.answer_and_see(&asked.id, answer("blue"), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(read(&base.path().join("got.txt")), "Blue");
    let pressed = keys(base.path());
    let downs = pressed.matches("42;").count();
    assert_eq!((downs, pressed.matches("0d;").count()), (2, 1), "{pressed}");
    nothing_left(&id, &view);
}

/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enter_is_not_pressed_in_a_menu_that_does_not_go_where_it_should() {
    let base = Base::new();
    // Its arrows always lead back to the first entry.
    let stuck = MENU.replace("n=$(((n + 1) % 3))", "n=0");
    let states = json!({
        "interaction_choice": {"pattern": "Which colour\\?", "kind": "choice", "region": "tail:6"},
    });
    adapter(&base, &stuck, &states, &[]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    let chosen = InterventionDecision {
        entry: Some("3".to_owned()),
        ..InterventionDecision::new(InterventionChoice::Answer, "a test")
    };
    let taken = orchestrator.answer_and_see(&asked.id, chosen, asked.digest.clone());
    let error = tokio::time::timeout(Duration::from_mins(1), taken).await.unwrap().unwrap_err();
    assert!(matches!(error, RequestError::AnswerNotTaken { .. }), "{error:?}");
    assert!(error.to_string().contains("Enter was not pressed"), "{error}");
    assert!(!keys(base.path()).contains("0d"), "{}", keys(base.path()));
    // The question is back, with the reason.
    let again = intervention(&mut events).await;
    assert_ne!(asked.id, again.id);
    assert!(again.refused.as_deref().unwrap().contains("could not be selected"), "{again:#?}");
    let first = orchestrator.answer_and_see(&again.id, answer("1"), again.digest.clone()).await;
    assert!(first.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "Red");
    nothing_left(&id, &view);
}

/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yes_or_no_at_the_cursor_that_no_rule_knows_is_answered_by_a_person_alone() {
    let base = Base::new();
    let asks =
        "printf 'Delete everything? [y/N] '; IFS= read -r line; printf '%s' \"$line\" > got.txt";
    let states = json!({"interaction_idle": {"pattern": "^never$"}});
    adapter(&base, asks, &states, &["confirmYes"]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.rule.as_deref(), Some("generic:yes-no"));
    assert_eq!(read(&base.path().join("got.txt")), "", "no handler has answered");
    let taken = orchestrator.answer_and_see(&asked.id, answer("n"), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "n");
    nothing_left(&id, &view);
}
