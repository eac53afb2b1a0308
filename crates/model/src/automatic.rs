//! A policy for answering an agent without a person, as data.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to automate one agent. Both parts may be missing; then every question goes to a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AutoPolicy {
    /// Arguments added at launch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inject_args: Vec<String>,
    /// Standard handlers to try, in this order, when the agent asks: `pressEnter`, `confirmYes`,
    /// `escape`, `choose(2)`, `type(text)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<HandlerName>,
}

/// How every question of a run is answered when the run was started with automatic answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AutoAnswer {
    /// Every question is approved, every step proceeds, every done task completes.
    Allow,
    /// Deny, and end what cannot go on.
    Deny,
}

impl AutoAnswer {
    /// The word for it, as on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// A standard handler, as it is written in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum HandlerName {
    /// Answers with a carriage return.
    PressEnter,
    /// Answers a yes/no question with yes.
    ConfirmYes,
    /// Answers every question with the Escape key.
    Escape,
    /// Chooses the n-th entry of a menu, counted from 1.
    Choose(u8),
    /// Types a text and submits it.
    Type(String),
}

/// A name that is no standard handler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no handler; there are pressEnter, confirmYes, escape, choose(1) to choose(9) and type(text)"
)]
pub struct UnknownHandler(pub String);

impl TryFrom<String> for HandlerName {
    type Error = UnknownHandler;

    fn try_from(text: String) -> Result<Self, UnknownHandler> {
        let argument = |name: &str| {
            text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')').map(str::to_owned)
        };
        match text.as_str() {
            "pressEnter" => return Ok(Self::PressEnter),
            "confirmYes" => return Ok(Self::ConfirmYes),
            "escape" => return Ok(Self::Escape),
            _ => {}
        }
        if let Some(number) = argument("choose")
            && let Ok(number @ 1..=9) = number.trim().parse()
        {
            return Ok(Self::Choose(number));
        }
        argument("type").map(Self::Type).ok_or(UnknownHandler(text))
    }
}

impl From<HandlerName> for String {
    fn from(name: HandlerName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for HandlerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PressEnter => formatter.write_str("pressEnter"),
            Self::ConfirmYes => formatter.write_str("confirmYes"),
            Self::Escape => formatter.write_str("escape"),
            Self::Choose(number) => write!(formatter, "choose({number})"),
            Self::Type(text) => write!(formatter, "type({text})"),
        }
    }
}

impl JsonSchema for HandlerName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Handler".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "pressEnter, confirmYes, escape, choose(1) to choose(9), or type(text)",
            "pattern": r"^(pressEnter|confirmYes|escape|choose\([1-9]\)|type\([\s\S]*\))$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: C0.12.1
    #[test]
    fn a_policy_may_have_arguments_and_handlers_and_needs_neither() {
        let whole: AutoPolicy = serde_json::from_str(
            r#"{"injectArgs": ["--yolo"], "handlers": ["pressEnter", "choose(2)", "type(go on)"]}"#,
        )
        .unwrap();
        assert_eq!(whole.inject_args, ["--yolo"]);
        assert_eq!(
            whole.handlers,
            [
                HandlerName::PressEnter,
                HandlerName::Choose(2),
                HandlerName::Type("go on".to_owned())
            ]
        );
        assert_eq!(serde_json::from_str::<AutoPolicy>("{}").unwrap(), AutoPolicy::default());
    }

    #[test]
    fn names_read_back_as_they_were_written() {
        for name in ["pressEnter", "confirmYes", "escape", "choose(9)", "type()", "type(a(b)c)"] {
            assert_eq!(HandlerName::try_from(name.to_owned()).unwrap().to_string(), name);
        }
        for name in ["", "enter", "choose", "choose(0)", "choose(10)", "choose(x)", "type(a"] {
            assert!(HandlerName::try_from(name.to_owned()).is_err(), "{name}");
        }
    }
}
