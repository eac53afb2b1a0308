//! Ids. Each is checked when it is made, because ids become paths.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest task id: a step name, an item or round, and a suffix.
const MAX_TASK_ID_BYTES: usize = 160;

/// A text that cannot be an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: {why}")]
pub struct InvalidId {
    what: &'static str,
    text: String,
    why: &'static str,
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text and makes it an id.
            pub fn new(text: impl Into<String>) -> Result<Self, InvalidId> {
                let text = text.into();
                match $check(&text) {
                    Ok(()) => Ok(Self(text)),
                    Err(why) => Err(InvalidId { what: $what, text, why }),
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

text_id! {
    /// Names a session, which is a run of a workflow: a UUID in its usual form, in lower case.
    SessionId, "session id", session
}

text_id! {
    /// Names a task in its session: `build`, `build.3` (an item), `review.r2` (a round),
    /// `review.r2.arbiter`.
    TaskId, "task id", task
}

text_id! {
    /// Names an intervention in all sessions: the session's id, a slash, and a number.
    InterventionId, "intervention id", intervention
}

fn session(text: &str) -> Result<(), &'static str> {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.bytes().all(hexadecimal)) {
        Ok(())
    } else {
        Err("it must be a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057, in lower case")
    }
}

fn task(text: &str) -> Result<(), &'static str> {
    if text.is_empty() || text.len() > MAX_TASK_ID_BYTES {
        return Err("it must have 1 to 160 characters");
    }
    if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    {
        return Err("it may only have letters, digits, `_`, `-` and `.`");
    }
    if text.split('.').any(str::is_empty) {
        return Err("a `.` must stand between two parts");
    }
    Ok(())
}

fn intervention(text: &str) -> Result<(), &'static str> {
    let why = "it must be a session id, a slash and a number";
    let (id, number) = text.split_once('/').ok_or(why)?;
    session(id).map_err(|_| why)?;
    let canonical = number.parse::<u64>().is_ok_and(|value| value.to_string() == number);
    if canonical { Ok(()) } else { Err(why) }
}

impl InterventionId {
    /// The intervention with this number in a session.
    pub fn in_session(session: &SessionId, number: u64) -> Self {
        Self(format!("{session}/{number}"))
    }

    /// The session it belongs to.
    pub fn session(&self) -> SessionId {
        SessionId(self.0.split('/').next().unwrap_or_default().to_owned())
    }
}

/// One attempt at a task; attempts count from 1.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct AttemptId {
    /// The task that is attempted.
    pub task: TaskId,
    /// Which attempt, from 1.
    pub attempt: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.task, self.attempt)
    }
}

/// One job: an attempt in a session. Starting it again is the same job.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct JobId {
    /// The session that has the intervention.
    pub session: SessionId,
    /// The attempt in it.
    #[serde(flatten)]
    pub attempt: AttemptId,
}

impl fmt::Display for JobId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.session, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_leave_its_folder_is_no_id() {
        for text in ["", ".", "..", "a/b", "../x", "a..b", ".a", "a.", "a b", "a\0", "ä"] {
            assert!(TaskId::new(text).is_err(), "{text:?}");
        }
        for text in ["build", "build.3", "review.r2.arbiter", "A_b-9"] {
            assert_eq!(TaskId::new(text).unwrap().as_str(), text);
        }
        assert!(TaskId::new("a".repeat(161)).is_err());
    }

    #[test]
    fn a_session_is_a_uuid_and_nothing_else() {
        let good = "01890a5d-ac96-774b-bcce-b302099a8057";
        assert!(SessionId::new(good).is_ok());
        for bad in ["", "..", &good.to_uppercase(), &good[1..], &good.replace('-', "/")] {
            assert!(SessionId::new(bad).is_err(), "{bad}");
        }
        let session = SessionId::new(good).unwrap();
        let id = InterventionId::in_session(&session, 7);
        assert_eq!(InterventionId::new(id.as_str()).unwrap(), id);
        assert!(InterventionId::new(format!("{good}/07")).is_err());
        assert!(serde_json::from_str::<SessionId>("\"../../etc\"").is_err());
    }

    #[test]
    fn the_message_says_what_is_wrong() {
        assert_eq!(
            TaskId::new("a/b").unwrap_err().to_string(),
            "\"a/b\" is no task id: it may only have letters, digits, `_`, `-` and `.`"
        );
    }
}
