//! Doing what nobody asked an agent for, apart from writing to its output.

use std::io;
use std::process::ChildStdin;

use crate::helper::{self, Linger};
use crate::job::Outcome;
use crate::script::Trick;
use crate::signals;

/// What must stay as long as this process lives.
#[derive(Debug, Default)]
pub(crate) struct Tricks {
    late_writers: Vec<ChildStdin>,
}

impl Tricks {
    /// Plays the trick; a flood is none of these, it is only said to be done.
    pub(crate) fn play(&mut self, trick: &Trick) -> Outcome {
        self.try_play(trick).into()
    }

    fn try_play(&mut self, trick: &Trick) -> io::Result<String> {
        Ok(match trick {
            Trick::IgnoreSignals => {
                signals::ignore()?;
                "I ignore SIGHUP, SIGINT and SIGTERM now.".to_owned()
            }
            Trick::DoubleFork { time, pid_file } => {
                let linger = Linger { time: *time, pid_file: pid_file.clone() };
                format!("I left process {} behind.", helper::double_fork(linger)?)
            }
            Trick::Flood(bytes) => format!("I wrote {bytes} bytes."),
            Trick::LateWriter(after) => {
                self.late_writers.push(helper::late_writer(*after)?);
                "I left a process behind that writes after my end.".to_owned()
            }
        })
    }
}
