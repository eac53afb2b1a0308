//! What an agent on a terminal reports by itself: which events there are, what each is evidence
//! for, and how the program is asked to report them.
//!
//! A report is a witness, never an authority. Its token stands in the environment of the agent, so
//! everything that the agent starts can send one. It decides nothing that a line on the terminal
//! could not decide, and what it is answered decides nothing for the agent.

use std::fmt;

use coven_model::AgentState;
use schemars::JsonSchema;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer as _, Serialize};
use serde_json::{Map, Value, json};

/// How a program reports: the value of `hooks.kind` in an adapter file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookKind {
    /// Claude Code's hooks of the type `http`, asked for with `--settings`.
    ClaudeHttp,
}

impl HookKind {
    /// Its name in an adapter file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeHttp => "claude-http",
        }
    }
}

/// The variable with the token, in the environment of the agent.
pub const TOKEN_VARIABLE: &str = "COVEN_HOOK_TOKEN";

/// What a program is to report to, and with which token.
#[derive(Clone, Copy, Debug)]
pub struct HookTarget<'a> {
    pub url: &'a str,
    pub token: &'a str,
}

/// The option that takes settings.
const SETTINGS_OPTION: &str = "--settings";

/// How long the program waits for the daemon, in seconds. It goes on without an answer then.
const REPORT_TIMEOUT_SECONDS: u32 = 5;

/// With what a mark of a report begins, on the tape of an attempt.
const MARK_PREFIX: &str = "hook ";

/// What an agent reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEvent {
    /// It was given a prompt.
    UserPromptSubmit,
    /// It is about to use a tool.
    PreToolUse,
    /// It asks whether it may.
    PermissionRequest,
    /// It has used a tool.
    PostToolUse,
    /// Its turn is over.
    Stop,
    /// Its turn ended because its model could not be reached.
    StopFailure,
}

impl HookEvent {
    /// Every event that is understood.
    pub const ALL: [Self; 6] = [
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::Stop,
        Self::StopFailure,
    ];

    /// By the name that the program gives it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::StopFailure => "StopFailure",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }

    /// The event that a report is about; nothing for one that is not understood. The beginning of a
    /// report is enough: what a tool gave stands at its end, and may be long.
    pub fn of_report(body: &[u8]) -> Option<Self> {
        let mut name = None;
        let mut reader = serde_json::Deserializer::from_slice(body);
        // What follows the name may be cut off, which is no error then.
        drop(reader.deserialize_map(EventName(&mut name)));
        Self::named(&name?)
    }

    /// As it is noted on the tape.
    pub fn mark(self) -> String {
        format!("{MARK_PREFIX}{}", self.as_str())
    }

    /// Reads a note; nothing if it is of another kind.
    pub fn of_mark(note: &str) -> Option<Self> {
        Self::named(note.strip_prefix(MARK_PREFIX)?)
    }

    /// What it says the agent is doing; nothing where only the screen can tell.
    pub fn state(self) -> Option<AgentState> {
        match self {
            Self::UserPromptSubmit | Self::PreToolUse | Self::PostToolUse => {
                Some(AgentState::Working)
            }
            Self::Stop => Some(AgentState::Idle),
            Self::StopFailure => Some(AgentState::Error),
            Self::PermissionRequest => None,
        }
    }

    pub fn says_working(self) -> bool {
        self.state() == Some(AgentState::Working)
    }

    /// What counts after this report, where `earlier` counted before. That leave is asked for ends
    /// only that the agent works: what it asks, the screen says.
    #[must_use]
    pub fn after(self, earlier: Option<Self>) -> Option<Self> {
        match self.state() {
            Some(_) => Some(self),
            None => earlier.filter(|earlier| !earlier.says_working()),
        }
    }
}

/// Finds the name of the event among the keys of a report.
struct EventName<'a>(&'a mut Option<String>);

impl<'de> Visitor<'de> for EventName<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a report")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "hook_event_name" {
                *self.0 = Some(map.next_value()?);
                return Ok(());
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// The events that a program is asked to report.
///
/// `PreToolUse` and `PermissionRequest` are not among them though they are understood: the answer
/// to them lets a tool run. While no daemon runs, a program of another user of the machine may
/// listen on its port, and it must not be asked for leave there.
const REPORTED: [HookEvent; 4] =
    [HookEvent::UserPromptSubmit, HookEvent::PostToolUse, HookEvent::Stop, HookEvent::StopFailure];

/// The arguments that make a program report, unless others set what they would set.
pub(crate) fn arguments(
    kind: HookKind,
    target: &HookTarget<'_>,
    others: &[&[String]],
) -> Option<[String; 2]> {
    match kind {
        HookKind::ClaudeHttp => {
            let sets = |arg: &String| {
                arg.strip_prefix(SETTINGS_OPTION)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            };
            let settings = || claude_settings(target.url).to_string();
            (!others.iter().copied().flatten().any(sets))
                .then(|| [SETTINGS_OPTION.to_owned(), settings()])
        }
    }
}

fn claude_settings(url: &str) -> Value {
    let hook = json!({
        "type": "http",
        "url": url,
        "timeout": REPORT_TIMEOUT_SECONDS,
        "headers": {"authorization": format!("Bearer ${{{TOKEN_VARIABLE}}}")},
        "allowedEnvVars": [TOKEN_VARIABLE],
    });
    let events = REPORTED.map(|event| (event.as_str().to_owned(), json!([{"hooks": [hook]}])));
    json!({"hooks": Map::from_iter(events)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_and_its_mark_are_read_as_the_same_event() {
        for event in HookEvent::ALL {
            let body = json!({"hook_event_name": event.as_str(), "session_id": "s"}).to_string();
            assert_eq!(HookEvent::of_report(body.as_bytes()), Some(event));
            assert_eq!(HookEvent::of_mark(&event.mark()), Some(event));
        }
        let cut = "{\"cwd\":\"/\",\"hook_event_name\":\"Stop\",\"tool_response\":\"and so on";
        assert_eq!(HookEvent::of_report(cut.as_bytes()), Some(HookEvent::Stop));
        let nested = "{\"tool_input\":{\"hook_event_name\":\"Stop\"}}";
        assert_eq!(HookEvent::of_report(nested.as_bytes()), None, "that is of a tool");
        for body in ["", "{}", "[]", "{\"hook_event_name\":\"stop\"}", "{\"hook_event_name\":1}"] {
            assert_eq!(HookEvent::of_report(body.as_bytes()), None, "{body}");
        }
        for note in ["", "hook", "hook stop", "hookStop", "coven:input x", "{\"state\":\"idle\"}"] {
            assert_eq!(HookEvent::of_mark(note), None, "{note}");
        }
    }

    #[test]
    fn no_report_is_asked_for_whose_answer_lets_a_tool_run() {
        let settings = claude_settings("http://127.0.0.1:1/hook/s/t/1").to_string();
        assert!(settings.contains("Stop") && settings.contains("UserPromptSubmit"));
        assert!(!settings.contains("PreToolUse") && !settings.contains("PermissionRequest"));
    }

    #[test]
    fn a_request_for_leave_ends_only_that_the_agent_works() {
        let asks = HookEvent::PermissionRequest;
        assert_eq!(asks.after(Some(HookEvent::PreToolUse)), None);
        assert_eq!(asks.after(Some(HookEvent::Stop)), Some(HookEvent::Stop));
        assert_eq!(HookEvent::Stop.after(None), Some(HookEvent::Stop));
    }
}
