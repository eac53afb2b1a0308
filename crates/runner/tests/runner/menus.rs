//! Menus whose questions change while an entry is selected, that come back, and whose selection is
//! broken off.

use coven_model::InterventionChoice;
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, AnswerError, GivenAnswer, RunnerSubscription, TaskPlace,
    TypedInputs,
};

use crate::support::{Home, question, scripted, until};

/// Knows no menu, so that they are all found in the way that means the same in any program.
const RULES: &str = r#"
  "states": { "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" } },
  "keys": { "submit": ["Enter"] }
"#;

/// Shows menus, of which the script says the title and what Enter does.
const PRELUDE: &str = r#"
stty raw -echo
hex() { dd bs=1 count=$1 2>/dev/null | od -An -v -tx1 | tr -d ' \n'; }
paint() {
  printf '\033[H\033[2J%s\r\n' "$(title)"
  for row in 0 1 2; do
    if [ $row -eq $at ]; then printf '❯ '; else printf '  '; fi
    printf '%s\r\n' "${entries[$row]}"
  done
  foot
}
foot() { :; }
menu() {
  at=0; paint
  while :; do
    key=$(hex 1); [ $key = 1b ] && key=$(hex 2)
    key_read $key
    case $key in
      5b41) [ $at -gt 0 ] && at=$((at - 1)); paint ;;
      5b42) [ $at -lt 2 ] && at=$((at + 1)); paint ;;
      0d) enter && return ;;
    esac
  done
}
key_read() { :; }
entries=(No Yes Cancel)
title() { echo 'Deploy to staging?'; }
enter() { echo "chose ${entries[$at]}" >> chosen; }
finish() { printf '\033[H\033[2JIDLE> '; sleep 60; }
"#;

fn start(home: &Home, place: &TaskPlace, script: &str) -> (AgentRunner, RunnerSubscription) {
    start_with(home, place, RULES, script)
}

fn start_with(
    home: &Home,
    place: &TaskPlace,
    rules: &str,
    script: &str,
) -> (AgentRunner, RunnerSubscription) {
    let adapter = scripted(home, rules, &[PRELUDE, script].concat());
    let task = AgentTask::interactive(format!("menus-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, place).unwrap();
    let events = runner.subscribe();
    (runner, events)
}

fn entry(id: &str) -> AnswerAction {
    AnswerAction::Entry { id: id.to_owned(), text: None }
}

fn chosen(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("chosen")).unwrap_or_default()
}

#[tokio::test]
async fn enter_is_not_pressed_in_a_menu_whose_question_changed_on_the_way() {
    let home = Home::new();
    let script = "title() { if [ $at -eq 0 ]; then echo 'Deploy to staging?'; \
        else echo 'Deploy to PRODUCTION?'; fi; }; menu; finish";
    let (runner, mut events) = start(&home, &home.local(), script);
    let asked = question(&mut events).await;
    let error = runner.answer(asked.digest.clone(), entry("2")).await.unwrap_err();
    assert!(error.to_string().contains("the question above the menu changed"), "{error}");
    assert!(error.was_pressed());
    assert_eq!(chosen(&home), "");
    // What is asked now is another question, for which no key was pressed.
    let mut again = question(&mut events).await;
    while !again.excerpt.join("\n").contains("PRODUCTION") {
        again = question(&mut events).await;
    }
    assert!(again.excerpt.join("\n").contains("❯ Yes"), "{again:?}");
    runner.answer(again.digest, entry("2")).await.unwrap();
    assert_eq!(chosen(&home), "chose Yes\n");
    runner.stop().await.unwrap();
}

/// A person who takes the keyboard in the middle of an answer decides what comes next.
///
/// Spec: C1.9.1
#[tokio::test]
async fn an_answer_on_its_way_is_given_up_at_the_first_key_of_a_person() {
    let home = Home::new();
    let script = "title() { [ -e chosen ] && echo 'And production?' || echo 'Deploy to staging?'; }; \
        key_read() { echo $1 >> keys; until [ -e go ]; do sleep 0.05; done; }; \
        menu; menu; finish";
    let (runner, mut events) = start(&home, &home.local(), script);
    let asked = question(&mut events).await;
    let answer = {
        let runner = runner.clone();
        tokio::spawn(async move { runner.answer(asked.digest, entry("3")).await })
    };
    until(|| home.path().join("keys").exists()).await;
    runner.write(b"\x1b[B".to_vec()).await;
    runner.write(b"\r".to_vec()).await;
    let error = answer.await.unwrap().unwrap_err();
    assert_eq!(error, AnswerError::Interrupted { pressed: true });
    std::fs::write(home.path().join("go"), "").unwrap();
    // One arrow is the answer's, the other one the person's, as is the one Enter.
    until(|| chosen(&home) == "chose Cancel\n").await;
    let next = loop {
        let next = question(&mut events).await;
        if next.excerpt.join("\n").contains("And production?") {
            break next;
        }
    };
    runner.answer(next.digest, entry("2")).await.unwrap();
    assert_eq!(chosen(&home), "chose Cancel\nchose Yes\n");
    let keys = std::fs::read_to_string(home.path().join("keys")).unwrap();
    assert_eq!(keys, "5b42\n5b42\n0d\n5b42\n0d\n");
    runner.stop().await.unwrap();
}

/// On a busy machine the terminal may be set up only long after the menu was painted.
///
/// Spec: C0.4.2
#[tokio::test]
async fn a_menu_that_was_told_without_its_entries_is_told_again_with_them() {
    let home = Home::new();
    let rules = RULES.replace(
        r#""states": {"#,
        r#""states": { "asks": { "pattern": "^Deploy to staging\\?", "kind": "choice" },"#,
    );
    let script = "stty sane; at=0; paint; until [ -e go ]; do sleep 0.05; done; \
        stty raw -echo; printf '\\a'; menu; finish";
    let (runner, mut events) = start_with(&home, &home.held(), &rules, script);
    let asked = question(&mut events).await;
    assert!(asked.action.entries.is_empty(), "no key moves a mark while a line is collected");
    std::fs::write(home.path().join("go"), "").unwrap();
    let again = question(&mut events).await;
    let labels: Vec<&str> = again.action.entries.iter().map(|entry| &*entry.label).collect();
    assert_eq!(labels, ["No", "Yes", "Cancel"]);
    runner.answer(again.digest, entry("3")).await.unwrap();
    assert_eq!(chosen(&home), "chose Cancel\n");
    runner.stop().await.unwrap();
}

/// The mark is brought back only in the menu that it was moved in.
#[tokio::test]
async fn no_key_is_pressed_in_a_menu_that_replaced_the_one_that_was_asked() {
    let home = Home::new();
    // The first arrow brings up another menu, in which every key is noted.
    let script = "moved() { title() { echo 'Delete which?'; }; entries=(Alpha Beta Gamma); }; \
        key_read() { [ $1 = 5b42 ] && [ -z \"$other\" ] && other=1 && moved && return; \
        [ -n \"$other\" ] && echo $1 >> keys; }; menu; finish";
    let (runner, mut events) = start(&home, &home.local(), script);
    let asked = question(&mut events).await;
    let error = runner.answer(asked.digest, entry("3")).await.unwrap_err();
    assert!(error.was_pressed(), "{error}");
    let again = question(&mut events).await;
    assert!(again.excerpt.join("\n").contains("Delete which?"), "{again:?}");
    assert!(!home.path().join("keys").exists(), "a key went into the other menu");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_menu_that_is_painted_anew_after_enter_may_have_taken_it() {
    let home = Home::new();
    let (runner, mut events) = start(&home, &home.local(), "menu; menu; finish");
    let asked = question(&mut events).await;
    let error = runner.answer(asked.digest, entry("1")).await.unwrap_err();
    assert!(error.to_string().contains("may have been taken"), "{error}");
    let again = question(&mut events).await;
    assert!(again.repeated, "only a person may answer it");
    runner.answer(again.digest, entry("1")).await.unwrap();
    assert_eq!(chosen(&home), "chose No\nchose No\n");
    runner.stop().await.unwrap();
}

#[tokio::test]
async fn a_menu_that_is_not_painted_after_enter_has_not_taken_it() {
    let home = Home::new();
    let clock = "( while :; do printf '\\0337\\033[20;1H%s\\0338' $((n += 1)); sleep 0.2; done ) &";
    let script = format!("enter() {{ return 1; }}; {clock} menu");
    let (runner, mut events) = start(&home, &home.local(), &script);
    let asked = question(&mut events).await;
    let result = runner.answer(asked.digest, entry("1")).await;
    assert_eq!(result, Err(AnswerError::StillAsked), "something else is painted");
    runner.stop().await.unwrap();
}

/// A process that dies on the way leaves a mark that nobody put there, and perhaps an answer.
#[tokio::test]
async fn keys_that_select_an_entry_are_noted_and_not_forgotten() {
    let home = Home::new();
    let place = home.held();
    let (runner, mut events) = start(&home, &place, "menu; menu; finish");
    let asked = question(&mut events).await;
    let name = || Some("asked/1".to_owned());
    let given = |typed| GivenAnswer {
        digest: asked.digest.clone(),
        action: entry("3"),
        name: name(),
        typed,
    };
    runner.give(given(0)).await.unwrap();
    assert_eq!(chosen(&home), "chose Cancel\n");
    let folder = place.folder.as_ref().unwrap();
    assert_eq!(TypedInputs::read(folder).unwrap().answer("asked/1"), 3);
    let error = runner.give(given(1)).await.unwrap_err();
    assert!(error.was_pressed(), "{error}");
    assert!(!error.to_string().contains("nothing was pressed"), "{error}");
    assert_eq!(chosen(&home), "chose Cancel\n");
    runner.stop().await.unwrap();
}

/// Knows its dialog only while the first entry is selected, as the keys that accept it begin there,
/// and a dialog of any kind otherwise: so a key that moves the mark changes the rule.
const DIALOG_RULES: &str = r#"
  "states": {
    "interaction_dialog": { "pattern": "^Enter to confirm", "region": "tail:1", "kind": "dialog" },
    "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" }
  },
  "dialogs": [ { "name": "deploy", "pattern": "❯ No[\\s\\S]*Enter to confirm",
    "begins": "^Deploy", "answers": { "accept": ["Down", "Enter"] } } ],
  "keys": { "submit": ["Enter"] }
"#;

/// Spec: C1.9.1
#[tokio::test]
async fn the_keys_of_a_dialog_go_on_where_the_first_of_them_has_moved_its_mark() {
    let home = Home::new();
    let script = "foot() { printf 'Enter to confirm\\r\\n'; }; menu; finish";
    let adapter = scripted(&home, DIALOG_RULES, &[PRELUDE, script].concat());
    let task = AgentTask::interactive(format!("menus-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    assert_eq!(asked.dialog.as_deref(), Some("deploy"));
    runner.answer(asked.digest, AnswerAction::Choose(InterventionChoice::Approve)).await.unwrap();
    assert_eq!(chosen(&home), "chose Yes\n");
    runner.stop().await.unwrap();
}
