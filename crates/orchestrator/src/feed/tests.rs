//! Subscribers that are slow, and what they are told then.

#![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

use coven_folder::disk_wait::Permit;
use coven_notation::SourceFile;
use coven_workflow::input::SessionSpec;
use coven_workflow::{CheckEnvironment, SessionInput, check};

use super::*;
use crate::event::LiveEvent;
use crate::state::{Clock, WorkflowSession};

/// A session on disk, and the feed it tells into.
struct Teller {
    feed: Feed,
    session: WorkflowSession,
    path: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

impl Teller {
    fn new() -> Self {
        let _permit = Permit::take();
        let folder = tempfile::tempdir().unwrap();
        let base = Arc::new(BaseDir::create(folder.path()).unwrap());
        let id = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057").unwrap();
        let key = coven_store::SealKey::from_secret(&[7; 32]);
        let authority = SessionAuthority::new(key, folder.path().join("jobs"));
        let path = base.session_path(&id);
        let mut session = WorkflowSession::create(&base, &authority, &id).unwrap();
        let text = "name: t\ndescription: T.\nsteps:\n  - {name: a, type: script, command: a}\n";
        let plan =
            check(&SourceFile::new("t.yaml", text), &CheckEnvironment::default()).plan.unwrap();
        let (name, input) = ("t".to_owned(), serde_json::Map::new());
        let creation = SessionSpec {
            repository: None,
            no_trees: None,
            session: id.clone(),
            name,
            plan,
            input,
            goal: None,
            base_dir: None,
            auto: None,
            cause: None,
        };
        let (facts, _) =
            session.decide(SessionInput::Create(Box::new(creation)), Clock::system().now());
        session.record_here(&facts, Clock::system().now()).unwrap();
        let feed = Feed::in_memory();
        feed.locate(base.path(), &authority, [&id]);
        let mut teller = Self { feed, session, path, _folder: folder };
        teller.tell(1, facts.into_iter().next().unwrap());
        teller
    }

    fn tell(&mut self, seq: u64, event: SessionEvent) {
        let what = PublishedEvent::Fact { seq, event: Arc::new(event) };
        self.feed.tell(self.session.id(), Clock::system().now(), what);
    }

    /// Records a fact and tells it.
    fn fact(&mut self) {
        let _permit = Permit::take();
        let fact = SessionEvent::WorkflowBlocked { at: Clock::system().now() };
        let seq = self
            .session
            .record_here(std::slice::from_ref(&fact), Clock::system().now())
            .unwrap()
            .seqs
            .start;
        self.tell(seq, fact);
    }

    fn live(&self) {
        self.feed.tell(
            self.session.id(),
            Clock::system().now(),
            PublishedEvent::Live(LiveEvent::Restored),
        );
    }
}

/// The numbers of the facts that a subscriber is told, up to this one.
async fn seqs(events: &mut FeedSubscription, last: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.last() != Some(&last) {
        let Some(FeedItem::Event(envelope)) = events.next().await else { panic!("no gap, no end") };
        if let PublishedEvent::Fact { seq, .. } = envelope.what {
            seqs.push(seq);
        }
    }
    seqs
}

#[tokio::test]
async fn a_subscriber_that_is_much_too_slow_misses_no_fact_and_hears_none_twice() {
    let mut teller = Teller::new();
    let mut slow = teller.feed.subscribe(None);
    for round in 0..300 {
        teller.fact();
        for _ in 0..(2 * MAX_EVENT_LAG / 300) {
            teller.live();
        }
        if round == 150 {
            // It wakes up once in between.
            assert_eq!(seqs(&mut slow, 100).await, (2..=100).collect::<Vec<_>>());
        }
    }
    assert_eq!(seqs(&mut slow, 301).await, (101..=301).collect::<Vec<_>>());
    teller.fact();
    assert_eq!(seqs(&mut slow, 302).await, [302], "and from here on it is told as it happens");
}

#[tokio::test]
async fn facts_of_a_session_that_is_gone_are_passed_over() {
    let mut teller = Teller::new();
    teller.fact();
    std::fs::remove_dir_all(&teller.path).unwrap();
    let mut events = teller.feed.subscribe(Some(0));
    teller.tell(
        3,
        SessionEvent::SessionDeleted { by: "a test".to_owned(), at: Clock::system().now() },
    );
    teller.live();
    assert_eq!(seqs(&mut events, 3).await, [3]);
    teller.feed.close();
    while let Some(item) = events.next().await {
        assert!(matches!(item, FeedItem::Event(FeedEvent { what: PublishedEvent::Live(_), .. })));
    }
}

#[tokio::test]
async fn facts_that_cannot_be_read_now_are_a_gap_and_not_left_out_in_silence() {
    let mut teller = Teller::new();
    teller.fact();
    let folder = teller.path.clone();
    let away = folder.with_file_name("away");
    std::fs::rename(&folder, &away).unwrap();
    let mut events = teller.feed.subscribe(Some(0));
    assert!(matches!(events.next().await, Some(FeedItem::Gap { oldest: 1 })));
    std::fs::rename(&away, &folder).unwrap();
    teller.fact();
    assert_eq!(seqs(&mut events, 3).await, [3], "it goes on from there");
}
