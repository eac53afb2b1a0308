//! Menus of real programs: an answer is exactly one of their entries.

use std::path::Path;
use std::time::Duration;

use coven_model::event::InterventionDecision;
use coven_model::{InterventionChoice, InterventionKind, WorkflowStatus};
use coven_orchestrator::{Orchestrator, RequestError};
use coven_testkit::folders::files_with;
use serde_json::json;

use crate::handlers::{adapter, adapter_with, open, read, task};
use crate::support::{Base, end, intervention, nothing_left, until};

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

/// Spec: C1.9.1, AD.2.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_menu_whose_selected_entry_is_only_lit_is_answered_with_one_of_its_entries() {
    let base = Base::new();
    let mark = r"if [ $i = $n ]; then printf ' \xe2\x9d\xaf '; else printf '   '; fi";
    let lit = r"if [ $i = $n ]; then printf '\033[7m'; else printf '\033[m'; fi";
    let menu = MENU.replace(mark, lit).replace("'%d. %s\\r\\n' $((i + 1))", "'  %s\\033[m\\r\\n'");
    assert!(menu.contains(lit) && !menu.contains("%d"), "{menu}");
    adapter(&base, &menu, &json!({"interaction_idle": {"pattern": "^never$"}}), &["pressEnter"]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.rule.as_deref(), Some("generic:menu"));
    let labels: Vec<&str> = asked.entries.iter().map(|entry| entry.label.as_str()).collect();
    assert_eq!(labels, ["Red", "Green", "Blue"]);
    let taken = orchestrator.answer_and_see(&asked.id, answer("Green"), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "Green");
    let pressed = keys(base.path());
    let downs = pressed.matches("42;").count();
    assert_eq!((downs, pressed.matches("0d;").count()), (1, 1), "{pressed}");
    nothing_left(&id, &view);
}

/// A program says by a signal that it asks for leave, and shows that in a way that its adapter does
/// not know: nobody knows what the adapter's keys would do there.
///
/// Spec: C0.14.2, AD.2.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_approval_that_no_rule_knows_is_for_a_person() {
    let base = Base::new();
    let announced = format!(r"printf '\033]7501;state=blocked:kind=permission\033\\'; {MENU}");
    let more = json!({
        "signals": {"osc7501": true},
        "states": {"interaction_approval": {"pattern": "^never$", "region": "tail:3"}},
        "keys": {"approve": ["Enter"], "deny": ["Esc"]},
        "autoPolicy": {"handlers": ["pressEnter"]},
    });
    adapter_with(&base, &announced, more);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(
        (asked.kind, asked.rule.as_deref()),
        (InterventionKind::Choice, Some("generic:menu"))
    );
    assert_eq!(keys(base.path()), "", "nothing was pressed");
    let taken = orchestrator.answer_and_see(&asked.id, answer("2"), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "Green");
    nothing_left(&id, &view);
}

/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_cut_off_says_how_to_see_all_of_it() {
    let base = Base::new();
    let asks = "printf 'Run this?\n  make\n  ... last 44 lines hidden ...\n(esc) '; read -r line";
    let more = json!({
        "states": {"interaction_approval": {"pattern": "^\\(esc\\)", "region": "tail:3", "begins": "^Run"}},
        "keys": {"approve": ["y"], "deny": ["Esc"], "showAll": ["Ctrl+A"]},
        "autoPolicy": {"handlers": ["pressEnter"]},
    });
    adapter_with(&base, asks, more);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert!(asked.truncated, "{asked:?}");
    let help = asked.help.as_deref();
    assert_eq!(help, Some("Attach to it and press Ctrl+A to see all of it."));
    orchestrator.cancel(&id, "a test", "it is over").await.unwrap();
    let view = end(&orchestrator, &id).await;
    nothing_left(&id, &view);
}

/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_only_waits_for_enter_is_answered_with_it() {
    for (words, given) in [
        ("Press Enter to continue", "1"),
        ("Press Enter to continue", ""),
        ("Press Enter to accept", ""),
    ] {
        let base = Base::new();
        let waits = format!(
            "printf 'All is set.\\n\\n{words} '; read -r line; printf '<%s>' \"$line\" > got.txt"
        );
        let states = json!({"interaction_idle": {"pattern": "^never$"}});
        adapter(&base, &waits, &states, &["pressEnter"]);
        let (orchestrator, id) = started(&base).await;
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let asked = intervention(&mut events).await;
        assert_eq!(asked.rule.as_deref(), Some("generic:press-key"));
        let digest = asked.digest.clone();
        let taken = orchestrator.answer_and_see(&asked.id, answer(given), digest).await;
        assert!(taken.unwrap(), "{words} {given}");
        let view = end(&orchestrator, &id).await;
        assert_eq!(read(&base.path().join("got.txt")), "<>");
        nothing_left(&id, &view);
    }
}

/// On a terminal that is too small to show everything, Enter is all that can be pressed.
///
/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_only_waits_for_enter_is_answered_with_it_on_the_smallest_terminal() {
    let base = Base::new();
    let waits = "printf 'All is set.\n\nPress Enter to continue '; read -r line; \
        printf '<%s>' \"$line\" > got.txt";
    adapter(&base, waits, &json!({"interaction_idle": {"pattern": "^never$"}}), &["pressEnter"]);
    let orchestrator = open(&base).await;
    let small = json!({"id": "ask", "adapter": "asker", "autoApprove": true, "size": "20x5"});
    let stages = json!({"id": "asks", "stages": [{"id": "s", "tasks": [small]}]});
    let id = orchestrator.execute_workflow(base.definition(&stages.to_string())).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.rule.as_deref(), Some("generic:press-key"));
    assert!(asked.truncated && asked.entries.is_empty(), "the terminal is too small to tell");
    assert_eq!(asked.help.as_deref(), Some("An empty answer presses Enter."));
    let taken = orchestrator.answer_and_see(&asked.id, answer(""), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "<>");
    nothing_left(&id, &view);
}

/// Shows two buttons, of which one is lit.
const BUTTONS: &str = r#"stty -echo -icanon -icrnl min 1; items=(Yes No); n=0
    draw() { printf '\033[2J\033[HTrust this folder?\r\n\r\n'; for i in 0 1; do
        if [ $i = $n ]; then printf '  \033[7m'; else printf '  '; fi
        printf '[ %s ]\033[0m' "${items[$i]}"; done; }
    draw
    while true; do key=$(dd bs=8 count=1 2>/dev/null | od -An -tx1 | tr -d ' '); printf '%s;' "$key" >> keys.txt
        case "$key" in
            0d) printf '%s' "${items[$n]}" > got.txt; printf '\033[2J\033[Hthanks\r\n'; exit 0;;
            MOVES) n=$((1 - n)); draw;;
        esac
    done"#;

/// Between some only Tab moves.
///
/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buttons_of_which_one_is_lit_are_answered_with_one_of_them() {
    for (moves, keys) in [("1b5b43|1b4f43", "1b5b43;0d;"), ("09", "1b5b43;09;0d;")] {
        let base = Base::new();
        let program = BUTTONS.replace("MOVES", moves);
        adapter(&base, &program, &json!({"interaction_idle": {"pattern": "^never$"}}), &[]);
        let (orchestrator, id) = started(&base).await;
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let asked = intervention(&mut events).await;
        assert_eq!(asked.rule.as_deref(), Some("generic:buttons"));
        let labels: Vec<_> = asked.entries.iter().map(|entry| &*entry.label).collect();
        assert_eq!(labels, ["Yes", "No"]);
        let taken =
            orchestrator.answer_and_see(&asked.id, answer("No"), asked.digest.clone()).await;
        assert!(taken.unwrap());
        let view = end(&orchestrator, &id).await;
        assert_eq!(read(&base.path().join("got.txt")), "No");
        assert_eq!(read(&base.path().join("keys.txt")), keys);
        nothing_left(&id, &view);
    }
}

/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_no_rule_knows_reaches_the_program_and_no_record() {
    let base = Base::new();
    let asks = "printf 'Password: '; stty -echo; read -r key; stty echo; \
        printf '%s' \"${#key}\" > got.txt";
    adapter(&base, asks, &json!({"interaction_idle": {"pattern": "^never$"}}), &["pressEnter"]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    assert_eq!(asked.rule.as_deref(), Some("generic:hidden-line"));
    assert!(asked.secret);
    let taken =
        orchestrator.answer_and_see(&asked.id, answer("swordfish"), asked.digest.clone()).await;
    assert!(taken.unwrap());
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "9");
    nothing_left(&id, &view);
    assert_eq!(files_with(base.path(), b"swordfish"), [] as [std::path::PathBuf; 0]);
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

/// An empty line stands for what the program proposes, also where it is not shown.
///
/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_answer_is_an_empty_line() {
    let base = Base::new();
    let asks = "printf 'Go on? [Y/n] '; IFS= read -r line; printf '<%s>' \"$line\" > got.txt; \
        stty -echo; printf 'Passphrase (empty for none): '; IFS= read -r key; stty echo; \
        printf '(%s)' \"$key\" >> got.txt";
    adapter(&base, asks, &json!({"interaction_idle": {"pattern": "^never$"}}), &[]);
    let (orchestrator, id) = started(&base).await;
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    for _ in 0..2 {
        let asked = intervention(&mut events).await;
        let taken = orchestrator.answer_and_see(&asked.id, answer(""), asked.digest.clone()).await;
        assert!(taken.unwrap(), "{}", asked.excerpt);
    }
    let view = end(&orchestrator, &id).await;
    assert_eq!(read(&base.path().join("got.txt")), "<>()");
    nothing_left(&id, &view);
}

/// Gives up on its first question when a file appears, and asks another at once.
fn switches(hidden: &str) -> String {
    format!(
        r#"{hidden} printf 'Run tests? (y/n) '
        until [ -e go ]; do IFS= read -r -t 0.02 line && printf 'tests <%s>\n' "$line" >> got.txt; done
        printf '\ntimed out\nDelete all files? (y/n) '; touch switched
        IFS= read -r line; printf 'delete <%s>\n' "$line" >> got.txt; exit 0"#
    )
}

/// What was decided for one question is not typed into the next, which counts as asked only after a
/// while.
///
/// Spec: C1.9.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_reaches_no_question_that_has_come_in_the_place_of_its_own() {
    for hidden in ["", "stty -echo;"] {
        let base = Base::new();
        let states = json!({"interaction_idle": {"pattern": "^never$"}});
        adapter(&base, &switches(hidden), &states, &[]);
        let (orchestrator, id) = started(&base).await;
        let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
        let asked = intervention(&mut events).await;
        std::fs::write(base.path().join("go"), "").unwrap();
        until("the next question", || base.path().join("switched").exists()).await;
        let given = orchestrator.answer_and_see(&asked.id, answer("y"), asked.digest.clone()).await;
        assert!(!matches!(given, Ok(true)), "{given:?}");
        assert_eq!(read(&base.path().join("got.txt")), "");
        let next = loop {
            let next = intervention(&mut events).await;
            if next.excerpt.contains("Delete") {
                break next;
            }
        };
        let taken = orchestrator.answer_and_see(&next.id, answer("n"), next.digest.clone()).await;
        assert!(taken.unwrap());
        let view = end(&orchestrator, &id).await;
        assert_eq!(read(&base.path().join("got.txt")), "delete <n>\n");
        nothing_left(&id, &view);
    }
}
