//! What is done in each row, and what must be true of it.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{
    AgentState, InterventionChoice, InterventionKind, SessionView, TaskId, WorkflowStatus,
};
use coven_orchestrator::{LiveEvent, PublishedEvent};
use coven_testkit::model::{ModelExchange, ModelScene, PROBE, QUESTION_ENTRIES};
use serde_json::json;

use super::{ChannelStage, WAIT_TIMEOUT, asked, decision, fact};
use crate::Found;
use crate::project::Project;

/// What a denial says. The tag tells it from what a CLI says in the user's name.
const WORDS: &str = "make it blue instead play:text";

/// How long a CLI may be silent at a limit before the row calls it silent.
const SILENCE: Duration = Duration::from_secs(45);

/// A workflow of one agent without a terminal.
pub(super) fn step(project: &Project, scene: ModelScene, permissions: &str) -> String {
    steps(project, &[(scene, permissions, "")])
}

fn steps(project: &Project, steps: &[(ModelScene, &str, &str)]) -> String {
    let mut text = "name: row\ndescription: A row.\nsteps:\n".to_owned();
    for (number, (scene, permissions, more)) in steps.iter().enumerate() {
        text += &format!(
            "  - {{name: s{number}, type: agent, adapter: {}, mode: headless, channel: true, \
             permissions: {permissions}, prompt: {scene} please, output: said{number}{more}}}\n",
            project.cli.name(),
        );
    }
    text
}

pub(super) fn must_complete(view: &SessionView) -> Result<(), String> {
    if view.status == WorkflowStatus::Completed {
        return Ok(());
    }
    Err(format!("it is {}: {:?}", view.status, view.errors))
}

/// The tool must have changed the project this often.
pub(super) fn must_run(project: &Project, wanted: usize) -> Result<(), Box<dyn Error>> {
    let ran = project.ran()?;
    if ran == wanted {
        return Ok(());
    }
    Err(format!("the tool ran {ran} times instead of {wanted}").into())
}

pub(super) async fn approve(stage: &ChannelStage<'_>) -> Found {
    let mut row = stage.begin(&step(stage.project, ModelScene::Ask, "ask")).await?;
    let asked = asked(&mut row.events).await??;
    if asked.kind != InterventionKind::Approval || asked.command.as_deref() != Some(PROBE) {
        return Err(format!("it asks {:?}: {:?}", asked.kind, asked.command).into());
    }
    must_run(stage.project, 0)?;
    stage.decide(&asked, decision(InterventionChoice::Approve)).await?;
    let view = stage.completes(&row.id).await?;
    must_run(stage.project, 1)?;
    let used = fact(&mut row.events, "what it used up", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.usage),
        _ => None,
    });
    let used = match used.await?.input_tokens {
        Some(tokens) => format!("{tokens} tokens in"),
        None => "it does not say what it used up".to_owned(),
    };
    let said = view.variables["said0"].as_str().unwrap_or_default();
    if !said.contains("All done") {
        return Err(format!("its output is {said:?}").into());
    }
    Ok(format!("asked about exactly `{PROBE}`, which ran once after the answer; {used}"))
}

pub(super) async fn deny(stage: &ChannelStage<'_>) -> Found {
    let mut row = stage.begin(&step(stage.project, ModelScene::Ask, "ask")).await?;
    let asked = asked(&mut row.events).await??;
    stage.decide(&asked, decision(InterventionChoice::Deny)).await?;
    let view = stage.ends(&row.id).await?;
    must_run(stage.project, 0)?;
    Ok(match view.status {
        WorkflowStatus::Completed => "nothing ran, and the model ended its turn".to_owned(),
        status => return Err(format!("it is {status}: {:?}", view.errors).into()),
    })
}

pub(super) async fn deny_in_words(stage: &ChannelStage<'_>) -> Found {
    let mut row = stage.begin(&step(stage.project, ModelScene::Ask, "ask")).await?;
    let asked = asked(&mut row.events).await??;
    stage.decide(&asked, decision(InterventionChoice::Deny).with_text(WORDS)).await?;
    stage.completes(&row.id).await?;
    must_run(stage.project, 0)?;
    let exchanges = stage.project.server.exchanges();
    let has = |texts: &[String]| texts.iter().any(|text| text.contains(WORDS));
    if exchanges.iter().any(|each| has(&each.results)) {
        Ok("nothing ran, and the model read the reason as the result of its call".to_owned())
    } else if exchanges.iter().any(|each| has(&each.said)) {
        Ok("nothing ran, and the model was told the reason as a message".to_owned())
    } else {
        Err("the model never heard the reason".into())
    }
}

pub(super) async fn question(stage: &ChannelStage<'_>) -> Found {
    let mut row = stage.begin(&step(stage.project, ModelScene::Question, "ask")).await?;
    let answer = QUESTION_ENTRIES[1];
    let asked = match asked(&mut row.events).await? {
        Ok(asked) => asked,
        Err(ended) => {
            let exchanges = stage.project.server.exchanges();
            let results = exchanges.iter().flat_map(|each| &each.results);
            return match results.into_iter().next() {
                // Codex asks in its plan mode alone.
                Some(told) if told.contains("unavailable") => Ok(format!("none: {told}")),
                Some(told) => Err(format!("no question: {told}, {ended}").into()),
                None => Ok("it offers its model no tool for questions here".to_owned()),
            };
        }
    };
    if asked.kind != InterventionKind::Question {
        return Err(format!("it asks {:?}: {}", asked.kind, asked.excerpt).into());
    }
    let chosen = decision(InterventionChoice::Answer).with_text(answer);
    stage.decide(&asked, chosen).await?;
    stage.completes(&row.id).await?;
    let exchanges = stage.project.server.exchanges();
    if !exchanges.iter().any(|each| each.results.iter().any(|told| told.contains(answer))) {
        return Err("the model was not told the answer".into());
    }
    Ok(format!("\"{answer}\" reached the model"))
}

pub(super) async fn two_turns(stage: &ChannelStage<'_>) -> Found {
    let prompt = |words: &str| format!("{} {words}", ModelScene::Text);
    let task = json!({
        "id": "s0", "adapter": stage.project.cli.name(), "executionMode": "headless",
        "permissions": "ask", "prompt": prompt("first"), "pendingInputs": [prompt("second")],
    });
    let text = json!({"id": "row", "stages": [{"id": "s", "tasks": [task]}]}).to_string();
    let row = stage.begin(&text).await?;
    stage.completes(&row.id).await?;
    one_conversation(&stage.project.server.exchanges(), "first", "second")?;
    Ok("two turns of one conversation in one process".to_owned())
}

/// The model was told both in one request.
fn one_conversation(
    exchanges: &[ModelExchange],
    first: &str,
    second: &str,
) -> Result<(), Box<dyn Error>> {
    let has = |each: &ModelExchange, word: &str| each.said.iter().any(|said| said.contains(word));
    if exchanges.iter().any(|each| has(each, first) && has(each, second)) {
        return Ok(());
    }
    Err("the model was not told what was said before".into())
}

/// The agent is killed while it asks; the next attempt goes on. Some CLIs keep nothing of a
/// conversation before its first answer.
pub(super) async fn resumed(stage: &ChannelStage<'_>) -> Found {
    let again = ", retry: {attempts: 2, delay: 0s}";
    let mut row = stage.begin(&steps(stage.project, &[(ModelScene::Ask, "ask", again)])).await?;
    asked(&mut row.events).await??;
    let job = format!("{}/s0/1", row.id);
    for agent in coven_runtime::processes::of_job(&job) {
        Command::new("kill").args(["-9", &agent.pid.to_string()]).status()?;
    }
    let ended = fact(&mut row.events, "the end of the process", |event| match event {
        SessionEvent::TaskEnded(_) => Some(()),
        _ => None,
    });
    ended.await?;
    let before = stage.project.server.exchanges().len();
    let mut note = "killed while it asked, it went on with the conversation".to_owned();
    let mut again = asked(&mut row.events).await?;
    // One that has forgotten its conversation is told its prompt again, in an attempt at no cost.
    if let Err(reason) = &again
        && reason.starts_with("it did not go on with its conversation")
    {
        note = format!("killed while it asked, it began afresh: {reason}");
        again = asked(&mut row.events).await?;
    }
    if let Ok(again) = again {
        note += ", and asked again";
        stage.decide(&again, decision(InterventionChoice::Deny)).await?;
    }
    stage.completes(&row.id).await?;
    must_run(stage.project, 0)?;
    // The second process is told to go on, and nothing of what the first one was told.
    let first = ModelScene::Ask.to_string();
    let exchanges = stage.project.server.exchanges();
    let knows = |each: &ModelExchange| each.said.iter().any(|said| said.contains(&first));
    if !exchanges.iter().skip(before).any(knows) {
        return Err("the model was not told what was said before".into());
    }
    Ok(note)
}

pub(super) async fn interrupt(stage: &ChannelStage<'_>) -> Found {
    let mut row = stage.begin(&step(stage.project, ModelScene::Slow, "ask")).await?;
    let server = &stage.project.server;
    let slow = |open: bool| {
        move |all: &[ModelExchange]| {
            let mut slow = all.iter().filter(|each| each.scene == Some(ModelScene::Slow));
            if open { slow.any(|each| each.open) } else { slow.all(|each| !each.open) }
        }
    };
    if !server.wait(WAIT_TIMEOUT, slow(true)) {
        return Err("it never asked the model".into());
    }
    let task: TaskId = "s0".parse()?;
    stage.orchestrator.interrupt(&row.id, &task).await?;
    if !server.wait(WAIT_TIMEOUT, slow(false)) {
        return Err("the answer of the model went on".into());
    }
    let idle = async {
        // It is idle before its first turn as well.
        let mut worked = false;
        while let Some(envelope) = row.events.next().await? {
            let PublishedEvent::Live(LiveEvent::State { verdict, .. }) = &envelope.what else {
                continue;
            };
            worked |= verdict.state == AgentState::Working;
            if worked && verdict.state == AgentState::Idle {
                return Ok(verdict.evidence.rule.clone());
            }
        }
        Err("the session closed".into())
    };
    let idle: Result<String, Box<dyn Error>> = tokio::time::timeout(WAIT_TIMEOUT, idle).await?;
    let idle = idle?;
    stage.orchestrator.send(&row.id, &task, &format!("{} next", ModelScene::Text), "test").await?;
    stage.completes(&row.id).await?;
    Ok(format!("the model's answer stopped, the agent was idle by `{idle}` and took another turn"))
}

pub(super) async fn levels(stage: &ChannelStage<'_>) -> Found {
    let text = step(stage.project, ModelScene::Shell, "read-only");
    let mut row = stage.begin(&text).await?;
    if let Ok(asked) = asked(&mut row.events).await? {
        return Err(format!("with read-only it asks: {}", asked.excerpt).into());
    }
    stage.ends(&row.id).await?;
    must_run(stage.project, 0)?;
    let mut row = stage.begin(&step(stage.project, ModelScene::Shell, "all")).await?;
    if let Ok(asked) = asked(&mut row.events).await? {
        return Err(format!("with all it asks: {}", asked.excerpt).into());
    }
    stage.completes(&row.id).await?;
    must_run(stage.project, 1)?;
    Ok("nothing ran with read-only, everything without a question with all".to_owned())
}

pub(super) async fn limit(stage: &ChannelStage<'_>) -> Found {
    let row = stage.begin(&step(stage.project, ModelScene::Limit, "ask")).await?;
    let controller = stage.orchestrator.controller(&row.id).ok_or("the session is not live")?;
    let Ok(status) = tokio::time::timeout(SILENCE, controller.wait(true)).await else {
        let task: TaskId = "s0".parse()?;
        let verdict = controller.snapshot().task(&task)?.verdict();
        let doing = verdict.map(|(verdict, _)| verdict.state);
        let tries = stage.project.server.exchanges();
        let tries = tries.iter().filter(|each| each.scene == Some(ModelScene::Limit)).count();
        return Ok(format!(
            "it says nothing and tries again by itself: {doing:?} after {SILENCE:?} and {tries} tries"
        ));
    };
    if status != WorkflowStatus::Failed {
        return Err(format!("it is {status}").into());
    }
    let view = controller.snapshot().view().cloned().ok_or("the session has no view")?;
    let error = view.errors.last().map(|entry| entry.error.clone()).unwrap_or_default();
    let names = ["limit", "quota", "429"];
    if !names.iter().any(|name| error.to_lowercase().contains(name)) {
        return Err(format!("the reason does not tell of a limit: {error}").into());
    }
    Ok(error)
}

pub(super) async fn stop(stage: &ChannelStage<'_>) -> Found {
    let row = stage.begin(&step(stage.project, ModelScene::Slow, "ask")).await?;
    let open = |all: &[ModelExchange]| all.iter().any(|each| each.scene == Some(ModelScene::Slow));
    if !stage.project.server.wait(WAIT_TIMEOUT, open) {
        return Err("it never asked the model".into());
    }
    stage.orchestrator.cancel(&row.id, super::BY, "the row is over").await?;
    let controller = stage.orchestrator.controller(&row.id).ok_or("the session is not live")?;
    tokio::time::timeout(WAIT_TIMEOUT, controller.wait(false)).await?;
    Ok("stopped in the middle of an answer, nothing is left".to_owned())
}
