//! What the attempts of a session left behind: outcomes, tapes, and no process.

use std::fs;

use coven_model::event::AttemptPlace;
use coven_model::{AttemptId, ContentDigest, ProcessEnding};
use coven_runtime::processes;
use coven_store::Attempt;
use coven_store::session::ReadOnlySession;

use super::SessionAudit;
use super::facts::JournalSummary;

/// Tells all the time how many attempts were begun and how many bytes of output were read.
pub(super) fn check(
    look: &ReadOnlySession,
    told: &JournalSummary,
    report: &mut SessionAudit,
    tell: &mut dyn FnMut(usize, u64),
) {
    values(look, report);
    for place in [AttemptPlace::Session, AttemptPlace::Jobs] {
        let folders = match look.attempts(place) {
            Ok(folders) => folders,
            Err(error) => {
                return report.findings.push(format!("the attempts cannot be listed: {error}"));
            }
        };
        for job in &folders {
            if told.places.get(job) == Some(&place) {
                continue;
            }
            if place == AttemptPlace::Jobs && told.is_of_a_tree(job) {
                in_a_tree(look, job, report);
            } else {
                report.findings.push(format!("{job} has a folder and was never started there"));
            }
        }
    }
    for (job, ending) in &told.attempts {
        report.attempts += 1;
        tell(report.attempts, report.bytes);
        let place = told.places.get(job).copied().unwrap_or_default();
        // What the jobs of a foreign session left is not where we could look.
        if look.attempt_path(place, job).is_none() {
            continue;
        }
        match look.attempt(place, job) {
            Ok(Some(attempt)) => one(job, ending.as_ref(), &attempt, told, report, tell),
            Ok(None) if may_have_no_folder(ending.as_ref()) => {}
            Ok(None) => report.findings.push(format!("{job} ended and left no folder")),
            Err(error) => report.findings.push(format!("{job} cannot be looked at: {error}")),
        }
    }
}

/// A command that ran in a tree: what it printed is there, once it has ended.
fn in_a_tree(look: &ReadOnlySession, job: &AttemptId, report: &mut SessionAudit) {
    match look.attempt(AttemptPlace::Jobs, job) {
        Ok(Some(attempt)) => {
            let over = attempt.exit().is_ok_and(|exit| exit.is_some());
            tape(job, None, &attempt, over, report, &mut |_, _| {});
        }
        Ok(None) => {}
        Err(error) => report.findings.push(format!("{job} cannot be looked at: {error}")),
    }
}

/// What never ran, or runs, may have left nothing.
fn may_have_no_folder(ending: Option<&ProcessEnding>) -> bool {
    matches!(
        ending,
        None | Some(ProcessEnding::NotStarted | ProcessEnding::Lost | ProcessEnding::Stopped)
    )
}

fn one(
    job: &AttemptId,
    ending: Option<&ProcessEnding>,
    attempt: &Attempt,
    told: &JournalSummary,
    report: &mut SessionAudit,
    tell: &mut dyn FnMut(usize, u64),
) {
    let over = ending.is_some() && !told.kept.contains(job);
    // An agent that was left alive ends later, or is lost like any other: nobody saw how it ended.
    let is_kept = ending == Some(&ProcessEnding::Alive);
    let may_have_no_outcome =
        may_have_no_folder(ending) || (is_kept && (!over || matches!(attempt.exit(), Ok(None))));
    match attempt.outcome() {
        Ok(None) if !may_have_no_outcome => {
            report.findings.push(format!("{job} ended and has no outcome on disk"));
        }
        Ok(Some(outcome)) => {
            if let (Some(told @ ProcessEnding::Exited { .. }), ProcessEnding::Exited { .. }) =
                (ending, &outcome.ending)
                && *told != outcome.ending
            {
                let found = format!(
                    "the journal says that {job} ended with {told}, and its outcome on disk with {}",
                    outcome.ending
                );
                report.findings.push(found);
            }
        }
        Ok(None) => {}
        Err(error) => report.findings.push(format!("the outcome of {job} cannot be read: {error}")),
    }
    tape(job, ending, attempt, over, report, tell);
    match attempt.spawn() {
        Ok(Some(spawn)) if over => {
            for process in processes::of_job(&spawn.job) {
                let name = process.name().unwrap_or_default();
                report.findings.push(format!(
                    "{job} has ended, and its process {} ({name}) runs",
                    process.pid
                ));
            }
        }
        Ok(_) => {}
        Err(error) => report.findings.push(format!("{job} cannot be read: {error}")),
    }
}

/// Every byte that was printed is there, and the tape ends where the process's output did.
fn tape(
    job: &AttemptId,
    ending: Option<&ProcessEnding>,
    attempt: &Attempt,
    over: bool,
    report: &mut SessionAudit,
    tell: &mut dyn FnMut(usize, u64),
) {
    let exit = match attempt.exit() {
        Ok(exit) => exit,
        Err(error) => {
            return report.findings.push(format!("the exit of {job} cannot be read: {error}"));
        }
    };
    if let (
        Some(told @ (ProcessEnding::Exited { .. } | ProcessEnding::Signalled { .. })),
        Some(exit),
    ) = (ending, exit)
        && *told != ProcessEnding::from(exit.status)
    {
        let found = ProcessEnding::from(exit.status);
        report.findings.push(format!(
            "the journal says that {job} ended with {told}, and its exit on disk with {found}"
        ));
    }
    let (place, before) = (report.attempts, report.bytes);
    let mut tell_read = |bytes| tell(place, before + bytes);
    let read = match coven_tape::verify_telling(attempt.path(), &mut tell_read) {
        Ok(read) => read,
        Err(coven_tape::Error::NoTape { .. }) => {
            if exit.is_some_and(|exit| exit.output > 0) {
                report.findings.push(format!("{job} printed something and has no tape"));
            }
            return;
        }
        Err(error) => {
            return report.findings.push(format!("the tape of {job} cannot be read: {error}"));
        }
    };
    report.bytes += read.output;
    if read.lost > 0 {
        let lost = read.lost;
        report
            .findings
            .push(format!("{lost} bytes that {job} printed are lost: no room on the disk"));
    }
    if !over {
        // A tape that is being written may show an unfinished end.
        return;
    }
    for problem in &read.problems {
        report.findings.push(format!("the tape of {job}: {problem}"));
    }
    let end = read.dropped + read.output + read.lost;
    if let Some(exit) = exit.filter(|exit| exit.output != end) {
        report
            .findings
            .push(format!("{job} printed {} bytes, and its tape has {end}", exit.output));
    }
}

/// Values that lie aside are what their names say.
fn values(look: &ReadOnlySession, report: &mut SessionAudit) {
    let Ok(entries) = fs::read_dir(look.path().join("values")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Others are being written.
        if name.len() != 64 {
            continue;
        }
        match fs::read(entry.path()) {
            Ok(bytes) if ContentDigest::of_bytes(&bytes).as_str() == name => {}
            Ok(_) => report.findings.push(format!("the value {name} is not what it was")),
            Err(error) => report.findings.push(format!("the value {name} cannot be read: {error}")),
        }
    }
}
