//! A job kills its holder, so that nothing above its processes tells what they are, and asks the
//! daemon for what only people may do.

use std::fs;

use coven_runtime::processes::Identity;
use coven_runtime::sandbox::scopes_signals;
use coven_testkit::skip::skip;

use super::{script, until};
use crate::home::Home;

/// A script that leaves a process behind, with an environment that names no job and a session of its
/// own, and kills its holder. The process waits for that and approves what another agent asks.
fn patricide(home: &Home, asking: &str) -> String {
    let (project, coven) = (home.path("project"), env!("CARGO_BIN_EXE_coven"));
    let orphan = format!(
        "#!/bin/sh\n\
         cd {project}\n\
         echo $$ > orphan.pid\n\
         while grep -q '^State:.[^ZX]' /proc/$1/status 2>/dev/null; do :; done\n\
         {coven} approve {asking} > said.txt 2>&1\n\
         {coven} run ./test.yaml --detach >> said.txt 2>&1\n\
         echo end >> said.txt\n",
        project = project.display()
    );
    let path = home.write("orphan.sh", &orphan);
    script(
        "patricide",
        &format!(
            "(env -i PATH=\"$PATH\" HOME=\"$HOME\" XDG_STATE_HOME={} setsid sh {} $PPID &)\n      \
             while ! test -s orphan.pid; do :; done\n      kill -9 $PPID\n      sleep 1000",
            home.path("state").display(),
            path.display()
        ),
    )
}

#[test]
fn a_job_that_kills_its_holder_does_not_become_a_person() {
    let home = Home::new();
    let asking = home.asking("approve touch approved.txt");
    let ended = home.run(&patricide(&home, &asking), &[]);
    assert_ne!(ended.code, 0, "{}{}", ended.out, ended.err);
    let text = fs::read_to_string(home.path("project/orphan.pid")).unwrap();
    let orphan: i32 = text.trim().parse().unwrap();
    until("the end of the orphan", || Identity::of(orphan).is_none());
    let said = fs::read_to_string(home.path("project/said.txt")).unwrap_or_default();
    assert!(!home.path("project/approved.txt").exists(), "it approved: {said}");
    assert_eq!(home.names().len(), 2, "{said} {:?}", home.names());
    home.coven(&["wait", &asking, "--until", "blocked", "--timeout", "60s"]).code(3);
    // The person at the shell is still one.
    home.coven(&["approve", &asking]).ok();
    until("the answer to take effect", || home.path("project/approved.txt").exists());
}

#[test]
fn an_agent_cannot_kill_its_holder() {
    if !scopes_signals() {
        return skip("this kernel does not confine signals");
    }
    let home = Home::new();
    let command = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) 2>refused.txt && touch killed.txt; \
                   touch done.txt";
    let name = home.asking(&format!("approve {command}"));
    home.coven(&["approve", &name]).ok();
    until("the command to end", || home.path("project/done.txt").exists());
    assert!(!home.path("project/killed.txt").exists(), "it killed its holder");
    let refused = fs::read_to_string(home.path("project/refused.txt")).unwrap();
    assert!(refused.contains("not permitted"), "{refused}");
    home.coven(&["stop", &name]).ok();
}
