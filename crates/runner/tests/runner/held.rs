//! Agents under holders: they outlive their runner, and another one takes them over.

use std::time::Instant;

use coven_adapters::AgentAdapter;
use coven_model::{AgentState, Choice};
use coven_runner::{Action, AgentRunner, Found, Place, Task, past};
use coven_runtime::hold::{Adopted, Folder, adopt, rebuild};
use coven_runtime::processes;
use coven_tape::{Event as Taped, Reader};
use coven_terminal::screen::Options as ScreenOptions;

use crate::support::{DEADLINE, Home, demo, question, state};

/// A runner that died: its actor is gone, its agent is not.
async fn abandon(home: &Home, place: &Place, task: Task) -> coven_model::Digest {
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

fn adopted(place: &Place, task: Task, adapter: std::sync::Arc<dyn AgentAdapter>) -> AgentRunner {
    let folder = Folder::new(place.folder.clone().unwrap());
    let rebuilt = rebuild(&folder, &ScreenOptions::default()).unwrap();
    let Adopted::Alive(pane) = adopt(&folder, rebuilt.offset).unwrap() else {
        panic!("the agent should still run")
    };
    let past = past(&*adapter, place.folder.as_ref().unwrap(), rebuilt.offset).unwrap();
    let found = Found {
        pane: Box::new(pane),
        screen: rebuilt.screen,
        offset: rebuilt.offset,
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
    let task = Task::interactive(&*job, Some("approve touch made.txt; say done"));
    let before = abandon(&home, &place, task.clone()).await;

    let runner = adopted(&place, task, demo());
    state(&runner, AgentState::Awaiting).await;
    assert_eq!(runner.verdict().digest, Some(before.clone()));
    runner.answer(before, Action::Choose(Choice::Approve)).await.unwrap();
    state(&runner, AgentState::Idle).await;
    assert!(home.path().join("made.txt").exists());
    runner.stop().await.unwrap();
    assert_eq!(processes::of_job(&job), []);
}

/// The notes on the tape of an agent.
fn marks(place: &Place) -> Vec<String> {
    let reader = Reader::open(place.folder.as_ref().unwrap()).unwrap();
    let notes = reader.records(0).filter_map(|record| match record.unwrap().event {
        Taped::Mark(note) => Some(note),
        _ => None,
    });
    notes.collect()
}

/// Stops following an agent that is in a state, once its holder has noted that: it does so a moment
/// after it was told, and the next runner knows nothing else.
async fn detach_in(state: AgentState, runner: AgentRunner, place: &Place) {
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
    let task = Task::interactive(&*job, Some("approve touch made.txt; hang"));
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
    runner.answer(asked.digest.unwrap(), Action::Choose(Choice::Approve)).await.unwrap();
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
    let task = Task::interactive("marked", Some("say hello"));
    let runner = AgentRunner::start(demo(), task, &place).unwrap();
    state(&runner, AgentState::Idle).await;
    runner.stop().await.unwrap();
    let marks = marks(&place);
    assert!(marks.iter().any(|mark| mark.contains("\"idle\"")), "{marks:?}");
}
