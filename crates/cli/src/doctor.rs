//! `coven doctor`: whether everything is well, and how to mend what is not.

mod agents;
mod files;
mod machine;

use serde_json::json;

use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::output::PutText;
use crate::{folders, output};

pub(crate) use agents::{BUNDLED_ADAPTERS, VERSION_TIMEOUT, find};

/// What `coven doctor` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven doctor          everything: agents, kernel, limits, disk, files, daemon
  coven doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exit code 1 says that something keeps Coven from working.")]
pub(crate) struct Arguments {
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    /// It works with less.
    Note,
    /// It does not work.
    Bad,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug)]
struct DoctorCheck {
    group: &'static str,
    name: String,
    state: State,
    what: String,
    /// How to mend it.
    mend: Option<String>,
}

impl DoctorCheck {
    fn new(group: &'static str, name: &str, state: State, what: impl Into<String>) -> Self {
        Self { group, name: name.to_owned(), state, what: what.into(), mend: None }
    }

    fn ok(group: &'static str, name: &str, what: impl Into<String>) -> Self {
        Self::new(group, name, State::Ok, what)
    }

    fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let checks = block_on(async {
        let mut checks = agents::check().await;
        checks.extend(machine::check());
        checks.extend(files::check());
        checks.push(daemon().await);
        checks.extend(unattended().await);
        Ok(checks)
    })?;
    if arguments.json {
        as_json(&checks)?;
    } else {
        show(&checks)?;
    }
    if checks.iter().any(|check| check.state == State::Bad) {
        Err(CommandFailure::told())
    } else {
        Ok(())
    }
}

/// Jobs that run and that nobody follows, as far as a daemon runs that knows.
async fn unattended() -> Option<DoctorCheck> {
    let (client, _) = connect::running().await.ok()??;
    let jobs = client.status().await.ok()?.unattended;
    let names: Vec<&str> = jobs.iter().map(|job| job.job.as_str()).collect();
    let what = match names.as_slice() {
        [] => return None,
        [job] => format!("nobody follows {job}: its session is gone or cannot be read"),
        jobs => format!("nobody follows {}: their sessions are gone or damaged", jobs.join(", ")),
    };
    let check = DoctorCheck::new("coven", "jobs", State::Bad, what);
    Some(check.mend("coven daemon stop --agents   (ends all agents)"))
}

/// The daemon, which is not started for this.
async fn daemon() -> DoctorCheck {
    let (group, name) = ("coven", "daemon");
    let ours = env!("CARGO_PKG_VERSION");
    let restart = "coven daemon stop && coven daemon start   (agents go on meanwhile)";
    match connect::running().await {
        Ok(None) => {
            DoctorCheck::ok(group, name, "does not run; it starts by itself when it is needed")
        }
        Ok(Some((_, version))) if version.version == ours => {
            DoctorCheck::ok(group, name, format!("coven {ours}, process {}", version.pid))
        }
        Ok(Some((_, version))) => {
            let what = format!("is coven {}, this command is coven {ours}", version.version);
            DoctorCheck::new(group, name, State::Note, what).mend(restart)
        }
        Err(_) => {
            let socket = folders::places().map(|places| places.socket().display().to_string());
            let what = format!("does not answer on {}", socket.unwrap_or_default());
            DoctorCheck::new(group, name, State::Bad, what)
                .mend("coven daemon logs; then coven daemon start")
        }
    }
}

fn as_json(checks: &[DoctorCheck]) -> Result {
    let one = |check: &DoctorCheck| {
        json!({
            "group": check.group,
            "name": check.name,
            "state": check.state.as_str(),
            "what": check.what,
            "mend": check.mend,
        })
    };
    let all: Vec<_> = checks.iter().map(one).collect();
    let ok = checks.iter().all(|check| check.state != State::Bad);
    output::json(&json!({"ok": ok, "version": env!("CARGO_PKG_VERSION"), "checks": all}))
}

fn show(checks: &[DoctorCheck]) -> Result {
    let paint = output::paint();
    let names = checks.iter().map(|check| output::width(&check.name)).max().unwrap_or(0);
    let mut group = "";
    let mut text = String::new();
    for check in checks {
        if check.group != group {
            let gap = if group.is_empty() { "" } else { "\n" };
            text.put(format!("{gap}{}\n", paint.bold(check.group)));
            group = check.group;
        }
        let mark = match check.state {
            State::Ok => paint.green("✓"),
            State::Note => paint.yellow("-"),
            State::Bad => paint.red("✗"),
        };
        text.put(format!("  {mark} {:<names$}  {}\n", check.name, output::one_line(&check.what)));
        if let Some(mend) = &check.mend {
            text.put(format!(
                "    {:<names$}  {}\n",
                "",
                paint.dim(&format!("-> {}", output::one_line(mend)))
            ));
        }
    }
    let bad = checks.iter().filter(|check| check.state == State::Bad).count();
    let last = match bad {
        0 => "Coven can work here.".to_owned(),
        1 => "1 thing keeps Coven from working.".to_owned(),
        many => format!("{many} things keep Coven from working."),
    };
    text.put(format!("\n{last}\n"));
    output::write(&text)
}
