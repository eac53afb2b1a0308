//! Keys that are read at once and act late: behind a slow link, or in a program that is busy.

use coven_model::{AgentState, InterventionChoice};
use coven_runner::{
    AgentRunner, AgentTask, AnswerAction, AnswerError, GivenAnswer, RunnerEvent, ShownState,
};

use crate::held::adopted;
use crate::support::{Home, printed, question, scripted, state, wait};

const RULES: &str = r#"
  "states": {
    "interaction_approval": { "pattern": "^May I\\? *$", "region": "tail:1", "kind": "approval" },
    "interaction_idle": { "pattern": "^> ?", "region": "tail:1", "kind": "idle" }
  },
  "keys": { "approve": ["y"], "deny": ["n"], "submit": ["Enter"] }
"#;

fn start(home: &Home, script: &str) -> AgentRunner {
    let adapter = scripted(home, RULES, script);
    let task = AgentTask::interactive(format!("late-{}", home.path().display()), None);
    AgentRunner::start(adapter, task, &home.local()).unwrap()
}

/// A second key would answer a question that nobody has seen.
#[tokio::test]
async fn while_a_key_that_was_read_may_still_act_no_other_is_pressed() {
    let home = Home::new();
    let (go, fifo) = (home.path().join("go"), home.path().join("keys"));
    let script = "stty raw -echo; mkfifo FIFO; exec 3<>FIFO 4<&0; cat <&4 >&3 & printf 'May I? '; \
        until [ -e GO ]; do sleep 0.05; done; read -rsN1 -u3 key; \
        printf '\\r\\ngot <%s>\\r\\nMay I? ' \"$key\"; read -rsN1 -u3 -t 2 key; \
        printf '\\r\\nthen <%s>\\r\\n> ' \"$key\"; read -rsN1 -u3 key; kill $!";
    let script = script.replace("GO", go.to_str().unwrap());
    let runner = start(&home, &script.replace("FIFO", fifo.to_str().unwrap()));
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let deny = AnswerAction::Choose(InterventionChoice::Deny);
    assert_eq!(runner.answer(asked.digest, deny.clone()).await, Err(AnswerError::StillAsked));
    let asked = question(&mut events).await;
    let approve = AnswerAction::Choose(InterventionChoice::Approve);
    let result = runner.answer(asked.digest, approve).await;
    assert!(matches!(result, Err(AnswerError::MayStillAct { .. })), "{result:?}");
    std::fs::write(&go, "").unwrap();
    printed(&mut events, "got <n>").await;
    printed(&mut events, "then <>").await;
    runner.stop().await.unwrap();
}

/// What it asks since then another process has seen as little as the one that pressed the key.
///
/// Spec: C0.14.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_may_still_act_is_known_to_the_next_process() {
    let home = Home::new();
    let script = "stty raw -echo; printf 'May I? '; IFS= read -rsN1 key; exec sleep 100";
    let (adapter, place) = (scripted(&home, RULES, script), home.held());
    let task = AgentTask::interactive(format!("stray-{}", std::process::id()), None);
    let runner = AgentRunner::start(adapter.clone(), task.clone(), &place).unwrap();
    let mut events = runner.subscribe();
    let digest = question(&mut events).await.digest;
    let give = |digest, name: &str, choice| {
        let (action, name) = (AnswerAction::Choose(choice), Some(name.to_owned()));
        GivenAnswer { digest, action, name, typed: 0 }
    };
    let refused = runner.give(give(digest, "s/1", InterventionChoice::Deny)).await;
    assert_eq!(refused, Err(AnswerError::StillAsked));
    runner.detach().await;
    let runner = adopted(&place, task, adapter);
    let mut events = runner.subscribe();
    let digest = question(&mut events).await.digest;
    let refused = runner.give(give(digest, "s/2", InterventionChoice::Approve)).await;
    assert!(matches!(refused, Err(AnswerError::MayStillAct { .. })), "{refused:?}");
    runner.stop().await.unwrap();
}

/// The marks of the entries change while the mark moves, which is no other question.
#[tokio::test]
async fn a_slow_menu_is_answered_once_and_is_no_other_question_afterwards() {
    let home = Home::new();
    let script = "stty raw -echo; at=0; while :; do printf '\\033[2J\\033[HPick one\\r\\n'; \
        for row in 0 1 2 3 4; do [ $row = $at ] && printf '❯ ' || printf '  '; \
        printf 'entry %s\\r\\n' $row; done; IFS= read -rsN1 key; sleep 1.5; \
        case $key in $'\\033') IFS= read -rsN2 key; at=$((at + 1)) ;; *) break ;; esac; done; \
        printf '\\033[2J\\033[Htook %s\\r\\n> ' $at; read -rsN1 key";
    let runner = start(&home, script);
    let mut events = runner.subscribe();
    let asked = question(&mut events).await;
    let entry = AnswerAction::Entry { id: "4".to_owned(), text: None };
    runner.answer(asked.digest, entry).await.unwrap();
    let mut told = Vec::new();
    wait(&mut events, "idle", |event| match event {
        RunnerEvent::Awaiting(question) => {
            told.push(question.excerpt.clone());
            None
        }
        RunnerEvent::State(verdict) => (verdict.state == AgentState::Idle).then_some(()),
        _ => None,
    })
    .await;
    assert_eq!(told, [[""; 0]; 0], "nothing is asked again");
    assert!(runner.view().await.unwrap().snapshot.text().contains("took 3"));
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
}

/// What no rule knows counts as a question only when it has stood for some time, which a process that
/// takes an agent over has not seen.
#[tokio::test]
async fn a_question_that_no_rule_knows_is_answered_right_after_the_agent_is_taken_over() {
    let home = Home::new();
    let place = home.held();
    let script =
        "printf 'Go on? (y/n) '; read -r line; printf 'got <%s>\n> ' \"$line\"; read -r line";
    let adapter = scripted(&home, RULES, script);
    let job = format!("late-over-{}", home.path().display());
    let task = AgentTask::interactive(job, None);
    let runner = AgentRunner::start(adapter.clone(), task.clone(), &place).unwrap();
    let asked = question(&mut runner.subscribe()).await;
    assert_eq!(asked.rule, "generic:yes-no");
    runner.detach().await;
    let runner = adopted(&place, task, adapter);
    let mut events = runner.subscribe();
    runner.answer(asked.digest, AnswerAction::Text("y".to_owned())).await.unwrap();
    printed(&mut events, "got <y>").await;
    runner.stop().await.unwrap();
}

/// Whoever has to be told again is told what nobody knows.
#[tokio::test]
async fn what_nobody_knows_is_shown_again_to_whoever_asks() {
    let home = Home::new();
    let runner = start(&home, "printf 'Somewhere else now\n'; read -r line");
    let mut events = runner.subscribe();
    assert_eq!(runner.shown().await, Some(ShownState::Other), "it may still go on");
    let told = wait(&mut events, "something unknown", |event| match event {
        RunnerEvent::Unexplained(lines) => Some(lines),
        _ => None,
    });
    let told = told.await;
    assert!(told.iter().any(|line| line == "Somewhere else now"), "{told:?}");
    assert_eq!(runner.shown().await, Some(ShownState::Unexplained(told)));
    runner.stop().await.unwrap();
}
