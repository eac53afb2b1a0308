//! What lies below an open folder is exchanged, deleted or forged while runs go on: nothing that
//! was put there is taken for ours, and the user stays in charge.

use std::fs;
use std::process::Command;

use super::{holds_within, script};
use crate::STEP_TIMEOUT;
use crate::home::Home;

/// A job makes the folder of the next step's attempt, with a copy of its own records in which it
/// has ended well.
const FORGE: &str = r#"
      next=".coven/sessions/$COVEN_SESSION/tasks/gate/1"; mkdir -p "$next"; own="$XDG_STATE_HOME/coven/jobs/$COVEN_SESSION/forge/1"
      cp "$own"/out.* "$own"/claim "$next"/
      sed 's|/forge/1|/gate/1|; s|"pid": [0-9]*|"pid": 1|g' "$own/spawn.json" > "$next/spawn.json"
      echo '{"version":1,"status":{"code":0},"output":0,"time":1,"stopped":false}' > "$next/exit.json"
      touch "$next/killed.not"
"#;

#[test]
fn a_job_cannot_forge_the_end_of_a_later_step() {
    let home = Home::new();
    let forge = format!("  - name: forge\n    type: script\n    command: |{FORGE}");
    let gate = "  - {name: gate, type: gate, command: 'touch ran; exit 1', on_failure: fail}\n";
    let two = "  - {name: two, type: script, command: 'true'}\n";
    let said = home.run(&format!("{forge}{gate}{two}"), &[]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(home.path("project/ran").exists(), "the gate's own command decides");
}

#[test]
fn a_folder_that_takes_the_place_of_an_open_one_is_not_used() {
    let home = Home::new();
    let steps = format!(
        "  - {{name: ask, type: gate, message: Go on?}}\n{}",
        script("build", "sh ./build.sh")
    );
    home.run(&steps, &[]).code(3);
    let name = home.only();
    let (project, aside) = (home.path("project"), home.path("aside"));
    fs::write(project.join("build.sh"), "touch built\n").unwrap();
    fs::rename(&project, &aside).unwrap();
    assert!(Command::new("cp").arg("-a").arg(&aside).arg(&project).status().unwrap().success());
    fs::write(project.join("build.sh"), "touch evil\n").unwrap();
    let before =
        fs::read(project.join(format!(".coven/sessions/{}/journal.jsonl", id(&home, &name))));

    let said = home.coven(&["approve", &name]).code(1);
    assert!(said.err.contains("is not the folder any more"), "{}", said.err);
    // What looks is answered meanwhile.
    home.coven(&["show", &name]).ok();
    home.coven(&["daemon", "status"]).ok();
    let said = home.coven(&["run", "demo", "--detach"]).code(1);
    assert!(said.err.contains("is not the folder any more"), "{}", said.err);
    let after =
        fs::read(project.join(format!(".coven/sessions/{}/journal.jsonl", id(&home, &name))));
    assert_eq!(before.unwrap(), after.unwrap(), "nothing was written there");
    assert!(!project.join("evil").exists());

    // Once it is back, all is as it was.
    fs::rename(&project, home.path("impostor")).unwrap();
    fs::rename(&aside, &project).unwrap();
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--timeout", "60s", "--until", "done"]).ok();
    assert!(project.join("built").exists() && !project.join("evil").exists());
}

fn id(home: &Home, name: &str) -> String {
    let listed = home.coven(&["ls", "--search", name, "--json"]).ok().json();
    listed["workflows"][0]["id"].as_str().unwrap().to_owned()
}

/// Removes a folder into which the daemon may still write the view of the run that has just ended.
fn remove_all(folder: &std::path::Path) {
    let begun = std::time::Instant::now();
    while let Err(error) = fs::remove_dir_all(folder) {
        assert!(begun.elapsed() < STEP_TIMEOUT, "{}: {error}", folder.display());
    }
}

#[test]
fn a_project_whose_sessions_were_deleted_can_be_used_at_once() {
    let home = Home::new();
    let step = script("one", "true");
    home.run(&step, &[]).ok();
    for again in ["after a clean", "and after another"] {
        remove_all(&home.path("project/.coven"));
        let said = home.run(&step, &[]);
        assert_eq!(said.code, 0, "{again}: {}{}", said.out, said.err);
        assert!(home.path("project/.coven/lock").exists(), "{again}");
    }
    // The whole folder, made anew.
    remove_all(&home.path("project"));
    fs::create_dir(home.path("project")).unwrap();
    home.run(&step, &[]).ok();
    let listed = home.coven(&["ls", "-C", ".", "--json"]).ok().json();
    assert_eq!(listed["total"], 1, "{listed:#}");
}

#[test]
fn a_job_that_takes_its_sessions_folder_away_can_still_be_seen_and_ended() {
    let home = Home::new();
    let away = "cat begin; mv .coven ../away; ln -s /nonexistent .coven; touch gone; cat pipe";
    super::pipe(&home.path("project/pipe"));
    super::pipe(&home.path("project/begin"));
    let steps = script("away", away);
    let name = home.run(&steps, &["--detach"]).ok().out.trim().to_owned();
    let live = || home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"] == true;
    super::until("it is followed", live);
    super::release(&home.path("project/begin"));
    super::until("it is gone", || home.path("project/gone").exists());
    home.coven(&["daemon", "status"]).ok();
    home.coven(&["show", &name]).ok();
    // It is accepted, and recorded if the folder comes back.
    let said = home.coven(&["cancel", &name]).ok();
    assert!(said.err.contains("waits for its disk"), "{said:?}");
    home.coven(&["daemon", "stop", "--agents"]).ok();
    let running = || {
        fs::read_dir("/proc").unwrap().flatten().any(|process| {
            let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let cwd = fs::read_link(process.path().join("cwd")).unwrap_or_default();
            command.starts_with(b"cat\0pipe") && cwd.starts_with(home.path("project"))
        })
    };
    assert!(holds_within(STEP_TIMEOUT, || !running()), "its job runs on");
}

#[test]
fn nothing_is_written_into_a_folder_that_every_user_can_write_to() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let open = super::folder(&home, "open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let said = home.coven(&["init", open.to_str().unwrap()]).code(1);
    assert!(said.err.contains("coven trust --owner"), "{}", said.err);
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}
