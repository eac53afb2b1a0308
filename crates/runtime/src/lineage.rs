//! Whether a process belongs to a job: whether a holder is among its ancestors, or a killed holder
//! left it.
//!
//! Ancestors are read from the parent ids that the system tells of every process. Neither the name
//! of a program nor an environment decides, because a process chooses both; they are further signs.
//! Whatever a process abandons becomes a child of its holder, so leaving a process group, a session
//! or a parent does not help as long as the holder lives.

use crate::hold::{HolderEntry, HolderRegistry, JobCgroup};
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
    /// It, or an ancestor, is in the control group of a job.
    Cgroup,
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
    let (chain, is_whole) = ancestors(pid);
    let holder = |process: &Identity| entries.iter().any(|entry| entry.holder == *process);
    let lost =
        |process: &Identity| entries.iter().any(|entry| entry.lost && entry.tree.contains(process));
    if chain.iter().any(holder) {
        return Lineage::Job(JobSign::Holder);
    }
    if chain.iter().any(lost) {
        return Lineage::Job(JobSign::LostTree);
    }
    if in_cgroup(&chain, entries) {
        return Lineage::Job(JobSign::Cgroup);
    }
    if let Some(limit) = lost_limit(entries)
        && machine::limit_of(pid).is_none_or(|own| own <= limit)
    {
        return Lineage::Job(JobSign::Limit);
    }
    match further_signs(&chain) {
        Lineage::Outside if !is_whole => Lineage::Unknown,
        found => found,
    }
}

/// Whether a process or an ancestor is in the control group of a job. Ancestors count too, because a
/// process can leave the group.
fn in_cgroup(chain: &[Identity], entries: &[HolderEntry]) -> bool {
    let groups: Vec<&JobCgroup> =
        entries.iter().filter_map(|entry| entry.cgroup.as_ref()).collect();
    !groups.is_empty()
        && chain
            .iter()
            .filter_map(|process| machine::cgroup_of(process.pid))
            .any(|name| groups.iter().any(|group| group.covers(&name)))
}

/// The highest limit of a job whose holder was killed.
fn lost_limit(entries: &[HolderEntry]) -> Option<u64> {
    entries.iter().filter(|entry| entry.lost).filter_map(|entry| entry.limit).max()
}

/// What can be told without knowing the holders, by those ancestors that can be read.
pub fn visible_signs(pid: i32) -> Lineage {
    further_signs(&ancestors(pid).0)
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

/// A process and its ancestors, and whether they go up to the first. They do not if the process is
/// gone, or if the system hides one of them.
fn ancestors(pid: i32) -> (Vec<Identity>, bool) {
    let mut chain: Vec<Identity> = Vec::new();
    let mut next = pid;
    while chain.len() < MAX_ANCESTORS {
        let parent = match machine::process(next) {
            Some(info) => {
                chain.push(Identity { pid: next, start: info.start });
                Some(info.parent)
            }
            // Perhaps it ended meanwhile, and its child has another parent now.
            None => chain.last().and_then(|child| {
                let now = machine::process(child.pid).filter(|now| now.start == child.start)?;
                Some(now.parent).filter(|parent| *parent != next)
            }),
        };
        match parent {
            Some(0) => return (chain, true),
            Some(parent) => next = parent,
            None => break,
        }
    }
    (chain, false)
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
        let (chain, is_whole) = ancestors(own.pid);
        assert!(is_whole);
        assert_eq!(chain.first(), Some(&own));
        let first = chain.last().unwrap();
        assert_eq!(machine::process(first.pid).unwrap().parent, 0);
    }
}
