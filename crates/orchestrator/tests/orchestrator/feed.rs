//! Everything that all sessions tell, in one order: over several base directories, over restarts,
//! over a killed process, and for subscribers that come late.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coven_model::{SessionId, WorkflowStatus};
use coven_orchestrator::{
    Feed, FeedEvent, FeedItem, FeedSubscription, NewSession, Options, Orchestrator, PublishedEvent,
};

use crate::support::{Base, DEADLINE, end, program};

/// Tell the child which base directory to keep, and where its feed is.
const BASE: &str = "COVEN_TEST_FEED_BASE";
const FEED: &str = "COVEN_TEST_FEED";

fn echo(word: &str) -> String {
    format!(
        "name: echo-{word}\ndescription: Says {word}.\nsteps:\n  - {{name: say, type: script, command: echo {word}, output: said}}\n"
    )
}

async fn open(base: &Base, feed: &Feed) -> Orchestrator {
    let mut options = base.options();
    options.feed = feed.clone();
    Orchestrator::open(options).await.unwrap()
}

/// A fact as the feed tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    pos: u64,
    session: SessionId,
    seq: u64,
    kind: String,
}

fn told(envelope: &FeedEvent) -> Option<Told> {
    let PublishedEvent::Fact { seq, event } = &envelope.what else {
        assert_eq!(envelope.pos, None, "what is not kept has no position");
        return None;
    };
    let (pos, session) = (envelope.pos.unwrap(), envelope.session.clone());
    Some(Told { pos, session, seq: *seq, kind: event.kind().to_owned() })
}

/// The facts of a feed up to a position.
async fn facts(events: &mut FeedSubscription, up_to: u64) -> Vec<Told> {
    let mut all = Vec::new();
    let search = async {
        while all.last().is_none_or(|last: &Told| last.pos < up_to) {
            match events.next().await.unwrap() {
                FeedItem::Event(envelope) => all.extend(told(&envelope)),
                FeedItem::Gap { oldest } => panic!("a gap before {oldest}"),
            }
        }
    };
    tokio::time::timeout(DEADLINE, search).await.unwrap_or_else(|_| panic!("never came: {up_to}"));
    all
}

/// Every position once and in order, every session's facts without a hole, from the first one on.
fn whole(all: &[Told]) -> BTreeMap<SessionId, u64> {
    let mut sessions = BTreeMap::new();
    for pair in all.windows(2) {
        assert_eq!(pair[0].pos + 1, pair[1].pos, "{pair:?}");
    }
    for fact in all {
        let last = sessions.entry(fact.session.clone()).or_insert(0);
        *last += 1;
        assert_eq!(fact.seq, *last, "{fact:?}");
    }
    sessions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_base_directories_tell_into_one_feed_in_one_order() {
    let (one, two, feed) = (Base::new(), Base::new(), Feed::in_memory());
    let (first, second) = (open(&one, &feed).await, open(&two, &feed).await);
    let mut early = feed.subscribe(None);
    assert_eq!((feed.last(), feed.oldest()), (0, 1));
    let here = first.execute_workflow(one.definition(&echo("here"))).await.unwrap();
    let there = second.execute_workflow(two.definition(&echo("there"))).await.unwrap();
    end(&first, &here).await;
    end(&second, &there).await;
    let last = feed.last();
    let live = facts(&mut early, last).await;
    let sessions = whole(&live);
    assert_eq!(sessions.keys().collect::<Vec<_>>(), [&here, &there]);
    assert!(live.iter().filter(|fact| fact.kind == "workflow.completed").count() == 2);
    let later = facts(&mut feed.subscribe(Some(0)), last).await;
    assert_eq!(live, later, "who comes later hears the same");
    let half = facts(&mut feed.subscribe(Some(last / 2)), last).await;
    assert_eq!(half[..], live[last as usize / 2..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_goes_on_after_a_restart_and_hears_of_nothing_twice() {
    let (base, folder) = (Base::new(), tempfile::tempdir().unwrap());
    let feed = Feed::open(folder.path()).unwrap();
    let orchestrator = open(&base, &feed).await;
    let first = orchestrator.execute_workflow(base.definition(&echo("first"))).await.unwrap();
    end(&orchestrator, &first).await;
    let before = facts(&mut feed.subscribe(Some(0)), feed.last()).await;
    orchestrator.close().await;
    drop((orchestrator, feed));

    let feed = Feed::open(folder.path()).unwrap();
    let orchestrator = open(&base, &feed).await;
    assert_eq!(feed.last(), before.len() as u64, "what was told is not told again");
    let mut cursor = feed.subscribe(Some(2));
    let second = orchestrator.execute_workflow(base.definition(&echo("second"))).await.unwrap();
    end(&orchestrator, &second).await;
    let all = facts(&mut cursor, feed.last()).await;
    assert_eq!(all[..before.len() - 2], before[2..]);
    let all = facts(&mut feed.subscribe(Some(0)), feed.last()).await;
    assert_eq!(whole(&all).keys().collect::<Vec<_>>(), [&first, &second]);
    orchestrator.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fact_that_was_written_down_and_never_told_is_told_at_the_next_start() {
    let (base, folder) = (Base::new(), tempfile::tempdir().unwrap());
    let feed = Feed::open(folder.path()).unwrap();
    let orchestrator = open(&base, &feed).await;
    let id = orchestrator.execute_workflow(base.definition(&echo("told"))).await.unwrap();
    end(&orchestrator, &id).await;
    orchestrator.close().await;
    let before = facts(&mut feed.subscribe(Some(0)), feed.last()).await;
    drop((orchestrator, feed));
    // As if the process had died in the middle of telling the last fact but one.
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.extension().is_some()).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 60]).unwrap();

    let feed = Feed::open(folder.path()).unwrap();
    assert_eq!(feed.last(), before.len() as u64 - 2);
    let mut follower = feed.subscribe(None);
    let orchestrator = open(&base, &feed).await;
    let after = facts(&mut feed.subscribe(Some(0)), feed.last()).await;
    assert_eq!(after, before);
    let rest = facts(&mut follower, feed.last()).await;
    assert_eq!(rest[..], before[before.len() - 2..], "whoever listened by then hears it too");
    orchestrator.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_in_the_future_gets_a_gap_and_then_what_happens() {
    let (base, feed) = (Base::new(), Feed::in_memory());
    let orchestrator = open(&base, &feed).await;
    let id = orchestrator.execute_workflow(base.definition(&echo("gap"))).await.unwrap();
    end(&orchestrator, &id).await;
    let last = feed.last();
    let mut events = feed.subscribe(Some(last + 100));
    let gap = tokio::time::timeout(DEADLINE, events.next()).await.unwrap();
    assert!(matches!(gap, Some(FeedItem::Gap { oldest: 1 })), "{gap:?}");
    let next = orchestrator.execute_workflow(base.definition(&echo("on"))).await.unwrap();
    end(&orchestrator, &next).await;
    let rest = facts(&mut events, feed.last()).await;
    assert_eq!(rest.first().map(|fact| (fact.pos, &fact.session)), Some((last + 1, &next)));
    feed.close();
    let ended = async { while events.next().await.is_some() {} };
    tokio::time::timeout(DEADLINE, ended).await.expect("a closed feed should end");
}

/// The process that is killed: keeps a base directory and its feed until its session is over.
#[test]
#[ignore = "started by the test beside it, to be killed"]
fn keeps_a_feed_until_it_is_killed() {
    let Some(base) = std::env::var_os(BASE).map(PathBuf::from) else { return };
    let feed = PathBuf::from(std::env::var_os(FEED).unwrap());
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    reactor.block_on(async {
        let mut options = Options::new(&base, crate::support::state_of(&base), program());
        options.feed = Feed::open(&feed).unwrap();
        let orchestrator = Orchestrator::open(options).await.unwrap();
        let steps: String = (0..8)
            .map(|step| format!("  - {{name: s{step}, type: script, command: echo {step}}}\n"))
            .collect();
        let text = format!("name: many\ndescription: Many steps.\nsteps:\n{steps}");
        let new = NewSession::of_definition("many.yaml", &text);
        let id = orchestrator.execute_workflow(new).await.unwrap();
        orchestrator.wait(&id, false).await.unwrap();
        orchestrator.close().await;
    });
}

fn keeper(base: &Path, feed: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "feed::keeps_a_feed_until_it_is_killed"])
        .env(BASE, base)
        .env(FEED, feed)
        .env("HOME", base)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many bytes the journals of a base directory have.
fn written(base: &Path) -> u64 {
    let sessions = std::fs::read_dir(base.join(".coven/sessions")).into_iter().flatten().flatten();
    let journals = sessions.map(|entry| entry.path().join("journal.jsonl"));
    journals.filter_map(|journal| std::fs::metadata(journal).ok()).map(|file| file.len()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_is_killed_loses_no_fact_and_tells_none_twice() {
    for moment in [1, 3000, 6000, 9000] {
        let (base, folder) = (Base::new(), tempfile::tempdir().unwrap());
        let mut child = keeper(base.path(), folder.path());
        let begun = Instant::now();
        while written(base.path()) < moment && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < DEADLINE, "never came: {moment} bytes");
            std::thread::park_timeout(Duration::from_micros(200));
        }
        child.kill().ok();
        child.wait().unwrap();

        let feed = Feed::open(folder.path()).unwrap();
        let known = feed.last();
        let mut cursor = feed.subscribe(Some(known));
        let orchestrator = open(&base, &feed).await;
        if orchestrator.list().is_empty() {
            // Killed before the first fact: the session never was, and the feed does not know it.
            assert_eq!((known, feed.last(), moment), (0, 0, 1));
            orchestrator.close().await;
            continue;
        }
        for entry in orchestrator.list() {
            orchestrator.resume(&entry.id, None).await.unwrap();
            let view = end(&orchestrator, &entry.id).await;
            assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        }
        let all = facts(&mut feed.subscribe(Some(0)), feed.last()).await;
        let sessions = whole(&all);
        assert_eq!(sessions.len(), orchestrator.list().len());
        assert_eq!(all.last().unwrap().kind, "workflow.completed");
        if known < feed.last() {
            let rest = facts(&mut cursor, feed.last()).await;
            let missed = &all[known as usize..];
            assert_eq!(rest, missed, "a cursor of the first process still holds");
        }
        orchestrator.close().await;
    }
}
