//! Agents under holders: they outlive their runner, and another one takes them over.

use std::time::Instant;

use coven_adapters::AgentAdapter;
use coven_model::{AgentState, InterventionChoice};
use coven_runner::{AgentRunner, AgentTask, AnswerAction, FoundAgent, TaskPlace, past};
use coven_runtime::hold::{Adopted, HolderFolder, adopt, rebuild};
use coven_runtime::processes;
use coven_tape::{TapeEvent as Taped, TapeReader};
use coven_terminal::screen::Options as ScreenOptions;

use crate::support::{DEADLINE, Home, demo, question, state};

/// A runner that died: its actor is gone, its agent is not.
async fn abandon(home: &Home, place: &TaskPlace, task: AgentTask) -> coven_model::ContentDigest {
    let (place, adapter) = (place.clone(), demo());
    let _ = home;
    // The actor lives on a reactor of its own, which ends with this thread as a killed one would.
    let digest = std::thread::spawn(move || {
        let reactor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        reactor.block_on(async {
            let runner = AgentRunner::start(adapter, task, &place).unwrap();
            let mut events = runner.subscribe();
            question(&mut events).await.digest
        })
    });
    tokio::task::spawn_blocking(move || digest.join().unwrap()).await.unwrap()
}

pub(crate) fn adopted(
    place: &TaskPlace,
    task: AgentTask,
    adapter: std::sync::Arc<dyn AgentAdapter>,
) -> AgentRunner {
    let folder = HolderFolder::new(place.folder.clone().unwrap());
    let rebuilt = rebuild(&folder, &ScreenOptions::default()).unwrap();
    let Adopted::Alive(pane) = adopt(&folder, rebuilt.offset).unwrap() else {
        panic!("the agent should still run")
    };
    let past = past(&*adapter, place.folder.as_ref().unwrap(), rebuilt.offset).unwrap();
    let found = FoundAgent {
        pane: Box::new(pane),
        screen: rebuilt.screen,
        offset: rebuilt.offset,
        exact: rebuilt.exact,
        past,
        folder: place.folder.clone(),
    };
    AgentRunner::adopt(adapter, task, found).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_adopted_agent_asks_the_same_question_with_the_same_digest() {
    let home = Home::new();
    let place = home.held();
    let job = format!("adopted-{}", std::process::id());
    let task = AgentTask::interactive(&*job, Some("approve touch made.txt; say done"));
    let before = abandon(&home, &place, task.clone()).await;

    let runner = adopted(&place, task, demo());
    state(&runner, AgentState::Awaiting).await;
    assert_eq!(runner.verdict().digest, Some(before.clone()));
    runner.answer(before, AnswerAction::Choose(InterventionChoice::Approve)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(home.path().join("made.txt").exists());
    runner.stop().await.unwrap();
    assert_eq!(processes::of_job(&job), []);
}

/// The notes on the tape of an agent about what it does.
fn marks(place: &TaskPlace) -> Vec<String> {
    let reader = TapeReader::open(place.folder.as_ref().unwrap()).unwrap();
    let notes = reader.records(0).filter_map(|record| match record.unwrap().event {
        Taped::Mark(note) => Some(note).filter(|note| note.starts_with('{')),
        _ => None,
    });
    notes.collect()
}

/// Stops following an agent that is in a state, once its holder has noted that: it does so a moment
/// after it was told, and the next runner knows nothing else.
async fn detach_in(state: AgentState, runner: AgentRunner, place: &TaskPlace) {
    runner.detach().await;
    let deadline = Instant::now() + DEADLINE;
    let wanted = format!("\"state\":\"{state}\"");
    while !marks(place).last().is_some_and(|mark| mark.contains(&wanted)) {
        assert!(Instant::now() < deadline, "never noted as {state}: {:?}", marks(place));
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_found_again_and_again_asks_what_it_asked_since_it_asked() {
    let home = Home::new();
    let place = home.held();
    let job = format!("found-{}", std::process::id());
    let task = AgentTask::interactive(&*job, Some("approve touch made.txt; hang"));
    let runner = AgentRunner::start(demo(), task.clone(), &place).unwrap();
    state(&runner, AgentState::Awaiting).await;
    let (asked, since) = (runner.verdict(), runner.since());
    detach_in(AgentState::Awaiting, runner, &place).await;
    for _ in 0..3 {
        let runner = adopted(&place, task.clone(), demo());
        state(&runner, AgentState::Awaiting).await;
        assert_eq!(runner.verdict().digest, asked.digest);
        assert_eq!(
            (runner.since(), runner.verdict().evidence.since),
            (since, asked.evidence.since)
        );
        detach_in(AgentState::Awaiting, runner, &place).await;
    }
    let runner = adopted(&place, task.clone(), demo());
    state(&runner, AgentState::Awaiting).await;
    runner
        .answer(asked.digest.unwrap(), AnswerAction::Choose(InterventionChoice::Approve))
        .await
        .unwrap();
    state(&runner, AgentState::Working).await;
    let working = runner.since();
    assert!(working > since, "{working} {since}");
    detach_in(AgentState::Working, runner, &place).await;
    let runner = adopted(&place, task, demo());
    state(&runner, AgentState::Working).await;
    assert_eq!(runner.since(), working);
    runner.stop().await.unwrap();
    assert_eq!(processes::of_job(&job), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_did_is_marked_on_its_tape() {
    let home = Home::new();
    let place = home.held();
    let task = AgentTask::interactive("marked", Some("say hello"));
    let runner = AgentRunner::start(demo(), task, &place).unwrap();
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
    let marks = marks(&place);
    assert!(marks.iter().any(|mark| mark.contains("\"idle\"")), "{marks:?}");
}
