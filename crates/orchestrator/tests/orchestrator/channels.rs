//! Agents without a terminal that are spoken to in their own protocol: they ask, are answered, take
//! messages, and go on after the process that followed them is gone.

use std::os::unix::fs::PermissionsExt;

use coven_model::event::{InterventionDecision, SessionEvent};
use coven_model::{
    InterventionChoice, InterventionKind, SessionId, TaskId, TaskStatus, WorkflowStatus,
};
use serde_json::{Value, json};

use coven_orchestrator::Orchestrator;

use crate::support::{Base, decide, end, fact, intervention, nothing_left, program, until};

/// Opens a folder whose user has an adapter with a channel: the demo agent by ACP.
async fn open(base: &Base) -> Orchestrator {
    open_changed(base, |_| {}).await
}

/// The same with an adapter that is changed.
pub(crate) async fn open_changed(base: &Base, change: impl FnOnce(&mut Value)) -> Orchestrator {
    let folder = base.path().join("config/adapters/talker");
    std::fs::create_dir_all(&folder).unwrap();
    let levels =
        ["read-only", "ask", "edits", "all"].map(|level| (level, ["--permissions", level]));
    let mut config = json!({
        "schemaVersion": 1,
        "command": "coven",
        "modes": {"headless": {"baseArgs": ["demo-agent", "--headless"], "transcript": "text"}},
        "permissions": std::collections::BTreeMap::from(levels),
        "channel": {
            "kind": "acp",
            "baseArgs": ["demo-agent", "--acp"],
            "permissions": std::collections::BTreeMap::from(levels),
        },
    });
    change(&mut config);
    std::fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let mut options = base.options();
    options.config_dir = Some(base.path().join("config"));
    Orchestrator::open(options).await.unwrap()
}

pub(crate) fn asking(prompt: &str) -> String {
    format!(
        "name: asks\ndescription: Asks without a terminal.\nsteps:\n  - {{name: work, type: agent, \
         adapter: talker, mode: headless, permissions: ask, prompt: \"{prompt}\", output: said}}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_headless_agent_asks_before_it_acts_and_its_answer_is_the_output() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let text = asking("approve echo yes >> log.txt; approve echo no >> log.txt; say all done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let channel = fact(&mut events, "its channel", |event| match event {
        SessionEvent::TaskChannel { channel, .. } => Some(channel.clone()),
        _ => None,
    })
    .await;
    assert_eq!(channel, "acp");
    let first = intervention(&mut events).await;
    assert_eq!(first.kind, InterventionKind::Approval);
    assert_eq!(first.command.as_deref(), Some("echo yes >> log.txt"));
    assert_eq!(first.tool.as_deref(), Some("shell"));
    decide(&orchestrator, &first, InterventionChoice::Approve).await;
    let second = intervention(&mut events).await;
    assert_ne!(second.digest, first.digest);
    decide(&orchestrator, &second, InterventionChoice::Deny).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(view.variables["said"].as_str().unwrap().contains("all done"), "{:?}", view.variables);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "yes\n");
    let used = fact(&mut events, "what it used up", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.usage),
        _ => None,
    });
    assert!(used.await.output_tokens.is_some_and(|tokens| tokens > 0));
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_goes_on_with_its_conversation() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let text = asking("disobey echo begun >> log.txt; approve echo never >> log.txt; say done");
    let text = text.replace("output: said", "output: said, retry: {attempts: 2, delay: 0s}");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    let job = format!("{id}/work/1");
    let agents = coven_runtime::processes::of_job(&job);
    assert!(!agents.is_empty());
    for agent in agents {
        let pid = agent.pid.to_string();
        let killed = std::process::Command::new("kill").args(["-9", &pid]).status();
        assert!(killed.unwrap().success());
    }
    let named = |ended: &coven_model::event::TaskEnded| ended.outcome.agent_session.clone();
    let mut ends = Vec::new();
    for what in ["the end of the first process", "the end of the second"] {
        ends.push(
            fact(&mut events, what, |event| match event {
                SessionEvent::TaskEnded(ended) => Some(named(ended)),
                _ => None,
            })
            .await,
        );
    }
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(ends[0].is_some() && ends[0] == ends[1], "{ends:?}");
    // It was not told to begin again.
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "begun\n");
    nothing_left(&id, &view);
}

/// Some agents have not kept what they were asked in the middle of a turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_killed_and_has_forgotten_its_conversation_is_told_its_prompt_again() {
    let base = Base::new();
    // It keeps its conversations in this folder.
    let forget = "rm -rf \"$COVEN_DEMO_HOME\"";
    let orchestrator = open_script(&base, forget, |_| {}).await;
    let text = asking("disobey echo begun >> log.txt; approve echo never >> log.txt; say done");
    let text = text.replace("output: said", "output: said, retry: {attempts: 2, delay: 0s}");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    for agent in coven_runtime::processes::of_job(&format!("{id}/work/1")) {
        let pid = agent.pid.to_string();
        std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    }
    let refused = fact(&mut events, "that it knows nothing of it", |event| match event {
        SessionEvent::TaskEnded(ended) => {
            ended.outcome.resume_refused.then(|| (ended.job.attempt, ended.outcome.reason.clone()))
        }
        _ => None,
    });
    let (attempt, reason) = refused.await;
    assert_eq!(attempt, 2);
    assert!(reason.contains("did not go on with its conversation"), "{reason}");
    let asked = intervention(&mut events).await;
    decide(&orchestrator, &asked, InterventionChoice::Deny).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let log = std::fs::read_to_string(base.path().join("log.txt")).unwrap();
    assert_eq!(log, "begun\nbegun\n");
    assert_eq!(attempts(&orchestrator, &id), 3);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_open_when_the_daemon_goes_is_answered_by_the_next_one() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let text = asking("approve echo once >> log.txt; say done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    orchestrator.close().await;
    drop((events, orchestrator));
    let orchestrator = open(&base).await;
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "once\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_after_a_long_conversation_is_answered_from_what_was_saved_of_it() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let text = asking("flood 5000000; approve echo once >> log.txt; say done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    let folder = base.attempt(&id, "work", 1);
    let saved = |name: &str| {
        let file = std::fs::read(folder.join(name)).ok()?;
        let header = serde_json::from_slice::<Value>(file.split(|byte| *byte == b'\n').next()?);
        header.ok()?["offset"].as_u64()
    };
    // Once after four megabytes, and once when it asks.
    let newest =
        || ["channel-a.snap", "channel-b.snap"].iter().filter_map(|name| saved(name)).max();
    until("its state is saved", || newest().is_some_and(|offset| offset > 5_000_000)).await;
    orchestrator.close().await;
    drop((events, orchestrator));
    let orchestrator = open(&base).await;
    decide(&orchestrator, &asked, InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "once\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_without_a_terminal_is_told_its_inputs_one_after_another() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let work = json!({
        "id": "work", "adapter": "talker", "executionMode": "headless", "permissions": "all",
        "prompt": "disobey echo one >> log.txt",
        "pendingInputs": ["disobey echo two >> log.txt", "disobey echo three >> log.txt; say end"],
    });
    let text = json!({"id": "told", "stages": [{"id": "s", "tasks": [work]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let log = std::fs::read_to_string(base.path().join("log.txt")).unwrap();
    assert_eq!(log, "one\ntwo\nthree\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_with_words_is_told_to_the_agent() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let text = asking("approve echo no >> log.txt; say done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = intervention(&mut events).await;
    let deny = InterventionDecision::new(InterventionChoice::Deny, "a test")
        .with_text("disobey echo instead >> log.txt");
    orchestrator.answer(&asked.id, deny, asked.digest.clone()).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    // The protocol has no words for a denial, so they are the next prompt.
    assert_eq!(std::fs::read_to_string(base.path().join("log.txt")).unwrap(), "instead\n");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_turn_fails_fails_its_step_with_its_words() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("fail no more tokens"))).await;
    let id = id.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Failed);
    assert!(format!("{:?}", view.errors).contains("no more tokens"), "{:#?}", view.errors);
    nothing_left(&id, &view);
}

/// Opens a folder whose agent is a script: `begin` runs before it becomes the demo agent.
pub(crate) async fn open_script(
    base: &Base,
    begin: &str,
    change: impl FnOnce(&mut Value),
) -> Orchestrator {
    let script = base.path().join("other-talker");
    let agent = program();
    let text = format!("#!/bin/sh\n{begin}\nexec {} \"$@\"\n", agent.display());
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    open_changed(base, |config| {
        config["command"] = script.display().to_string().into();
        change(config);
    })
    .await
}

/// Opens a folder whose agent is older than the first version that has a channel.
async fn open_old(base: &Base) -> Orchestrator {
    open_script(base, "[ \"$1\" = --version ] && echo 1.2.3 && exit", |config| {
        config["versionArgs"] = json!(["--version"]);
        config["channel"]["since"] = "2.0.0".into();
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_too_old_for_its_channel_is_started_without_it_and_says_so() {
    let base = Base::new();
    let orchestrator = open_old(&base).await;
    let text = asking("approve echo never >> log.txt; say done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let told = fact(&mut events, "why it is not spoken to", |event| match event {
        SessionEvent::TaskChannel { channel, fallback, .. } => {
            Some((channel.clone(), fallback.clone()))
        }
        _ => None,
    });
    let (channel, fallback) = told.await;
    let fallback = fallback.unwrap();
    assert_eq!(channel, "acp");
    assert!(fallback.contains("1.2.3 does not speak acp"), "{fallback}");
    let view = end(&orchestrator, &id).await;
    // What it would have asked about is not done.
    assert!(!base.path().join("log.txt").exists());
    assert!(view.history.iter().any(|entry| entry.text.contains("1.2.3")), "{:#?}", view.history);
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_too_old_to_be_told_more_than_its_prompt_is_not_started() {
    let base = Base::new();
    let orchestrator = open_old(&base).await;
    let work = json!({
        "id": "work", "adapter": "talker", "executionMode": "headless", "permissions": "all",
        "prompt": "disobey echo one >> log.txt", "pendingInputs": ["disobey echo two >> log.txt"],
    });
    let text = json!({"id": "told", "stages": [{"id": "s", "tasks": [work]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let reason = fact(&mut events, "its end", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.reason.clone()),
        _ => None,
    });
    let reason = reason.await;
    assert!(reason.contains("inputs") && reason.contains("does not speak acp"), "{reason}");
    assert!(!base.path().join("log.txt").exists());
    orchestrator.cancel(&id, "a test", "it is over").await.unwrap();
    end(&orchestrator, &id).await;
}

/// An agent that asks about three commands at once, and then ends its turn when all are answered or
/// it is interrupted. What it is answered is in `answers`.
const THREE_AT_ONCE: &str = r#"#!/bin/bash
ask() {
  printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1",' "$1"
  printf '"toolCall":{"toolCallId":"c%s","title":"echo %s","kind":"execute","rawInput":%s},' "$1" "$1" "$2"
  printf '"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},'
  printf '{"optionId":"no","name":"No","kind":"reject_once"}]}}\n'
}
left=3
while IFS= read -r line; do
  id=$(sed -n 's/.*"id":\([0-9]*\).*/\1/p' <<< "$line")
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}\n' "$id" ;;
    *'"session/new"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1"}}\n' "$id" ;;
    *'"session/prompt"'*)
      prompt=$id
      ask 101 '{"command":"echo 101"}'
      ask 102 '{"command":"echo 102","dangerouslyDisableSandbox":true}'
      ask 103 '{"command":"echo 103"}' ;;
    *'"session/cancel"'*)
      left=0
      printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}\n' "$prompt" ;;
    *'"id":10'*)
      option=$(sed -n 's/.*"optionId":"\([a-z]*\)".*/\1/p' <<< "$line")
      echo "$id $option" >> answers
      left=$((left - 1))
      [ $left -eq 0 ] && printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$prompt" ;;
  esac
done
"#;

async fn asks_three(base: &Base) -> Orchestrator {
    let path = base.path().join("three");
    std::fs::write(&path, THREE_AT_ONCE).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    open_changed(base, |config| {
        config["command"] = path.to_str().unwrap().into();
        config["modes"]["headless"]["baseArgs"] = json!([]);
        config["channel"] = json!({"kind": "acp", "baseArgs": []});
        config["permissions"] = json!({"ask": []});
    })
    .await
}

/// Agents run tools side by side. A person is asked about one after the other, and what is asked
/// beside a command is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_the_same_time_are_asked_one_after_another_and_answered_once_each() {
    let base = Base::new();
    let orchestrator = asks_three(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("go"))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    for (command, extras, choice) in [
        ("echo 101", &[][..], InterventionChoice::Approve),
        ("echo 102", &["dangerouslyDisableSandbox: true"], InterventionChoice::Deny),
        ("echo 103", &[], InterventionChoice::Approve),
    ] {
        let asked = intervention(&mut events).await;
        assert_eq!(asked.command.as_deref(), Some(command));
        assert_eq!(asked.extras, extras);
        let shown = extras.iter().all(|extra| asked.excerpt.contains(extra));
        assert!(shown, "{}", asked.excerpt);
        decide(&orchestrator, &asked, choice).await;
    }
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let answers = std::fs::read_to_string(base.path().join("answers")).unwrap();
    assert_eq!(answers, "101 yes\n102 no\n103 yes\n");
    let kinds = crate::support::kinds(&orchestrator, &id).await;
    let asked = kinds.iter().filter(|kind| *kind == "workflow.intervention.required").count();
    assert_eq!(asked, 3, "{kinds:?}");
    nothing_left(&id, &view);
}

/// Its work is not done and nothing follows by itself, so that somebody has to be asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_interrupted_is_brought_to_a_person() {
    let base = Base::new();
    let orchestrator = asks_three(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("go"))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    intervention(&mut events).await;
    let task = TaskId::new("work").unwrap();
    orchestrator.interrupt(&id, &task).await.unwrap();
    // Before that it may ask what it had written already.
    let mut ended = intervention(&mut events).await;
    while ended.kind == InterventionKind::Approval {
        ended = intervention(&mut events).await;
    }
    assert_eq!(ended.kind, InterventionKind::EndedTurn);
    assert!(ended.reason.contains("was interrupted"), "{}", ended.reason);
    decide(&orchestrator, &ended, InterventionChoice::Complete).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    nothing_left(&id, &view);
}

/// A program that answers the first message with an error, and waits to be ended.
const REFUSES: &str = r#"case "$*" in *--acp*)
  read -r line
  echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"there is no method initialize"}}'
  while read -r line; do :; done; exit;; esac"#;

/// A program that has never heard of its protocol.
const UNAWARE: &str = r#"case "$*" in *--acp*) echo "unknown option --acp" >&2; exit 2;; esac"#;

/// How many attempts its task has had.
pub(crate) fn attempts(orchestrator: &Orchestrator, id: &SessionId) -> u32 {
    let snapshot = orchestrator.controller(id).unwrap().snapshot();
    let run = snapshot.state().run().unwrap();
    run.task(&TaskId::new("work").unwrap()).unwrap().attempt
}

/// A refused agent is started once more without its protocol. Returns what is told about that.
pub(crate) async fn started_the_older_way(begin: &str) -> String {
    let base = Base::new();
    let orchestrator = open_script(&base, begin, |_| {}).await;
    let text = asking("approve echo never >> log.txt; say done");
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let refused = fact(&mut events, "the end of the refused attempt", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.clone()),
        _ => None,
    });
    let refused = refused.await;
    let reason = refused.outcome.channel_refused.clone().unwrap();
    assert_eq!((refused.job.attempt, refused.status), (1, TaskStatus::Pending));
    let told = fact(&mut events, "why it is not spoken to", |event| match event {
        SessionEvent::TaskChannel { job, channel, fallback } => {
            Some((job.attempt, channel.clone(), fallback.clone()))
        }
        _ => None,
    });
    assert_eq!(told.await, (2, "acp".to_owned(), Some(reason.clone())));
    let view = end(&orchestrator, &id).await;
    // What it would have asked about is not done, and the demo agent says that it could not.
    assert!(!base.path().join("log.txt").exists());
    assert_eq!(attempts(&orchestrator, &id), 2, "{:#?}", view.errors);
    assert!(view.history.iter().any(|entry| entry.text.contains(&reason)), "{:#?}", view.history);
    nothing_left(&id, &view);
    reason
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_refuses_its_protocol_is_started_without_it_and_says_so() {
    let reason = started_the_older_way(REFUSES).await;
    assert!(reason.contains("there is no method initialize"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_does_not_know_its_protocol_is_started_without_it_and_says_so() {
    let reason = started_the_older_way(UNAWARE).await;
    assert!(reason.contains("code 2") && reason.contains("unknown option --acp"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_refuses_its_protocol_is_not_started_where_it_has_inputs() {
    let base = Base::new();
    let orchestrator = open_script(&base, REFUSES, |_| {}).await;
    let work = json!({
        "id": "work", "adapter": "talker", "executionMode": "headless", "permissions": "all",
        "prompt": "disobey echo one >> log.txt", "pendingInputs": ["disobey echo two >> log.txt"],
    });
    let text = json!({"id": "told", "stages": [{"id": "s", "tasks": [work]}]}).to_string();
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let ended = fact(&mut events, "its end", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.clone()),
        _ => None,
    });
    let ended = ended.await;
    assert_eq!(ended.status, TaskStatus::Error);
    assert!(ended.outcome.reason.contains("refused to be spoken to by acp"), "{ended:?}");
    assert!(!base.path().join("log.txt").exists());
    orchestrator.cancel(&id, "a test", "it is over").await.unwrap();
    end(&orchestrator, &id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_refused_while_nothing_followed_it_is_started_the_older_way_all_the_same() {
    let base = Base::new();
    // It refuses when it is told to, which is after the orchestrator is gone.
    let (asked, go) = (base.path().join("asked"), base.path().join("go"));
    for fifo in [&asked, &go] {
        assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
    }
    let begin = format!(
        "case \"$*\" in *--acp*) read -r line; echo asked > {}; read -r line < {}\n\
         echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":-32601,\"message\":\"no\"}}}}'\n\
         exit 0;; esac",
        asked.display(),
        go.display()
    );
    let orchestrator = open_script(&base, &begin, |_| {}).await;
    let id = orchestrator.execute_workflow(base.definition(&asking("say done"))).await.unwrap();
    let waited = tokio::task::spawn_blocking(move || std::fs::read_to_string(asked).unwrap());
    assert_eq!(waited.await.unwrap(), "asked\n");
    orchestrator.close().await;
    drop(orchestrator);
    tokio::task::spawn_blocking(move || std::fs::write(go, "go\n").unwrap()).await.unwrap();
    let orchestrator = open_script(&base, &begin, |_| {}).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert!(view.variables["said"].as_str().unwrap().contains("done"), "{:?}", view.variables);
    assert_eq!(attempts(&orchestrator, &id), 2);
    nothing_left(&id, &view);
}

/// Two rounds of an agent that are meant to be one conversation.
fn rounds(base: &Base, permissions: &str) -> String {
    let verdict = r#"json {"verdict": "actionable", "reason": "never good enough"}"#;
    std::fs::write(base.path().join("verdict.txt"), verdict).unwrap();
    format!(
        "name: rounds\ndescription: Two rounds.\nsteps:\n  - {{name: work, type: agent-loop, \
         adapter: talker, mode: headless, permissions: {permissions}, prompt: \"round \
         ${{iteration}}\", arbiter: {{prompt: Good?, extra_args: [--script, verdict.txt]}}, \
         max_iterations: 2, on_max_iterations: proceed, context: continue, output: said}}\n"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_continues_the_conversation_of_the_round_before_by_a_message() {
    let base = Base::new();
    let orchestrator = open(&base).await;
    let id = orchestrator.execute_workflow(base.definition(&rounds(&base, "ask"))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let said = view.variables["said"].as_str().unwrap();
    assert!(said.contains("Before that you said: \"round 1\""), "{said}");
    nothing_left(&id, &view);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_begins_afresh_and_says_so_where_no_conversation_was_named() {
    let base = Base::new();
    // The plain text of its output names none.
    let resume = json!({"args": ["--resume", "${agentSession}"]});
    let orchestrator = open_changed(&base, |config| config["resume"] = resume).await;
    let id = orchestrator.execute_workflow(base.definition(&rounds(&base, "all"))).await.unwrap();
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let said = view.variables["said"].as_str().unwrap();
    assert!(said.contains("round 2") && !said.contains("Before"), "{said}");
    let why = "it begins afresh: work.r1 named no conversation that could be continued";
    assert!(view.history.iter().any(|entry| entry.text == why), "{:#?}", view.history);
    nothing_left(&id, &view);
}
