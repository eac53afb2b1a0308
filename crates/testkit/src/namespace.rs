//! What is left of an agent: whatever lives in this network namespace and did not before.
//!
//! A daemon can leave its parents, its session and its environment behind, but not the namespace
//! it was started in.

use std::collections::BTreeSet;
use std::fs;

/// The name of the holder's program.
const HOLDER: &str = "coven-test-agent";

/// Whether no way leads out of this namespace.
pub fn only_loopback() -> bool {
    let Ok(routes) = fs::read_to_string("/proc/self/net/route") else { return false };
    // A system without the newer protocol has no such file.
    let newer = fs::read_to_string("/proc/self/net/ipv6_route").unwrap_or_default();
    routes.lines().count() <= 1 && newer.lines().all(|route| route.trim_end().ends_with(" lo"))
}

/// The processes of this namespace.
pub fn processes() -> BTreeSet<u32> {
    let own = fs::read_link("/proc/self/ns/net").ok();
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| fs::read_link(format!("/proc/{pid}/ns/net")).ok() == own && runs(*pid))
        .collect()
}

fn runs(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Those that were not there before, each with its command line. A holder is ours and not the
/// agent's; it ends by itself a moment after it has told of the agent's end. A process without a
/// command line has ended already, and the system is still tidying up after it.
pub fn since(before: &BTreeSet<u32>) -> Vec<String> {
    let mut left: Vec<String> = Vec::new();
    for pid in processes().difference(before) {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if line.is_empty() || program(*pid).is_some_and(|name| name == HOLDER) {
            continue;
        }
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        left.push(format!("{pid} {}", line.chars().take(120).collect::<String>()));
    }
    left
}

/// The name of the program that a process runs.
fn program(pid: u32) -> Option<std::ffi::OsString> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    path.file_name().map(ToOwned::to_owned)
}
