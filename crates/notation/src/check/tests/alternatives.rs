//! Alternatives: the one that was meant is blamed, not all of them.

use insta::assert_snapshot;
use schemars::JsonSchema;
use serde::Deserialize;

use super::about;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
struct File {
    decision: Option<Decision>,
    step: Option<Step>,
    codes: Option<Codes>,
    trigger: Option<Trigger>,
}

/// Alternatives that are a word or a map with one key.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only the schema matters")]
enum Decision {
    /// Yes.
    Allow,
    /// No.
    Deny,
    /// A text.
    Answer { text: String },
    /// A number.
    Choose(u8),
}

/// Alternatives that are told apart by a key.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
enum Step {
    Agent { prompt: String },
    ParallelAgents { prompt: String, for_each: String },
    Gate { command: Option<String> },
}

/// Alternatives of different types.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema matters")]
enum Codes {
    Any(AnyCode),
    List(Vec<i32>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum AnyCode {
    Any,
}

/// Alternatives of which two are maps.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only the schema matters")]
enum Trigger {
    Word(String),
    Event(Event),
    Schedule(Schedule),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
struct Event {
    event: String,
    filter: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
struct Schedule {
    every: String,
    at: Option<String>,
}

#[test]
fn what_fits_one_alternative_is_right() {
    for text in [
        "decision: allow",
        "decision: {answer: {text: x}}",
        "decision: {choose: 2}",
        "step: {type: gate}",
        "codes: any",
        "codes: [0, 2]",
        "trigger: manual",
        "trigger: {every: day}",
    ] {
        assert_eq!(about::<File>(text), "", "{text}");
    }
}

#[test]
fn a_word_is_compared_with_words_and_a_map_with_maps() {
    assert_snapshot!(about::<File>("decision: alow\n"), @r"
    error[not-one-of]: `decision`: expected one of `allow` or `deny`, found the string `alow`
     --> step.yaml:1:11
      |
    1 | decision: alow
      |           ^^^^
      |
      = help: did you mean `allow`?
    ");
    assert_snapshot!(about::<File>("decision: {anser: {text: x}}\n"), @r"
    error[unknown-key]: `decision`: unknown key `anser`; did you mean `answer`?
     --> step.yaml:1:12
      |
    1 | decision: {anser: {text: x}}
      |            ^^^^^
    ");
    assert_snapshot!(about::<File>("decision: {answer: {txt: x}}\n"), @r"
    error[missing-key]: `decision.answer`: missing key `text`
     --> step.yaml:1:20
      |
    1 | decision: {answer: {txt: x}}
      |                    ^^^^^^^^
    ");
    assert_snapshot!(about::<File>("decision: {}\n"), @r"
    error[missing-key]: `decision`: expected one of the keys `answer` or `choose`
     --> step.yaml:1:11
      |
    1 | decision: {}
      |           ^^
    ");
    assert_snapshot!(about::<File>("decision: [allow]\n"), @r"
    error[wrong-type]: `decision`: expected `allow`, `deny` or a map, found a list
     --> step.yaml:1:11
      |
    1 | decision: [allow]
      |           ^^^^^^^
    ");
}

#[test]
fn the_key_that_tells_alternatives_apart_decides_which_is_blamed() {
    assert_snapshot!(about::<File>("step: {type: parallel-agents, prompt: 3}\n"), @r"
    error[missing-key]: `step`: missing key `for_each`
     --> step.yaml:1:7
      |
    1 | step: {type: parallel-agents, prompt: 3}
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    error[wrong-type]: `step.prompt`: expected a string, found the number 3
     --> step.yaml:1:39
      |
    1 | step: {type: parallel-agents, prompt: 3}
      |                                       ^
      |
      = help: put it in quotes to make it a string
    ");
    assert_snapshot!(about::<File>("step: {type: gat, command: x}\n"), @r"
    error[not-one-of]: `step.type`: expected one of `agent`, `parallel-agents` or `gate`, found the string `gat`
     --> step.yaml:1:14
      |
    1 | step: {type: gat, command: x}
      |              ^^^
      |
      = help: did you mean `gate`?
    ");
    assert_snapshot!(about::<File>("step: {prompt: x}\n"), @r"
    error[missing-key]: `step`: missing key `type`
     --> step.yaml:1:7
      |
    1 | step: {prompt: x}
      |       ^^^^^^^^^^^
      |
      = help: `type` is one of `agent`, `parallel-agents` or `gate`
    ");
}

#[test]
fn the_type_decides_which_alternative_is_blamed() {
    assert_snapshot!(about::<File>("codes: [0, x]\n"), @r"
    error[wrong-type]: `codes[1]`: expected a whole number, found the string `x`
     --> step.yaml:1:12
      |
    1 | codes: [0, x]
      |            ^
    ");
    assert_snapshot!(about::<File>("codes: none\n"), @r"
    error[not-one-of]: `codes`: expected `any`, found the string `none`
     --> step.yaml:1:8
      |
    1 | codes: none
      |        ^^^^
    ");
    assert_snapshot!(about::<File>("codes: 3\n"), @r"
    error[wrong-type]: `codes`: expected `any` or a list of whole numbers, found the number 3
     --> step.yaml:1:8
      |
    1 | codes: 3
      |        ^
    ");
}

#[test]
fn of_two_maps_the_nearer_one_is_blamed() {
    assert_snapshot!(about::<File>("trigger: {every: day, att: noon}\n"), @r"
    error[unknown-key]: `trigger`: unknown key `att`; did you mean `at`?
     --> step.yaml:1:23
      |
    1 | trigger: {every: day, att: noon}
      |                       ^^^
    ");
    assert_snapshot!(about::<File>("trigger: {filter: x}\n"), @r"
    error[missing-key]: `trigger`: missing key `event`
     --> step.yaml:1:10
      |
    1 | trigger: {filter: x}
      |          ^^^^^^^^^^^
    ");
}
