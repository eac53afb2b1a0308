//! Steps without a process. A job that is none does not exist in a workflow, so the actor of a
//! session is left out: what it does for each thing that happens is done here in a row. Decide,
//! one durable append, fold, and the readable view when it is due.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use coven_model::{JobOutcome, ProcessEnding, SessionId, Timestamp, WorkflowStatus};
use coven_notation::SourceFile;
use coven_store::{BaseDir, Registry, Session};
use coven_workflow::input::SessionSpec;
use coven_workflow::view::SessionViewBuilder;
use coven_workflow::{CheckEnvironment, Command, SessionInput, State, check, decide, fold};
use serde_json::Map;

use crate::Plan;
use crate::place::{Place, scripts};

/// Between two writes of the readable view, as the session actor has it.
const VIEW_INTERVAL: Duration = Duration::from_millis(100);

/// What steps without a process take.
pub(crate) struct Alone {
    pub(crate) took: Duration,
    /// How many appends there were.
    pub(crate) appends: usize,
    /// As many bare writes of as many bytes, each with a sync.
    pub(crate) bare: Duration,
}

pub(crate) fn measure(plan: &Plan) -> Result<Alone, Box<dyn Error>> {
    let mut best: Option<Alone> = None;
    for _ in 0..plan.rounds {
        let place = Place::new()?;
        let begun = Instant::now();
        let written = write(&place, &scripts(plan.in_process, false))?;
        let took = begun.elapsed();
        if written.status != WorkflowStatus::Completed {
            return Err(format!("the run ended as {}", written.status).into());
        }
        let bare = bare(&place, &written.lengths)?;
        let round = Alone { took, appends: written.lengths.len(), bare };
        if best.as_ref().is_none_or(|best| round.took < best.took) {
            best = Some(round);
        }
    }
    best.ok_or_else(|| "nothing was measured".into())
}

/// A run that was written down.
pub(crate) struct Written {
    pub(crate) id: SessionId,
    pub(crate) status: WorkflowStatus,
    /// How many bytes each append had.
    lengths: Vec<usize>,
}

/// Runs a definition without its jobs: each succeeds at once. Leaves its journal on the disk.
pub(crate) fn write(place: &Place, definition: &str) -> Result<Written, Box<dyn Error>> {
    let known = CheckEnvironment::new(["demo"]);
    let checked = check(&SourceFile::new("bench.yaml", definition), &known);
    let plan = checked.plan.ok_or("the definition is wrong")?;
    let id = SessionId::new("01890a5d-ac96-774b-bcce-b302099a8057")?;
    let base = BaseDir::create(place.path())?;
    let authority = place.authority()?;
    let key = authority.key().public();
    Registry::open(&place.state(), &base, key, |_| false)?.register(&id)?;
    let mut session = Session::create(&base, &authority, &id)?;
    let creation = SessionSpec {
        repository: None,
        no_trees: None,
        session: id.clone(),
        name: "brisk-otter".to_owned(),
        plan,
        input: Map::new(),
        goal: None,
        base_dir: None,
        auto: None,
        cause: None,
    };
    let mut inputs =
        VecDeque::from([SessionInput::Create(Box::new(creation)), SessionInput::Begin]);
    let (mut state, mut viewer, mut lengths) =
        (State::default(), SessionViewBuilder::default(), Vec::new());
    let mut view_at = None;
    let mut now = 1_700_000_000_000;
    while let Some(input) = inputs.pop_front() {
        now += 1;
        let time = Timestamp::from_millis(now);
        let (facts, commands) = decide(&state, input, time);
        if !facts.is_empty() {
            let before = session.journal_bytes();
            session.append(time, &facts)?;
            lengths.push(usize::try_from(session.journal_bytes() - before)?);
        }
        for fact in &facts {
            state = fold(state, fact);
            viewer.record(time, fact);
        }
        let at = Instant::now();
        if view_at.is_none_or(|view_at: Instant| at >= view_at + VIEW_INTERVAL)
            && let Some(view) = viewer.session(&state)
        {
            session.write_view(&view)?;
            view_at = Some(at);
        }
        for command in commands {
            if let Command::Start(spec) = command {
                let job = spec.job.attempt;
                inputs.push_back(SessionInput::Started(job.clone()));
                let outcome =
                    JobOutcome::new(true, ProcessEnding::Exited { code: 0 }, "exit code 0");
                inputs.push_back(SessionInput::Ended { job, outcome: Box::new(outcome) });
            }
        }
    }
    if let Some(view) = viewer.session(&state) {
        session.write_view(&view)?;
    }
    Ok(Written { id, status: state.status(), lengths })
}

/// As many bytes in as many writes, each synced.
fn bare(place: &Place, lengths: &[usize]) -> Result<Duration, Box<dyn Error>> {
    let mut file = File::create(place.path().join("bare"))?;
    let bytes = vec![b'x'; lengths.iter().copied().max().unwrap_or(0)];
    let begun = Instant::now();
    for length in lengths {
        file.write_all(&bytes[..*length])?;
        file.sync_data()?;
    }
    Ok(begun.elapsed())
}
