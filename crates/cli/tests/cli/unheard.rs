//! `coven audit` and agents that waited while nobody was asked.

use std::fs;
use std::time::Duration;

use coven_model::{
    AgentState, AttemptId, AwaitingKind, ContentDigest, SessionEvent, SessionId, StateMark,
    TaskStatus, Timestamp,
};
use coven_store::session::{ReadOnlySession, Session};
use coven_store::{AuthorityPlaces, BaseDir, SessionAuthority};
use coven_tape::TapeWriter;

use crate::home::Home;

/// When the planted session began.
const BEGIN: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// After how many seconds its agent was ended.
const END: u64 = 90;

fn at(seconds: u64) -> Timestamp {
    BEGIN.after(Duration::from_secs(seconds))
}

/// The facts of a session whose agent asked something and was cancelled then.
struct AskingSession {
    home: Home,
    id: SessionId,
    base: BaseDir,
    authority: SessionAuthority,
    /// Up to the question.
    before: Vec<SessionEvent>,
    /// From the question to the end.
    after: Vec<SessionEvent>,
    job: AttemptId,
    digest: ContentDigest,
}

impl AskingSession {
    fn new() -> Self {
        let home = Home::new();
        let name = home.asking("approve echo hello");
        home.coven(&["cancel", &name]).ok();
        home.coven(&["wait", &name, "--timeout", "60s"]).code(4);
        home.coven(&["daemon", "stop"]).ok();
        let base = BaseDir::find(&home.path("project")).unwrap().unwrap();
        let authority =
            SessionAuthority::open(&AuthorityPlaces::in_state(&home.path("state/coven"))).unwrap();
        let id = base.ids().unwrap().remove(0);
        let look = ReadOnlySession::open(&base, &authority, &id).unwrap();
        let mut reader = look.reader().unwrap();
        let facts = reader.read_from::<SessionEvent>(1).unwrap();
        let facts: Vec<SessionEvent> = facts.map(|record| record.unwrap().fact).collect();
        let asked = |fact: &SessionEvent| matches!(fact, SessionEvent::InterventionRequired { .. });
        let place = facts.iter().position(asked).unwrap();
        let SessionEvent::InterventionRequired { intervention, attempt } = &facts[place] else {
            unreachable!()
        };
        let task = intervention.task.clone().unwrap();
        let job = AttemptId { task, attempt: attempt.unwrap() };
        let digest = intervention.digest.clone().unwrap();
        let (before, after) = (facts[..place].to_vec(), facts[place..].to_vec());
        Self { home, id, base, authority, before, after, job, digest }
    }

    /// What closes the question without an answer, as a defect of ours would.
    fn lost(&self) -> Vec<SessionEvent> {
        let SessionEvent::InterventionRequired { intervention, .. } = &self.after[0] else {
            unreachable!()
        };
        let (id, at) = (intervention.id.clone(), at(4));
        let reason = "the agent went on by itself".to_owned();
        let (job, status) = (self.job.clone(), TaskStatus::Running);
        vec![
            SessionEvent::InterventionWithdrawn { id, reason, at },
            SessionEvent::TaskStatus { job, status, seen: u64::MAX },
            SessionEvent::WorkflowResumed { at },
        ]
    }

    fn mark(&self, state: AgentState, since: Timestamp) -> String {
        let (kind, digest) = match state {
            AgentState::Awaiting => (Some(AwaitingKind::Approval), Some(self.digest.clone())),
            _ => (None, None),
        };
        let (rule, started) = ("interaction_approval".to_owned(), Some(BEGIN));
        StateMark {
            state,
            kind,
            rule,
            asked: Some(1),
            digest,
            since: Some(since),
            started,
            start_bound: None,
        }
        .text()
    }

    /// Writes the session anew, sealed, with facts and notes on its tape at these seconds. The
    /// agent is ended then.
    fn plant(&self, facts: &[(u64, &[SessionEvent])], marks: &[(u64, String)]) {
        let folder = self.base.session_path(&self.id);
        fs::remove_dir_all(folder).unwrap();
        let mut session = Session::create(&self.base, &self.authority, &self.id).unwrap();
        session.append(BEGIN, &self.before).unwrap();
        for (seconds, facts) in facts {
            session.append(at(*seconds), facts).unwrap();
        }
        let ends = |fact: &&SessionEvent| {
            matches!(fact.kind(), "workflow.stopping" | "task.ended" | "workflow.cancelled")
        };
        let end: Vec<SessionEvent> = self.after.iter().filter(ends).cloned().collect();
        let told = facts.iter().flat_map(|(_, facts)| *facts);
        let is_open = told.fold(false, |is_open, fact| match fact.kind() {
            "workflow.intervention.required" => true,
            "workflow.intervention.withdrawn" => false,
            _ => is_open,
        });
        if is_open {
            session.append(at(END), &self.lost()[..1]).unwrap();
        }
        session.append(at(END), &end).unwrap();
        let attempt = session.make_attempt(&self.job).unwrap();
        let mut tape = TapeWriter::create(attempt.path(), coven_tape::Options::default()).unwrap();
        for (seconds, note) in marks {
            tape.mark(seconds * 1_000_000, note).unwrap();
        }
        let outcome = end.iter().find_map(|fact| match fact {
            SessionEvent::TaskEnded(ended) => Some(ended.outcome.clone()),
            _ => None,
        });
        attempt.decide(&outcome.unwrap()).unwrap();
    }

    /// From when to when nobody was asked, by `coven audit`, in seconds.
    fn unheard(&self) -> Vec<(u64, u64)> {
        let said = self.home.coven(&["audit", "--json"]);
        let report = &said.json()[0];
        let all = report["unheard"].as_array().unwrap();
        assert_eq!(said.code, i32::from(!all.is_empty()), "{report:#}");
        assert_eq!(report["findings"].as_array().unwrap().len(), all.len(), "{report:#}");
        let seconds = |moment: &serde_json::Value| {
            let moment = Timestamp::from_millis(moment.as_u64().unwrap());
            moment.since(BEGIN).as_secs()
        };
        let span = |one: &serde_json::Value| (seconds(&one["from"]), seconds(&one["to"]));
        all.iter().map(span).collect()
    }

    fn asked(&self) -> &[SessionEvent] {
        &self.after[..1]
    }
}

/// Spec: C0.14.2
#[test]
fn a_question_that_was_closed_without_an_answer_is_found() {
    let session = AskingSession::new();
    let awaits = (2, session.mark(AgentState::Awaiting, at(2)));
    // A person is asked in time, and until the end.
    session.plant(&[(3, session.asked())], std::slice::from_ref(&awaits));
    assert_eq!(session.unheard(), []);
    let lost = session.lost();
    session.plant(&[(3, session.asked()), (4, &lost)], std::slice::from_ref(&awaits));
    assert_eq!(session.unheard(), [(4, END)]);
    let said = session.home.coven(&["audit"]).code(1).out;
    let line = said.lines().find(|line| line.contains("nobody was asked")).unwrap();
    assert!(line.contains("waited for an answer (seen by interaction_approval)"), "{line}");
    assert!(line.contains(session.job.task.as_str()) && line.contains("(1m 26s)"), "{line}");
    // One that goes on does not wait.
    let works = (6, session.mark(AgentState::Working, at(6)));
    session.plant(&[(3, session.asked()), (4, &lost)], &[awaits, works]);
    assert_eq!(session.unheard(), []);
}

/// Spec: C0.14.2
#[test]
fn an_agent_that_is_unknown_or_starts_for_too_long_is_found() {
    let session = AskingSession::new();
    session.plant(&[], &[(2, session.mark(AgentState::Unknown, at(2)))]);
    assert_eq!(session.unheard(), [(22, END)]);
    session.plant(&[(23, session.asked())], &[(2, session.mark(AgentState::Unknown, at(2)))]);
    assert_eq!(session.unheard(), []);
    let starts = (0, session.mark(AgentState::Starting, BEGIN));
    session.plant(&[], std::slice::from_ref(&starts));
    assert_eq!(session.unheard(), [(60, END)], "it may start for a minute");
    session.plant(&[], &[starts, (50, session.mark(AgentState::Idle, at(50)))]);
    assert_eq!(session.unheard(), []);
}

#[test]
fn time_without_a_daemon_does_not_count_and_the_time_after_it_does() {
    let session = AskingSession::new();
    let awaits = |seconds| (seconds, session.mark(AgentState::Awaiting, at(2)));
    let left = |seconds| (seconds, "coven:left process 7 (coven)".to_owned());
    let followed = |seconds| (seconds, "coven:followed process 8 (coven)".to_owned());
    session.plant(&[], &[awaits(2), left(3)]);
    assert_eq!(session.unheard(), [], "there was no daemon");
    session.plant(&[], &[awaits(2), left(20), followed(30), awaits(31)]);
    assert_eq!(session.unheard(), [(2, 20), (31, END)]);
    session.plant(&[], &[awaits(2), left(3), followed(30)]);
    assert_eq!(session.unheard(), [(40, END)], "a daemon that never looks at it is none");
    session.plant(&[(32, session.asked())], &[awaits(2), left(3), followed(30), awaits(31)]);
    assert_eq!(session.unheard(), []);
    // Holders of before did not say when a daemon left.
    session.plant(&[(32, session.asked())], &[awaits(2), awaits(31)]);
    assert_eq!(session.unheard(), []);
    session.plant(&[], &[awaits(2), awaits(31)]);
    assert_eq!(session.unheard(), [(31, END)]);
}

/// A daemon that is killed while its agent waits leaves nothing that an audit finds.
#[test]
fn a_real_agent_that_waits_through_a_killed_daemon_is_heard() {
    let home = Home::new();
    let name = home.asking("approve echo hello");
    home.kill_daemon();
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    let report = home.coven(&["audit", "--json"]).ok().json();
    assert_eq!(report[0]["unheard"], serde_json::json!([]));
    home.coven(&["cancel", &name]).ok();
}
