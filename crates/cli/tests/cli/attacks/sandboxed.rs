//! A confined job plants sessions and links where it may write, and has the daemon, which is not
//! confined, look at them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use coven_runtime::sandbox::Enforcement;

use super::journal::Stage;
use super::plant::Planted;
use super::{folder, listed, row, script};
use crate::home::Home;

/// A loop whose arbiter is the adapter `judge`.
pub(super) const JUDGED: &str = "  - name: polish
    type: agent-loop
    mode: headless
    prompt: say worked
    arbiter: {adapter: judge, prompt: Is it good?}
    max_iterations: 1
";

/// An adapter of the user whose program is this script.
fn adapter(home: &Home, script: &str) {
    let program = folder(home, "bin").join("judge");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let config = serde_json::json!({
        "schemaVersion": 1,
        "metadata": {"displayName": "Judge"},
        "command": program,
        "modes": {"headless": {"promptPosition": "last", "transcript": "text", "stdin": "null"}},
        "permissions": {"read-only": []},
    });
    let place = folder(home, "home/.config/coven/adapters/judge").join("config.json");
    fs::write(place, config.to_string()).unwrap();
}

#[test]
fn an_arbiter_does_not_leave_its_sandbox_by_a_planted_session() {
    let home = Home::new();
    let prepared = folder(&home, "prepared");
    let planted = Planted::new(&home, &prepared, Stage::Running);
    let (direct, coven) = (home.path("direct"), env!("CARGO_BIN_EXE_coven"));
    adapter(
        &home,
        &format!(
            "#!/bin/sh\n\
             touch {} 2>/dev/null\n\
             cp -R {}/.coven \"$TMPDIR/.coven\" || exit 9\n\
             {coven} ls -C \"$TMPDIR\" >\"$TMPDIR/said\" 2>&1\n\
             echo '{{\"verdict\": \"done\", \"reason\": \"fine\"}}'\n",
            direct.display(),
            prepared.display()
        ),
    );
    home.run(JUDGED, &[]).ok();
    expect_confined(&home);
    planted.expect_not_run(&home);
    let said = said(&home);
    planted.expect(said.contains("foreign"), &format!("it is listed as foreign: {said}"));
    home.kill_daemon();
    planted.expect_not_run(&home);
}

/// A script that may write only below its folder. It tries to write elsewhere first.
fn confined(home: &Home, command: &str) -> String {
    let direct = home.path("direct");
    let command = format!("touch {} 2>/dev/null || true; {command}", direct.display());
    script("confined", &command).replace("type: script", "type: script\n    sandbox: workspace")
}

#[track_caller]
fn expect_confined(home: &Home) {
    let confines = Enforcement::of_this_kernel() != Enforcement::Nothing;
    assert!(!confines || !home.path("direct").exists(), "the job was not confined");
}

#[test]
fn a_script_does_not_leave_its_folder_by_a_planted_session() {
    let home = Home::new();
    let prepared = folder(&home, "prepared");
    let planted = Planted::new(&home, &prepared, Stage::Running);
    let command = format!("cp -R {} .coven/sessions/", planted.folder.display());
    home.run(&confined(&home, &command), &[]).ok();
    expect_confined(&home);
    planted.expect_not_run(&home);
    home.kill_daemon();
    planted.expect_foreign(&row(&listed(&home, &home.path("project")), &planted.id));
    planted.expect_not_run(&home);
}

#[test]
fn a_script_does_not_leave_its_folder_by_a_link() {
    let home = Home::new();
    let victim = home.path("home/victim");
    fs::write(&victim, "precious\n").unwrap();
    let command = "ln -sfn \"$HOME/victim\" \"$(dirname \"$COVEN_VARS\")/exit.json.new\"";
    home.run(&confined(&home, command), &[]);
    expect_confined(&home);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n", "it was written to");
}

/// A session of ours whose journal a job wrote anew: it has no seal.
#[test]
fn a_script_does_not_leave_its_folder_by_the_journal_of_its_own_session() {
    let home = Home::new();
    home.run(&confined(&home, "true"), &[]).ok();
    let page = listed(&home, &home.path("project"));
    let (id, name) = (page["workflows"][0]["id"].clone(), home.only());
    let (id, project) = (id.as_str().unwrap(), home.path("project"));
    let planted = Planted::with_id(&home, &folder(&home, "other"), Stage::Running, id, &name);
    let journal = planted.folder.join("journal.jsonl");
    let own = format!("{}/.coven/sessions/{id}/journal.jsonl", project.display());
    let command = format!("cp {} {own}", journal.display());
    home.run(&confined(&home, &command), &[]).ok();
    expect_confined(&home);
    home.kill_daemon();
    planted.expect_not_run(&home);
}

/// What the arbiter's command said.
fn said(home: &Home) -> String {
    left_in_scratch(home, "said")
}

/// The file of this name that an arbiter left in its scratch folder.
pub(super) fn left_in_scratch(home: &Home, name: &str) -> String {
    let mut folders = vec![home.path("state/coven/jobs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with(format!("scratch/{name}")) {
                return fs::read_to_string(path).unwrap();
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            }
        }
    }
    panic!("the arbiter left nothing in its scratch folder");
}

#[test]
fn a_confined_job_whose_folder_lies_above_the_state_folder_does_not_reach_it() {
    if Enforcement::of_this_kernel() == Enforcement::Nothing {
        return coven_testkit::skip::skip("this kernel confines nothing");
    }
    let home = Home::new();
    // The state folder is there once a daemon was.
    home.run(&script("first", "true"), &[]).ok();
    let keys = folder(&home, "home/.ssh");
    fs::write(keys.join("id"), "the key").unwrap();
    fs::write(home.path("beside.txt"), "beside").unwrap();
    let command = "set +e; cat state/coven/seal.key home/.ssh/id > home/seen.txt; \
                   echo x > state/coven/planted; echo x > home/.ssh/planted; \
                   mv state moved; cat beside.txt > tmp/beside.txt; true";
    for (sandbox, writes) in [("workspace", true), ("read-only", false)] {
        fs::write(home.path("home/seen.txt"), "nothing\n").unwrap();
        let step = format!(
            "  - {{name: one, type: script, cwd: .., sandbox: {sandbox}, command: '{command}'}}\n"
        );
        home.run(&step, &[]).ok();
        let seen = fs::read_to_string(home.path("home/seen.txt")).unwrap();
        assert_eq!(seen, if writes { "" } else { "nothing\n" }, "{sandbox}");
        for planted in ["state/coven/planted", "home/.ssh/planted", "moved"] {
            assert!(!home.path(planted).exists(), "{sandbox}: {planted}");
        }
        // What lies beside is open.
        assert_eq!(home.path("tmp/beside.txt").exists(), writes, "{sandbox}");
        drop(fs::remove_file(home.path("tmp/beside.txt")));
    }
}
