//! What a planted session says about processes: they are not its to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{folder, listed, run_in};
use crate::home::Home;

/// The records of started processes below a folder.
fn records(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.ends_with("spawn.json") {
            found.push(path);
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(records(&path));
        }
    }
    found
}

/// Whether a process that was recorded runs.
fn runs(process: &Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process["pid"])).unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
    let began = rest.split(' ').nth(19).and_then(|ticks| ticks.parse::<u64>().ok());
    !rest.starts_with(['Z', 'X']) && began == process["start"].as_u64()
}

/// A session that says that the holder of our agent is gone. The daemon ends what is left of a job
/// whose holder is gone.
#[test]
fn a_planted_record_of_a_process_ends_no_agent_of_ours() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt");
    let cloned = folder(&home, "cloned");
    let mut copy = Command::new("cp");
    copy.arg("-a").args([&home.path("project/.coven"), &cloned]);
    assert!(copy.status().unwrap().success());
    // Where attempts lay before they had a place in the state folder.
    for session in fs::read_dir(home.path("state/coven/jobs")).unwrap().flatten() {
        let tasks = cloned.join(".coven/sessions").join(session.file_name()).join("tasks");
        let mut copy = Command::new("cp");
        copy.arg("-a").args([session.path(), tasks]);
        assert!(copy.status().unwrap().success());
    }
    let [path] = &records(&cloned)[..] else { panic!("one process was started") };
    let mut record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let agent = record["process"].clone();
    assert!(runs(&agent), "{agent}");
    record["holder"]["start"] = Value::from(1);
    fs::write(path, record.to_string()).unwrap();
    listed(&home, &cloned);
    run_in(&home, &cloned, "true").ok();
    assert!(runs(&agent), "the agent was ended by what a planted session says");
    home.coven(&["approve", &name]).ok();
    super::until("the answer to take effect", || home.path("project/yes.txt").exists());
    assert!(!cloned.join("yes.txt").exists());
}
