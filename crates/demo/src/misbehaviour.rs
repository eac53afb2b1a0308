//! The misbehaviours of the agent, apart from those that write to its output.

use std::io;
use std::process::ChildStdin;

use crate::helper::{self, LingerOptions};
use crate::job::ToolOutcome;
use crate::script::AgentMisbehaviour;
use crate::signals;

/// What must stay as long as this process lives.
#[derive(Debug, Default)]
pub(crate) struct LateWriters {
    late_writers: Vec<ChildStdin>,
}

impl LateWriters {
    /// Plays the trick; a flood is none of these, it is only said to be done.
    pub(crate) fn play(&mut self, trick: &AgentMisbehaviour) -> ToolOutcome {
        self.try_play(trick).into()
    }

    fn try_play(&mut self, trick: &AgentMisbehaviour) -> io::Result<String> {
        Ok(match trick {
            AgentMisbehaviour::IgnoreSignals => {
                signals::ignore()?;
                "I ignore SIGHUP, SIGINT and SIGTERM now.".to_owned()
            }
            AgentMisbehaviour::DoubleFork { time, pid_file } => {
                let linger = LingerOptions { time: *time, pid_file: pid_file.clone() };
                format!("I left process {} behind.", helper::double_fork(linger)?)
            }
            AgentMisbehaviour::Flood(bytes) => format!("I wrote {bytes} bytes."),
            AgentMisbehaviour::LateWriter(after) => {
                self.late_writers.push(helper::late_writer(*after)?);
                "I left a process behind that writes after my end.".to_owned()
            }
        })
    }
}
