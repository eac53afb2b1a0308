//! Grimoires that events start: `trigger: {event: …, where: …}`.
//!
//! An event is a fact of a session of this base directory, or something that was posted from
//! outside. Each grimoire whose trigger names its type, and whose `where` is true of its data,
//! starts once for it. This file says which do; the facade makes the sessions.
//!
//! # Once each, and none lost
//!
//! A session's facts are looked at by its own actor, right after they were written down and before
//! anybody hears of them. For each match, in this order: the key `SESSION/SEQ/GRIMOIRE` is claimed
//! with the id of the session to be, on the disk ([`Claims`](crate::state::Claims)); the session is
//! made with that id; the claim says that it was made; the session begins. When all matches of some
//! facts are through, it is noted up to which fact the session was looked at.
//!
//! Wherever the process dies, the next one finds the facts that were not noted, looks at them
//! again and comes to the same keys:
//!
//! - before the claim, nothing had happened yet;
//! - between the claim and the session, the session is made now with the claimed id;
//! - between the session and its being made known, its folder is found and not made again;
//! - after that the claim alone decides, so a session that was purged meanwhile stays gone;
//! - a session that was made and did not begin is begun when the base directory is opened.
//!
//! A session cannot be purged with facts that were not looked at: for every other request it is
//! over only after its last fact was looked at. Which sessions have facts to look at is noted
//! before their first fact, so after a crash not all journals have to be searched.
//!
//! Noting is not synced. After a power cut some facts may be looked at twice; the claims are synced
//! and make sure that nothing starts twice. Only a trigger that was written in those few seconds
//! could meet a fact that is older than itself.
//!
//! # What does not start
//!
//! Grimoires of a project that is not trusted; those with errors, among them every circle of
//! grimoires that would certainly start each other. A circle that depends on more than names is cut
//! after [`MAX_TRIGGER_DEPTH`] sessions that started one another, and that is told.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use coven_model::WorkflowStatus;
use coven_model::event::SessionEvent;
use coven_workflow::catalogue::{CatalogueEntry, CataloguePaths, GrimoireCatalogue};
use coven_workflow::check::RUN_EVENTS;
use coven_workflow::plan::PlanTrigger;
use coven_workflow::state::WorkflowRun;
use coven_workflow::{CheckEnvironment, VariableScope, WorkflowPlan, bind_event};
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// How many sessions may start one another, one after the other. More is a circle.
pub(crate) const MAX_TRIGGER_DEPTH: u32 = 16;

/// Facts about steps come by the thousand; for those the folders of grimoires are looked through at
/// most this often.
const RELOAD_INTERVAL: Duration = Duration::from_millis(100);

/// Whether a fact can start anything.
pub(crate) fn can_start(event: &SessionEvent) -> bool {
    RUN_EVENTS.contains(&event.kind())
}

/// Whether nothing more is expected of a session after this fact.
pub(crate) fn is_last(event: &SessionEvent) -> bool {
    let kind = event.kind();
    matches!(kind, "workflow.completed" | "workflow.failed" | "workflow.cancelled")
}

/// Whether a fact is of a type of which a session has few: those that begin or end it, and what
/// users post. A grimoire that was written a moment before such a fact counts already.
fn is_rare(kind: &str) -> bool {
    let is_frequent = |prefix| kind.starts_with(prefix);
    let frequent =
        ["workflow.step.", "workflow.intervention.", "workflow.blocked", "workflow.resumed"];
    !frequent.into_iter().any(is_frequent)
}

/// The grimoires that events start, read again when something about them changed.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    cached: Mutex<Option<Cached>>,
}

#[derive(Debug)]
struct Cached {
    of: CatalogueInputs,
    at: Instant,
    plans: Arc<[WorkflowPlan]>,
}

impl Cached {
    fn is_fresh(&self) -> bool {
        self.at.elapsed() < RELOAD_INTERVAL
    }
}

/// Whether events of this type may start a plan.
fn is_armed(plan: &WorkflowPlan, kind: &str) -> bool {
    matches!(&plan.trigger, PlanTrigger::Event { event, .. } if event == kind)
}

/// Everything that decides which grimoires there are.
#[derive(Debug, PartialEq, Eq)]
struct CatalogueInputs {
    places: CataloguePaths,
    known: CheckEnvironment,
    files: Vec<(std::path::PathBuf, Option<SystemTime>, u64)>,
}

impl CatalogueInputs {
    fn new(places: CataloguePaths, known: CheckEnvironment) -> Self {
        let mut files = Vec::new();
        // What was agreed to of a project does not change, and nothing else of it counts.
        if let Some(folder) = &places.user {
            stamps(folder, &mut files);
        }
        files.sort();
        Self { places, known, files }
    }
}

fn stamps(folder: &Path, files: &mut Vec<(std::path::PathBuf, Option<SystemTime>, u64)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Through links, as the catalogue reads them.
        let metadata = fs::metadata(entry.path()).ok();
        let length = metadata.as_ref().map_or(0, fs::Metadata::len);
        files.push((entry.path(), metadata.and_then(|found| found.modified().ok()), length));
    }
}

impl Triggers {
    /// The plans that events of this type may start.
    pub(crate) fn armed(
        &self,
        kind: &str,
        of: impl FnOnce() -> (CataloguePaths, CheckEnvironment),
    ) -> Vec<WorkflowPlan> {
        self.plans(kind, of).iter().filter(|plan| is_armed(plan, kind)).cloned().collect()
    }

    /// Whether it is known without a look at any file that none of these facts starts anything.
    pub(crate) fn are_unarmed(&self, facts: &[SessionEvent]) -> bool {
        // A thread that holds the lock may be reading files.
        let Some(cached) = self.cached.try_lock() else { return false };
        let Some(cached) = cached.as_ref().filter(|cached| cached.is_fresh()) else { return false };
        let starts = |fact: &SessionEvent| {
            is_rare(fact.kind()) || cached.plans.iter().any(|plan| is_armed(plan, fact.kind()))
        };
        !facts.iter().any(|fact| can_start(fact) && starts(fact))
    }

    fn plans(
        &self,
        kind: &str,
        of: impl FnOnce() -> (CataloguePaths, CheckEnvironment),
    ) -> Arc<[WorkflowPlan]> {
        // One reads, the others wait for it: they would read the same.
        let mut cached = self.cached.lock();
        if let Some(cached) = &*cached
            && !is_rare(kind)
            && cached.is_fresh()
        {
            return cached.plans.clone();
        }
        let (places, known) = of();
        let of = CatalogueInputs::new(places, known);
        if let Some(cached) = &mut *cached
            && cached.of == of
        {
            cached.at = Instant::now();
            return cached.plans.clone();
        }
        let catalogue = GrimoireCatalogue::load(&of.places, &of.known);
        let usable = catalogue.entries().filter(|entry| entry.is_usable());
        let plans = usable.filter_map(|CatalogueEntry { plan, .. }| plan.clone());
        let plans: Arc<[WorkflowPlan]> =
            plans.filter(|plan| plan.trigger != PlanTrigger::Manual).collect();
        *cached = Some(Cached { of, at: Instant::now(), plans: plans.clone() });
        plans
    }
}

/// What an event means to a grimoire.
#[derive(Debug, PartialEq)]
pub(crate) enum EventMeaning {
    /// The grimoire's trigger does not want this event.
    Nothing,
    /// It starts, with these inputs.
    Starts(Map<String, Value>),
    /// It would start if something were not wrong.
    Problem(String),
}

/// What an event with this data means to a plan whose trigger names its type.
pub(crate) fn meaning(plan: &WorkflowPlan, kind: &str, data: &Map<String, Value>) -> EventMeaning {
    let PlanTrigger::Event { condition, .. } = &plan.trigger else { return EventMeaning::Nothing };
    let problem =
        |why: String| EventMeaning::Problem(format!("`{}` was not started: {why}", plan.name));
    if let Some(condition) = condition {
        let scope = VariableScope::new(data.clone()).with("type", Value::from(kind));
        match condition.evaluate(&scope) {
            Ok(true) => {}
            Ok(false) => return EventMeaning::Nothing,
            Err(error) => return problem(format!("its `where` cannot be decided: {error}")),
        }
    }
    match bind_event(plan, data) {
        Ok(input) => EventMeaning::Starts(input),
        Err(problems) => {
            let all: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            problem(all.join("; "))
        }
    }
}

/// What is known of a fact by name: what it says itself, and whose it is.
pub(crate) fn data(run: &WorkflowRun, seq: u64, event: &SessionEvent) -> Map<String, Value> {
    let mut data = match serde_json::to_value(event) {
        Ok(Value::Object(mut written)) => match written.remove("data") {
            Some(Value::Object(data)) => data,
            _ => Map::new(),
        },
        _ => Map::new(),
    };
    let identity = &run.identity;
    let mut say = |name: &str, value: Value| drop(data.insert(name.to_owned(), value));
    say("workflowId", Value::from(identity.session.as_str()));
    say("seq", Value::from(seq));
    say("name", Value::from(identity.name.as_str()));
    say("grimoire", Value::from(identity.plan.name.as_str()));
    say("goal", identity.goal.clone().map_or(Value::Null, Value::from));
    say("input", identity.input.as_ref().clone());
    say("status", Value::from(status(event).as_str()));
    if is_last(event) {
        let outputs = run.outputs().map(|(name, value)| (name.to_owned(), value.as_ref().clone()));
        say("variables", Value::Object(outputs.collect()));
    }
    data
}

/// Where a run stands with a fact. By the fact alone: it may be looked at much later.
fn status(event: &SessionEvent) -> WorkflowStatus {
    match event.kind() {
        "workflow.completed" => WorkflowStatus::Completed,
        "workflow.failed" => WorkflowStatus::Failed,
        "workflow.cancelled" => WorkflowStatus::Cancelled,
        "workflow.blocked" | "workflow.intervention.required" => WorkflowStatus::Blocked,
        _ => WorkflowStatus::Running,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::slice;

    use coven_notation::TrustedFiles;
    use coven_testkit::files::files_below;
    use serde_json::json;

    use super::*;

    fn grimoire(name: &str, trigger: &str) -> String {
        format!(
            "name: {name}\ndescription: G.\ntrigger: {trigger}\ninputs: {{spec: {{required: true, description: S}}}}\nsteps:\n  - {{name: a, type: script, command: date}}\n"
        )
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, name: &str, trigger: &str) {
            let file = self.0.path().join(format!("{name}.yaml"));
            fs::write(file, grimoire(name, trigger)).unwrap();
        }

        /// What is in the folder now, as the user agrees to it.
        fn agreed(&self) -> Arc<TrustedFiles> {
            let base = self.0.path();
            Arc::new(TrustedFiles::new(base, "/copy", files_below(base)))
        }

        fn names(&self, triggers: &Triggers, kind: &str, trusted: bool) -> Vec<String> {
            let project = Some(self.0.path().to_owned());
            let trusted = trusted.then(|| self.agreed());
            let places = CataloguePaths { user: None, project, trusted };
            let armed = triggers.armed(kind, || (places, CheckEnvironment::default()));
            armed.into_iter().map(|plan| plan.name).collect()
        }
    }

    #[test]
    fn only_trusted_grimoires_are_armed_and_a_change_counts_at_once() {
        let (folder, triggers) = (Folder::new(), Triggers::default());
        folder.write("one", "{event: deploy.finished}");
        assert_eq!(folder.names(&triggers, "deploy.finished", false), [] as [&str; 0]);
        assert_eq!(folder.names(&triggers, "deploy.finished", true), ["one"]);
        assert_eq!(folder.names(&triggers, "deploy.started", true), [] as [&str; 0]);
        folder.write("two", "{event: deploy.finished}");
        assert_eq!(folder.names(&triggers, "deploy.finished", true), ["one", "two"]);
        folder.write("one", "{event: deploy.started, where: \"1 == 1\"}");
        assert_eq!(folder.names(&triggers, "deploy.finished", true), ["two"]);
        fs::remove_file(folder.0.path().join("two.yaml")).unwrap();
        assert_eq!(folder.names(&triggers, "deploy.finished", true), [] as [&str; 0]);
    }

    #[test]
    fn facts_that_start_nothing_are_known_without_reading_for_a_moment() {
        let fact = |kind: &str, data: Value| -> SessionEvent {
            serde_json::from_value(json!({"type": kind, "data": data})).unwrap()
        };
        let begun = json!({"step": "a", "index": 0, "type": "script", "at": 1});
        let step = fact("workflow.step.started", begun);
        let rare = fact("workflow.completed", json!({"at": 1}));
        let (folder, triggers) = (Folder::new(), Triggers::default());
        folder.write("one", "{event: deploy.finished}");
        assert!(!triggers.are_unarmed(slice::from_ref(&step)), "nothing was read yet");
        // Read, and fresh for as long as the test takes.
        let read = || {
            let names = folder.names(&triggers, "deploy.finished", true);
            let later = Instant::now() + Duration::from_hours(1);
            triggers.cached.lock().as_mut().unwrap().at = later;
            names
        };
        assert_eq!(read(), ["one"]);
        assert!(triggers.are_unarmed(slice::from_ref(&step)));
        assert!(!triggers.are_unarmed(&[step.clone(), rare]), "rare facts are always looked at");
        folder.write("two", "{event: workflow.step.started, where: \"step == 'a'\"}");
        assert_eq!(read(), ["one"]);
        assert!(!triggers.are_unarmed(&[step]));
    }

    #[test]
    fn what_an_event_means_is_told_with_its_reason() {
        let folder = Folder::new();
        folder.write("one", "{event: deploy.finished, where: \"stage == 'live'\"}");
        let places = CataloguePaths {
            user: None,
            project: Some(folder.0.path().to_owned()),
            trusted: Some(folder.agreed()),
        };
        let armed =
            Triggers::default().armed("deploy.finished", || (places, CheckEnvironment::default()));
        let plan = armed[0].clone();
        let means = |data: Value| meaning(&plan, "deploy.finished", data.as_object().unwrap());
        assert_eq!(means(json!({"stage": "test", "spec": "a"})), EventMeaning::Nothing);
        let input = json!({"spec": "a"}).as_object().unwrap().clone();
        assert_eq!(means(json!({"stage": "live", "spec": "a"})), EventMeaning::Starts(input));
        let told = |data: Value| match means(data) {
            EventMeaning::Problem(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            told(json!({"stage": "live"})),
            "`one` was not started: the input `spec` is missing"
        );
        assert!(
            told(json!({"spec": "a"})).starts_with("`one` was not started: its `where` cannot")
        );
    }
}
