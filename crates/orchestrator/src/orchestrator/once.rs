//! Sessions that are made once: for a request that carries a key, and for events that start
//! grimoires. `engine::trigger` tells why nothing is lost and nothing starts twice.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::{Arc, Weak};

use coven_model::event::{SessionCause, SessionEvent};
use coven_model::{ContentDigest, SessionId, WorkflowStatus};
use coven_store::JournalReader;
use coven_store::register::RegisterError;
use coven_workflow::{State, WorkflowPlan};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::make::{Prepared, TreeOrigin, new_id};
use super::{Orchestrator, OrchestratorParts};
use crate::engine::SessionStart;
use crate::engine::trigger::{self, EventMeaning, MAX_TRIGGER_DEPTH, Triggers};
use crate::error::{ExecuteError, RequestError};
use crate::options::{NewSession, SessionContent};
use crate::state::blocking::{blocking, owned};
use crate::state::{ClaimError, ClaimTerms, Claimed, Claims, Environment, PastSession};
use coven_folder::best_effort;

/// How many facts that an earlier process left are looked at in one go.
const FACTS_PER_LOOK: usize = 256;

/// Events from outside may not be taken for ours.
const RESERVED_EVENT_PREFIX: &str = "workflow.";

/// An event from outside.
#[derive(Clone, Debug, Default)]
pub struct PostedEvent {
    /// Posting the same id again is the same event. Without one, every post is a new event.
    pub id: Option<String>,
    /// Its type, which must not begin with `workflow.`.
    pub kind: String,
    /// What conditions see, and what inputs are taken from, by name.
    pub data: Map<String, Value>,
    /// The environment of the client that posts it, which the jobs of new sessions get.
    pub env: BTreeMap<OsString, OsString>,
}

/// What a posted event came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PostedOutcome {
    /// The sessions it started, now or when it was posted before.
    pub started: Vec<SessionId>,
    /// Why grimoires that wait for events of this type were not started.
    pub problems: Vec<String>,
}

/// What an orchestrator needs to make sessions once.
#[derive(Debug)]
pub(super) struct SessionMaker {
    claims: Claims,
    triggers: Triggers,
    /// Only one session at a time is claimed and made.
    making: Mutex<()>,
    /// Sessions that were made and are to begin.
    waiting: Mutex<Vec<SessionId>>,
    wake: Arc<Notify>,
    /// Lets them begin, in the background.
    starter: Mutex<Option<JoinHandle<()>>>,
}

impl SessionMaker {
    pub(super) fn new(claims: Claims) -> Self {
        Self {
            claims,
            triggers: Triggers::default(),
            making: Mutex::default(),
            waiting: Mutex::default(),
            wake: Arc::default(),
            starter: Mutex::default(),
        }
    }

    pub(super) fn claims(&self) -> &Claims {
        &self.claims
    }

    fn begin_later(&self, id: SessionId) {
        self.waiting.lock().push(id);
        self.wake.notify_one();
    }

    fn take_waiting(&self) -> Vec<SessionId> {
        std::mem::take(&mut *self.waiting.lock())
    }

    /// Ends the task that begins triggered sessions, and waits for its end. Sessions that are still
    /// waiting begin when the base directory is opened the next time.
    pub(super) async fn stop(&self) {
        let starter = self.starter.lock().take();
        if let Some(starter) = starter {
            self.wake.notify_one();
            best_effort("end what starts triggered sessions", starter.await);
        }
    }
}

/// A session that was made once for a key.
pub(super) struct MadeOnce {
    pub(super) id: SessionId,
    /// Whether no earlier request had made it.
    is_new: bool,
    /// Whether it is to begin and was not handed on to an actor by this call.
    is_waiting: bool,
}

/// Facts that were just recorded, with what they are looked at for.
pub(crate) struct RecordedFacts {
    pub(crate) session: SessionId,
    /// The session after them.
    pub(crate) state: State,
    pub(crate) seqs: Range<u64>,
    pub(crate) facts: Arc<Vec<SessionEvent>>,
    pub(crate) env: Arc<Environment>,
}

impl RecordedFacts {
    /// Whether any of these facts can start a session.
    pub(crate) fn can_start(facts: &[SessionEvent]) -> bool {
        facts.iter().any(trigger::can_start)
    }
}

/// The way from a session's actor to those that its facts start. Once the orchestrator is gone
/// nothing is looked at any more, and the next one does that. All of it waits on the disk.
#[derive(Clone, Debug)]
pub(crate) struct TriggerStarter {
    shared: Weak<OrchestratorParts>,
}

impl TriggerStarter {
    fn orchestrator(&self) -> Option<Orchestrator> {
        self.shared.upgrade().map(|shared| Orchestrator { shared })
    }

    /// Whether it is known without a look at any file that none of these facts starts anything.
    /// Then nothing is left to do but to [`mark`](Self::mark) them, sooner or later: a process that
    /// finds them without a mark looks at them once more.
    pub(crate) fn has_nothing_for(&self, facts: &[SessionEvent]) -> bool {
        let shared = self.shared.upgrade();
        shared.is_some_and(|shared| shared.once.triggers.are_unarmed(facts))
    }

    /// Writes down that the facts up to this one were looked at. Waits on the disk.
    pub(crate) fn mark(&self, id: &SessionId, last: u64) -> Result<(), RegisterError> {
        let Some(orchestrator) = self.orchestrator() else { return Ok(()) };
        let claims = &orchestrator.shared.once.claims;
        // A session that is over has no mark, and gets none again.
        if claims.looked(id).is_some() { claims.look(id, last) } else { Ok(()) }
    }

    /// Looks at facts that were just recorded. Says what should have started and did not; an error
    /// means that it has to be tried again.
    pub(crate) fn look(&self, recorded: &RecordedFacts) -> Result<Vec<String>, ExecuteError> {
        let mut problems = Vec::new();
        if !RecordedFacts::can_start(&recorded.facts) {
            return Ok(problems);
        }
        let Some(orchestrator) = self.orchestrator() else { return Ok(problems) };
        let last = recorded.seqs.end - 1;
        for (seq, fact) in recorded.seqs.clone().zip(recorded.facts.iter()) {
            problems.append(&mut orchestrator.look_at(recorded, seq, fact)?);
        }
        let claims = &orchestrator.shared.once.claims;
        claims.look(&recorded.session, last).map_err(ClaimError::from)?;
        Ok(problems)
    }

    /// Looks at the facts that another process recorded and did not look at.
    pub(crate) fn catch_up(
        &self,
        id: &SessionId,
        state: &State,
        reader: &mut JournalReader,
        env: &Arc<Environment>,
    ) -> Result<Vec<String>, ExecuteError> {
        let Some(orchestrator) = self.orchestrator() else { return Ok(Vec::new()) };
        let Some(looked) = orchestrator.shared.once.claims.looked(id) else {
            return Ok(Vec::new());
        };
        let mut next = looked + 1;
        let mut problems = Vec::new();
        loop {
            let mut facts = Vec::new();
            for record in reader.read_from::<SessionEvent>(next).map_err(RequestError::from)? {
                facts.push(record.map_err(RequestError::from)?.fact);
                if facts.len() == FACTS_PER_LOOK {
                    break;
                }
            }
            let seqs = next..next + facts.len() as u64;
            if seqs.is_empty() {
                return Ok(problems);
            }
            next = seqs.end;
            let (session, state) = (id.clone(), state.clone());
            let facts = Arc::new(facts);
            let recorded = RecordedFacts { session, state, seqs, facts, env: env.clone() };
            problems.append(&mut self.look(&recorded)?);
        }
    }

    /// Says that the facts of a session that was over are to be looked at again from here on.
    pub(crate) fn follow(&self, id: &SessionId, last: u64) -> Result<(), RegisterError> {
        let Some(orchestrator) = self.orchestrator() else { return Ok(()) };
        orchestrator.shared.once.claims.follow(id, last)
    }

    /// Says that nothing more is to be looked at in a session that is over.
    pub(crate) fn strike(&self, id: &SessionId) {
        if let Some(orchestrator) = self.orchestrator()
            && orchestrator.shared.once.claims.looked(id).is_some()
        {
            // If it cannot be written down, the session is looked through once more.
            let struck = orchestrator.shared.once.claims.strike(id);
            best_effort("end the look at a session's facts", struck);
        }
    }
}

impl Orchestrator {
    /// The way back from a session's actor.
    pub(super) fn trigger_starter(&self) -> TriggerStarter {
        TriggerStarter { shared: Arc::downgrade(&self.shared) }
    }

    /// Makes a session and lets it run. Says also whether an earlier request with the same key had
    /// made it: then it is the session of that request, which may have ended or be gone since.
    ///
    /// It is made and begins also if the caller gives up waiting: half of it would be a session
    /// that never begins.
    pub async fn execute(&self, new: NewSession) -> Result<(SessionId, bool), ExecuteError> {
        let orchestrator = self.clone();
        owned(async move { orchestrator.execute_whole(new).await }).await
    }

    /// Makes a session whose trees begin at a commit and lets it run; once for a key, whenever the
    /// process that does so dies.
    pub(super) async fn execute_once_from(
        &self,
        key: String,
        new: NewSession,
        origin: TreeOrigin,
    ) -> Result<SessionId, ExecuteError> {
        let orchestrator = self.clone();
        let whole = async move {
            let maker = orchestrator.clone();
            let made = blocking(move || {
                let terms = ClaimTerms { begins: true, ..ClaimTerms::default() };
                maker.make_once_of(&key, terms, || Ok(maker.prepare(new)?.from(origin)))
            });
            orchestrator.begun(made.await?).await
        };
        owned(whole).await
    }

    /// A session that was made, and begins if it has not.
    async fn begun(&self, made: MadeOnce) -> Result<SessionId, ExecuteError> {
        let entry = self.entry(&made.id);
        let pending = entry.is_some_and(|entry| entry.status == WorkflowStatus::Pending);
        if made.is_waiting || (!made.is_new && pending) {
            self.resume(&made.id, None).await?;
        }
        Ok(made.id)
    }

    async fn execute_whole(&self, new: NewSession) -> Result<(SessionId, bool), ExecuteError> {
        let Some(key) = new.key.clone() else { return Ok((self.execute_new(new).await?, false)) };
        let orchestrator = self.clone();
        let made = blocking(move || orchestrator.make_once_for_key(&key, true, new)).await?;
        let is_known = !made.is_new;
        Ok((self.begun(made).await?, is_known))
    }

    /// The session of a key, made if there is none; says whether it was made now.
    pub(super) fn make_once_for_key(
        &self,
        key: &str,
        begins: bool,
        new: NewSession,
    ) -> Result<MadeOnce, ExecuteError> {
        let digest = digest(&new);
        // A key can be anything, and a claim is one line.
        let claimed = format!("key/{}", ContentDigest::of_bytes(key.as_bytes()));
        let terms = ClaimTerms { digest: Some(digest), depth: 0, begins };
        self.make_once(&claimed, terms, new).map_err(|error| match error {
            ExecuteError::Claim(ClaimError::Reused { .. }) => {
                ExecuteError::KeyReused { key: key.to_owned() }
            }
            other => other,
        })
    }

    fn make_once(
        &self,
        key: &str,
        terms: ClaimTerms,
        new: NewSession,
    ) -> Result<MadeOnce, ExecuteError> {
        self.make_once_of(key, terms, || self.prepare(new))
    }

    fn make_once_of(
        &self,
        key: &str,
        terms: ClaimTerms,
        prepare: impl FnOnce() -> Result<Prepared, ExecuteError>,
    ) -> Result<MadeOnce, ExecuteError> {
        let once = &self.shared.once;
        let _making = once.making.lock();
        let begins = terms.begins;
        let before = |id| MadeOnce { id, is_new: false, is_waiting: false };
        if let Some(id) = once.claims.made_for(key, terms.digest.as_ref())? {
            return Ok(before(id));
        }
        // What cannot be made claims nothing: a request that mends it may use the same key.
        let prepared = prepare()?;
        match once.claims.claim(key, terms, self.shared.manager.now(), new_id)? {
            Claimed::Made(id) => Ok(before(id)),
            Claimed::Make(id) => {
                let is_there = self.is_there(&id);
                if !is_there {
                    let start = if begins { SessionStart::Begin } else { SessionStart::Wait };
                    self.make_with_controller(prepared, &id, start)?;
                }
                once.claims.made(key).map_err(ClaimError::from)?;
                Ok(MadeOnce { id, is_new: true, is_waiting: is_there && begins })
            }
        }
    }

    /// Whether a session was made before the process that did so died. What is there of one that
    /// was not goes.
    fn is_there(&self, id: &SessionId) -> bool {
        let manager = &self.shared.manager;
        if !manager.is_own(id) || !manager.base().session_path(id).exists() {
            return false;
        }
        let past = manager.look(id).map_err(RequestError::from).and_then(PastSession::read);
        let made = match past {
            Ok(past) => past.state().run().is_some(),
            // Without a journal it was not made. One that is damaged was, and is kept.
            Err(RequestError::Journal(coven_store::journal::OpenError::Missing { .. })) => false,
            Err(_) => true,
        };
        if !made {
            // If it cannot be removed, it cannot be made either, and that says why.
            let removed = self.shared.manager.remove(id);
            best_effort("remove a session that was not made", removed);
        }
        made
    }

    /// Starts the grimoires that wait for this event, once each, and says which sessions those are.
    pub async fn post_event(&self, event: PostedEvent) -> Result<PostedOutcome, ExecuteError> {
        if event.kind.starts_with(RESERVED_EVENT_PREFIX) {
            return Err(ExecuteError::Reserved { kind: event.kind });
        }
        let id =
            event.id.as_ref().map(|id| ContentDigest::of_bytes(id.as_bytes()).as_str().to_owned());
        let key = format!("event/{}", id.unwrap_or_else(|| new_id().to_string()));
        let once = &self.shared.once;
        let mut posted = PostedOutcome::default();
        if once.claims.is_known(&key) {
            posted.started = once.claims.sessions(&format!("{key}/"));
            return Ok(posted);
        }
        let (orchestrator, kind) = (self.clone(), event.kind.clone());
        for plan in blocking(move || orchestrator.armed(&kind)).await {
            let key = format!("{key}/{}", plan.name);
            match trigger::meaning(&plan, &event.kind, &event.data) {
                EventMeaning::Nothing => {}
                EventMeaning::Problem(problem) => posted.problems.push(problem),
                EventMeaning::Starts(input) => {
                    let (orchestrator, env) = (self.clone(), event.env.clone());
                    let cause =
                        SessionCause { event: event.kind.clone(), session: None, name: None };
                    let terms = ClaimTerms { digest: None, depth: 0, begins: true };
                    let made = blocking(move || {
                        orchestrator.make_triggered(&key, terms, cause, (plan, input), &env)
                    });
                    let made = made.await?;
                    if made.is_waiting {
                        self.resume(&made.id, None).await?;
                    }
                    posted.started.push(made.id);
                }
            }
        }
        if event.id.is_some() {
            // From here on the event is over, whatever grimoires there will be.
            let orchestrator = self.clone();
            let close = move || {
                let now = orchestrator.shared.manager.now();
                orchestrator.shared.once.claims.close(&key, now)
            };
            blocking(close).await.map_err(ClaimError::from)?;
        }
        Ok(posted)
    }

    fn armed(&self, kind: &str) -> Vec<WorkflowPlan> {
        self.shared.once.triggers.armed(kind, || {
            (self.shared.options.trigger_places(&self.shared.trust.read()), self.known())
        })
    }

    /// Makes what one fact of a session starts. Says what should have started and did not.
    fn look_at(
        &self,
        recorded: &RecordedFacts,
        seq: u64,
        fact: &SessionEvent,
    ) -> Result<Vec<String>, ExecuteError> {
        let RecordedFacts { session, state, env, .. } = recorded;
        let mut problems = Vec::new();
        let (true, Some(run)) = (trigger::can_start(fact), state.run()) else {
            return Ok(problems);
        };
        let plans = self.armed(fact.kind());
        if plans.is_empty() {
            return Ok(problems);
        }
        let data = trigger::data(run, seq, fact);
        let depth = self.shared.once.claims.depth(session) + 1;
        for plan in plans {
            let name = plan.name.clone();
            let input = match trigger::meaning(&plan, fact.kind(), &data) {
                EventMeaning::Nothing => continue,
                EventMeaning::Problem(problem) => {
                    problems.push(problem);
                    continue;
                }
                EventMeaning::Starts(input) => input,
            };
            if depth > MAX_TRIGGER_DEPTH {
                problems.push(format!(
                    "`{name}` was not started: {MAX_TRIGGER_DEPTH} sessions have started one another \
                     already, and that looks like a circle"
                ));
                continue;
            }
            let key = format!("fact/{session}/{seq}/{name}");
            let cause = SessionCause {
                event: fact.kind().to_owned(),
                session: Some(session.clone()),
                name: Some(run.identity.name.clone()),
            };
            let terms = ClaimTerms { digest: None, depth, begins: true };
            match self.make_triggered(&key, terms, cause, (plan, input), env) {
                Ok(MadeOnce { id, is_waiting: true, .. }) => self.shared.once.begin_later(id),
                Ok(_) => {}
                Err(error) if error.is_storage() => return Err(error),
                Err(error) => problems.push(format!("`{name}` was not started: {error}")),
            }
        }
        Ok(problems)
    }

    fn make_triggered(
        &self,
        key: &str,
        terms: ClaimTerms,
        cause: SessionCause,
        (plan, input): (WorkflowPlan, Map<String, Value>),
        env: &Environment,
    ) -> Result<MadeOnce, ExecuteError> {
        let what = SessionContent::Plan(Box::new(plan));
        let (env, cause) = (env.clone(), Some(cause));
        let new = NewSession {
            what,
            input,
            goal: None,
            env,
            key: None,
            auto: None,
            cause,
            isolation: None,
        };
        self.make_once(key, terms, new)
    }

    /// Lets sessions begin that were made for an event, in the background: now those that an
    /// earlier process made, and from now on those that facts start.
    pub(super) fn keep_starting(&self) {
        let once = &self.shared.once;
        for entry in self.list() {
            let waits = entry.status == WorkflowStatus::Pending && !entry.foreign;
            if waits && once.claims.begins(&entry.id) {
                once.begin_later(entry.id);
            }
        }
        let (shared, wake) = (Arc::downgrade(&self.shared), once.wake.clone());
        let starter = tokio::spawn(async move {
            loop {
                let Some(shared) = shared.upgrade() else { return };
                let orchestrator = Self { shared };
                if orchestrator.is_closing() {
                    return;
                }
                for id in orchestrator.shared.once.take_waiting() {
                    if orchestrator.is_closing() {
                        return;
                    }
                    // One that cannot begin keeps no other from doing so, and is tried again when
                    // the base directory is opened the next time.
                    let begun = orchestrator.resume(&id, None).await;
                    best_effort("begin a triggered session", begun);
                }
                drop(orchestrator);
                wake.notified().await;
            }
        });
        *once.starter.lock() = Some(starter);
    }
}

/// What is asked for, in short. The environment is not part of it: a client may repeat its request
/// from another shell.
fn digest(new: &NewSession) -> ContentDigest {
    let what = match &new.what {
        SessionContent::Grimoire(name) => json!({"grimoire": name}),
        SessionContent::Definition { name, text } => json!({"name": name, "definition": text}),
        SessionContent::Plan(plan) => json!({"plan": plan}),
    };
    let mut asked = json!({"what": what, "input": new.input, "goal": new.goal, "auto": new.auto});
    // A key that was used before this could be asked for stays the same.
    if let Some(isolation) = new.isolation {
        asked["isolation"] = json!(isolation);
    }
    ContentDigest::of_bytes(asked.to_string().as_bytes())
}
