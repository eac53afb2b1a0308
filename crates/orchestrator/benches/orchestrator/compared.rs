//! What a job that may only read waits for: its folder is looked at before and after it.

use std::error::Error;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coven_model::WorkflowStatus;

use crate::Plan;
use crate::place::Place;

/// Files in each folder.
const FILES_PER_FOLDER: usize = 100;

/// A script that may only read.
const READ_ONLY: &str = "name: bench\ndescription: Reads.\nsteps:\n  - {name: a, type: script, command: \"true\", sandbox: read-only}\n";

/// What looking twice takes.
pub(crate) struct Compared {
    pub(crate) files: usize,
    /// What such a job takes longer in a folder with these files than in an empty one.
    pub(crate) took: Duration,
    /// `find`, asking for as much of each file, twice.
    pub(crate) bare: Duration,
}

pub(crate) async fn measure(plan: &Plan) -> Result<Compared, Box<dyn Error>> {
    let (empty, full) = (Place::new()?, Place::new()?);
    let files = plan.compared;
    for folder in 0..files.div_ceil(FILES_PER_FOLDER) {
        let folder = full.path().join(format!("folder-{}/part-{folder}", folder / 100));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES_PER_FOLDER {
            File::create(folder.join(format!("file-{file}.txt")))?;
        }
    }
    let mut best: Option<Compared> = None;
    for _ in 0..plan.rounds {
        let bare = find(&full)? + find(&full)?;
        let took = run(&full).await?.saturating_sub(run(&empty).await?);
        if best.as_ref().is_none_or(|best| took < best.took) {
            best = Some(Compared { files, took, bare });
        }
    }
    best.ok_or_else(|| "nothing was measured".into())
}

fn find(place: &Place) -> Result<Duration, Box<dyn Error>> {
    let begun = Instant::now();
    let mut find = Command::new("find");
    find.arg(place.path()).args(["-printf", "%m %U %G %i %s %T@ %C@\n"]).stdout(Stdio::null());
    if !find.status()?.success() {
        return Err("find failed".into());
    }
    Ok(begun.elapsed())
}

async fn run(place: &Place) -> Result<Duration, Box<dyn Error>> {
    let orchestrator = place.open().await?;
    let begun = Instant::now();
    let id = orchestrator.execute_workflow(Place::session(READ_ONLY)).await?;
    let controller = orchestrator.controller(&id).ok_or("it is not live")?;
    let ended = controller.wait(false).await;
    let took = begun.elapsed();
    orchestrator.close().await;
    if ended == WorkflowStatus::Completed { Ok(took) } else { Err("a run did not complete".into()) }
}
