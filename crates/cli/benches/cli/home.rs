//! A home with many sessions that are over.

use std::fs;
use std::io;
use std::process::{Command, Stdio};

use coven_model::{SessionId, Timestamp};
use coven_store::{AuthorityPlaces, BaseDir, Session, SessionAuthority};
use serde_json::json;

/// Its folder goes with it.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// A session that really ran, a little.
    pub(crate) real: String,
}

impl Home {
    pub(crate) fn new(sessions: usize) -> io::Result<Self> {
        // In memory where there is such a place: making ten thousand sessions durable takes minutes.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        let project = folder.path().join("project");
        fs::create_dir_all(&project)?;
        let base = BaseDir::create(&project).map_err(io::Error::other)?;
        let state = folder.path().join("s/coven");
        let authority = SessionAuthority::open(&AuthorityPlaces::in_state(&state));
        let authority = authority.map_err(io::Error::other)?;
        for number in 0..sessions {
            make(&base, &authority, number)?;
        }
        // All of them stay.
        fs::create_dir_all(folder.path().join(".config/coven"))?;
        let config = "retention: {keep: 1000000}\n";
        fs::write(folder.path().join(".config/coven/config.yaml"), config)?;
        let mut home = Self { folder, real: String::new() };
        // The daemon knows the folder from its first run on.
        let output = home.command(&["run", "demo", "--auto", "allow", "--detach"]).output()?;
        String::from_utf8_lossy(&output.stdout).trim().clone_into(&mut home.real);
        home.run(&["daemon", "stop", "--agents"])?;
        Ok(home)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coven"));
        command.args(args).stdin(Stdio::null()).current_dir(self.folder.path().join("project"));
        command.env("HOME", self.folder.path()).env("XDG_STATE_HOME", self.folder.path().join("s"));
        command.env_remove("XDG_CONFIG_HOME").env("TMPDIR", self.folder.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> io::Result<()> {
        let output = self.command(args).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

fn make(base: &BaseDir, authority: &SessionAuthority, number: usize) -> io::Result<()> {
    let text = format!("01890a5d-ac96-774b-bcce-{number:012x}");
    let id = SessionId::new(text).map_err(io::Error::other)?;
    let at = 1_700_000_000_000_u64;
    let (time, name) = (Timestamp::from_millis(at), format!("brisk-otter-{number}"));
    let mut session = Session::create(base, authority, &id).map_err(io::Error::other)?;
    let plan = json!({"name": "none", "steps": []});
    let facts = [
        json!({"type": "session.created", "data": {"session": id, "name": name, "plan": plan, "input": {}, "at": at}}),
        json!({"type": "workflow.started", "data": {"at": at}}),
        json!({"type": "workflow.completed", "data": {"at": at}}),
    ];
    session.append(time, &facts).map_err(io::Error::other)?;
    let view = json!({
        "name": name,
        "goal": "Find out why the tests fail on some machines, and mend it",
        "status": "completed", "createdAt": at,
    });
    session.write_view(&view).map_err(io::Error::other)?;
    Ok(())
}
