//! Menus as clack paints them, answered with one of their entries.

use coven_runner::{AgentRunner, AgentTask, AnswerAction, RunnerSubscription};

use crate::support::{Home, question, scripted};

const RULES: &str = r#"
  "states": { "interaction_idle": { "pattern": "^IDLE>", "region": "cursor:1", "kind": "idle" } },
  "keys": { "submit": ["Enter"] }
"#;

/// Reads single keys and notes them. The script says how its choices are painted.
const PRELUDE: &str = r#"
stty raw -echo
hex() { dd bs=1 count=$1 2>/dev/null | od -An -v -tx1 | tr -d ' \n'; }
mark() { if [ $1 -eq $at ]; then printf '\033[32m●\033[39m %s' "$2"; else printf '\033[2m○\033[22m \033[2m%s\033[22m' "$2"; fi; }
show() { printf '\033[?25l│\r\n\033[36m◆\033[39m  %s\r\n' "$asks"; choices; printf '\033[36m└\033[39m\r\n'; }
ask() {
  at=$1 rows=$2; show
  while :; do
    key=$(hex 1); [ $key = 1b ] && key=$(hex 2)
    printf '%s;' $key >> keys
    case $key in
      0d) printf '\033[%dA\033[J◇  %s\r\n' $((rows + 2)) "$asks"; printf '%s\n' "${names[$at]}" >> chosen; return ;;
      $back) [ $at -gt 0 ] && at=$((at - 1)) ;;
      $on) [ $at -lt $((${#names[@]} - 1)) ] && at=$((at + 1)) ;;
    esac
    printf '\033[%dA\033[J' $((rows + 3)); show
  done
}
finish() { printf '\033[?25h\r\nIDLE> '; sleep 60; }
"#;

const BESIDE: &str = r"
back=5b44 on=5b43 asks='Install dependencies?' names=(Yes No)
choices() { printf '\033[36m│\033[39m  '; mark 0 Yes; printf ' \033[2m/\033[22m '; mark 1 No; printf '\r\n'; }
";

const BELOW: &str = r#"
back=5b41 on=5b42 asks='Pick a language.' names=(Rust Go C) hints=('(fast)' '(small)' '')
choices() { for row in 0 1 2; do printf '│  '; mark $row "${names[$row]}"; [ $row -eq $at ] && printf ' %s' "${hints[$row]}"; printf '\r\n'; done; }
"#;

fn start(home: &Home, script: &[&str]) -> (AgentRunner, RunnerSubscription) {
    let adapter = scripted(home, RULES, &[&[PRELUDE], script].concat().concat());
    let task = AgentTask::interactive(format!("radios-{}", home.path().display()), None);
    let runner = AgentRunner::start(adapter, task, &home.local()).unwrap();
    let events = runner.subscribe();
    (runner, events)
}

fn noted(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.path().join(name)).unwrap_or_default()
}

async fn choose(runner: &AgentRunner, events: &mut RunnerSubscription, labels: &[&str], id: &str) {
    let asked = question(events).await;
    let shown: Vec<&str> = asked.action.entries.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(shown, labels);
    let action = AnswerAction::Entry { id: id.to_owned(), text: None };
    runner.answer(asked.digest, action).await.unwrap();
}

/// Spec: C1.9.1, AD.2.1
#[tokio::test]
async fn choices_side_by_side_are_selected_with_left_and_right_before_enter() {
    for (first, id, keys, chosen) in [
        (0, "1", "0d;", "Yes\n"),
        (0, "2", "5b43;0d;", "No\n"),
        (1, "1", "5b44;0d;", "Yes\n"),
        (1, "2", "0d;", "No\n"),
    ] {
        let home = Home::new();
        let script = format!("ask {first} 1; finish");
        let (runner, mut events) = start(&home, &[BESIDE, &script]);
        choose(&runner, &mut events, &["Yes", "No"], id).await;
        assert_eq!(noted(&home, "chosen"), chosen);
        assert_eq!(noted(&home, "keys"), keys);
        runner.stop().await.unwrap();
    }
}

/// Spec: C1.9.1, AD.2.1
#[tokio::test]
async fn a_list_that_describes_only_the_selected_entry_is_answered_with_any_of_them() {
    for (first, labels, id, chosen) in [
        (0, ["Rust (fast)", "Go", "C"], "2", "Go\n"),
        (0, ["Rust (fast)", "Go", "C"], "3", "C\n"),
        (2, ["Rust", "Go", "C"], "1", "Rust\n"),
    ] {
        let home = Home::new();
        let script = format!("ask {first} 3; finish");
        let (runner, mut events) = start(&home, &[BELOW, &script]);
        choose(&runner, &mut events, &labels, id).await;
        assert_eq!(noted(&home, "chosen"), chosen);
        runner.stop().await.unwrap();
    }
}
