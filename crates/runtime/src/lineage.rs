//! Whether a process belongs to a job: whether a holder is among its ancestors, or a killed holder
//! left it.
//!
//! Ancestors are read from the parent ids that the system tells of every process. Neither the name
//! of a program nor an environment decides, because a process chooses both; they are further signs.
//! Whatever a process abandons becomes a child of its holder, so leaving a process group, a session
//! or a parent does not help as long as the holder lives.

use crate::hold::{HolderEntry, HolderRegistry};
use crate::machine;
use crate::processes::{Identity, JOB_VARIABLE};

/// How many ancestors are looked at; there are no longer lines in practice.
const MAX_ANCESTORS: usize = 256;

/// Where a process comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// No holder is among its ancestors.
    Outside,
    Job(JobSign),
    /// Its ancestors could not be read to the first.
    Unknown,
}

/// Why a process counts as a job's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobSign {
    /// A holder that was written down is among its ancestors.
    Holder,
    /// It, or an ancestor, was seen below a holder that was killed since.
    LostTree,
    /// A holder was killed, and the process carries the limit of that holder's job or a lower one.
    /// Only the superuser can raise it.
    Limit,
    /// The environment of an ancestor names a job.
    Environment,
    /// The command line of an ancestor is a holder's.
    CommandLine,
}

/// Where a process comes from, by the holders of its user. Ends what killed holders left first.
pub fn lineage(pid: i32, registry: &HolderRegistry) -> Lineage {
    match registry.refresh() {
        Ok(entries) => lineage_among(pid, &entries),
        Err(_) => Lineage::Unknown,
    }
}

/// The same by holders that were read before.
pub fn lineage_among(pid: i32, entries: &[HolderEntry]) -> Lineage {
    let Some(chain) = ancestors(pid) else { return Lineage::Unknown };
    let holder = |process: &Identity| entries.iter().any(|entry| entry.holder == *process);
    let lost =
        |process: &Identity| entries.iter().any(|entry| entry.lost && entry.tree.contains(process));
    if chain.iter().any(holder) {
        return Lineage::Job(JobSign::Holder);
    }
    if chain.iter().any(lost) {
        return Lineage::Job(JobSign::LostTree);
    }
    let highest = entries.iter().filter(|entry| entry.lost).filter_map(|entry| entry.limit).max();
    if let Some(limit) = highest
        && machine::limit_of(pid).is_none_or(|own| own <= limit)
    {
        return Lineage::Job(JobSign::Limit);
    }
    further_signs(&chain)
}

/// What can be told without knowing the holders, by those ancestors that can be read.
pub fn visible_signs(pid: i32) -> Lineage {
    let mut chain = Vec::new();
    let mut next = Some(pid).filter(|pid| *pid != 0);
    while let (Some(pid), true) = (next, chain.len() < MAX_ANCESTORS) {
        let info = machine::process(pid);
        chain.extend(info.as_ref().map(|info| Identity { pid, start: info.start }));
        next = info.map(|info| info.parent).filter(|parent| *parent != 0);
    }
    further_signs(&chain)
}

fn further_signs(chain: &[Identity]) -> Lineage {
    if chain.iter().any(|process| has_job(process.pid)) {
        Lineage::Job(JobSign::Environment)
    } else if chain.iter().any(|process| is_holder_line(process.pid)) {
        Lineage::Job(JobSign::CommandLine)
    } else {
        Lineage::Outside
    }
}

/// A process and its ancestors up to the first. Nothing if one of them cannot be read: the process
/// is gone, or the system hides it.
fn ancestors(pid: i32) -> Option<Vec<Identity>> {
    let mut chain: Vec<Identity> = Vec::new();
    let mut next = pid;
    while chain.len() < MAX_ANCESTORS {
        match machine::process(next) {
            Some(info) => {
                chain.push(Identity { pid: next, start: info.start });
                if info.parent == 0 {
                    return Some(chain);
                }
                next = info.parent;
            }
            // An ancestor ended meanwhile, and its child has another parent now.
            None => {
                let child = chain.last()?;
                let now = machine::process(child.pid).filter(|info| info.start == child.start)?;
                if now.parent == next {
                    return None;
                }
                if now.parent == 0 {
                    return Some(chain);
                }
                next = now.parent;
            }
        }
    }
    None
}

fn has_job(pid: i32) -> bool {
    // One that cannot be read says nothing: this is a sign beside the ancestors.
    let environment = machine::environment(pid).unwrap_or_default();
    let name = format!("{JOB_VARIABLE}=");
    environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(name.as_bytes()))
}

/// A holder is `… hold FOLDER --job …`, whatever the program is called.
fn is_holder_line(pid: i32) -> bool {
    let line = machine::command_line(pid).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(b"hold") && words.nth(1) == Some(b"--job")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_gone_is_unknown() {
        assert_eq!(lineage_among(i32::MAX, &[]), Lineage::Unknown);
    }

    #[test]
    fn this_process_has_ancestors_up_to_the_first() {
        let own = Identity::own().unwrap();
        let chain = ancestors(own.pid).unwrap();
        assert_eq!(chain.first(), Some(&own));
        let first = chain.last().unwrap();
        assert_eq!(machine::process(first.pid).unwrap().parent, 0);
    }
}
