//! What a file that differs from its schema is told, message by message.

mod alternatives;
mod reading;

use insta::assert_snapshot;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{FileSyntax, HumanDuration, ProblemReport, SourceFile, read};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
struct Step {
    /// What it is called. Kebab-case.
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"), length(max = 20))]
    name: String,
    /// What the agent is told.
    prompt: String,
    #[serde(default)]
    #[schemars(length(min = 1))]
    extra_args: Vec<String>,
    max_concurrent: Option<u8>,
    ratio: Option<f64>,
    keep: Option<bool>,
    mode: Option<Mode>,
    timeout: Option<HumanDuration>,
    #[serde(default)]
    env: std::collections::BTreeMap<String, String>,
    retry: Option<Retry>,
    #[serde(default)]
    only: std::collections::BTreeSet<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Interactive,
    Headless,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the schema matters")]
struct Retry {
    /// How often in all.
    #[schemars(range(min = 1, max = 10))]
    attempts: u32,
    delay: Option<HumanDuration>,
}

/// The report about a file that is read as a `T`.
fn about<T: serde::de::DeserializeOwned + JsonSchema + 'static>(text: &str) -> String {
    let source = SourceFile::new("step.yaml", text);
    let read = read::<T>(&source, FileSyntax::Yaml);
    assert_eq!(read.value.is_none(), read.problems.iter().any(crate::FileProblem::is_error));
    ProblemReport::new(source, read.problems).render(false)
}

fn step(text: &str) -> String {
    about::<Step>(&format!("name: plan\nprompt: Go\n{text}"))
}

#[test]
fn a_file_that_fits_has_no_problems() {
    assert_eq!(
        step(
            "extra_args: [-v]\nmax_concurrent: 3\nratio: 2\nkeep: true\nmode: headless\n\
             timeout: 1h30m\nenv: {A: b}\nretry: {attempts: 2, delay: 5s}\nonly: [a, b]\n"
        ),
        ""
    );
    assert_eq!(step("mode: ~\nretry:\n"), "");
}

#[test]
fn an_unknown_key_comes_with_the_one_that_was_meant() {
    assert_snapshot!(about::<Step>("name: plan\npromt: Go\n"), @r"
    error[missing-key]: missing key `prompt`
     --> step.yaml:1:1
      |
    1 | name: plan
      | ^^^^
      |
      = help: `prompt`: What the agent is told

    error[unknown-key]: unknown key `promt`; did you mean `prompt`?
     --> step.yaml:2:1
      |
    2 | promt: Go
      | ^^^^^
    ");
}

#[test]
fn an_unknown_key_that_is_like_nothing_comes_with_all_known_ones() {
    assert_snapshot!(step("retry:\n  attempts: 1\n  colour: red\n"), @r"
    error[unknown-key]: `retry`: unknown key `colour`
     --> step.yaml:5:3
      |
    5 |   colour: red
      |   ^^^^^^
      |
      = help: known keys are `attempts` and `delay`
    ");
}

#[test]
fn a_merge_key_is_explained() {
    assert_snapshot!(step("<<: {keep: true}\n"), @r"
    error[unknown-key]: unknown key `<<`
     --> step.yaml:3:1
      |
    3 | <<: {keep: true}
      | ^^
      |
      = help: YAML 1.2 has no merge keys; repeat the keys, or alias the whole map
    ");
}

#[test]
fn missing_keys_are_reported_each_and_say_what_they_are_for() {
    assert_snapshot!(about::<Step>("keep: true\nretry: {}\n"), @r"
    error[missing-key]: missing key `name`
     --> step.yaml:1:1
      |
    1 | keep: true
      | ^^^^
      |
      = help: `name`: What it is called

    error[missing-key]: missing key `prompt`
     --> step.yaml:1:1
      |
    1 | keep: true
      | ^^^^
      |
      = help: `prompt`: What the agent is told

    error[missing-key]: `retry`: missing key `attempts`
     --> step.yaml:2:8
      |
    2 | retry: {}
      |        ^^
      |
      = help: `attempts`: How often in all
    ");
}

#[test]
fn wrong_types_are_told_in_words_with_the_way_to_them() {
    assert_snapshot!(step("extra_args: 3\nkeep: yes\nmax_concurrent: \"4\"\nretry: soon\n"), @r#"
    error[wrong-type]: `extra_args`: expected a list of strings, found the number 3
     --> step.yaml:3:13
      |
    3 | extra_args: 3
      |             ^

    error[wrong-type]: `keep`: expected true or false, found the string `yes`
     --> step.yaml:4:7
      |
    4 | keep: yes
      |       ^^^
      |
      = help: write `true`, without quotes

    error[wrong-type]: `max_concurrent`: expected a whole number, found the string `4`
     --> step.yaml:5:17
      |
    5 | max_concurrent: "4"
      |                 ^^^
      |
      = help: write the number without quotes

    error[wrong-type]: `retry`: expected a map, found the string `soon`
     --> step.yaml:6:8
      |
    6 | retry: soon
      |        ^^^^
    "#);
}

#[test]
fn entries_of_lists_and_maps_are_checked_one_by_one() {
    assert_snapshot!(step("extra_args: [a, 1.10, [b]]\nenv:\n  PORT: 80\n  EMPTY:\n"), @r"
    error[wrong-type]: `extra_args[1]`: expected a string, found the number 1.1
     --> step.yaml:3:17
      |
    3 | extra_args: [a, 1.10, [b]]
      |                 ^^^^
      |
      = help: put it in quotes to make it a string

    error[wrong-type]: `extra_args[2]`: expected a string, found a list
     --> step.yaml:3:23
      |
    3 | extra_args: [a, 1.10, [b]]
      |                       ^^^

    error[wrong-type]: `env.PORT`: expected a string, found the number 80
     --> step.yaml:5:9
      |
    5 |   PORT: 80
      |         ^^
      |
      = help: put it in quotes to make it a string

    error[wrong-type]: `env.EMPTY`: expected a string, found nothing
     --> step.yaml:6:8
      |
    6 |   EMPTY:
      |        ^
      |
      = help: write a value, or remove the key
    ");
}

#[test]
fn a_value_outside_an_enumeration_comes_with_the_one_that_was_meant() {
    assert_snapshot!(step("mode: headles\n"), @r"
    error[not-one-of]: `mode`: expected one of `interactive` or `headless`, found the string `headles`
     --> step.yaml:3:7
      |
    3 | mode: headles
      |       ^^^^^^^
      |
      = help: did you mean `headless`?
    ");
    assert_snapshot!(step("mode: fast\n"), @r"
    error[not-one-of]: `mode`: expected one of `interactive` or `headless`, found the string `fast`
     --> step.yaml:3:7
      |
    3 | mode: fast
      |       ^^^^
    ");
}

#[test]
fn bounds_of_numbers_and_lengths_are_told() {
    assert_snapshot!(step("retry: {attempts: 11}\nextra_args: []\nmax_concurrent: 300\n"), @r"
    error[out-of-range]: `retry.attempts`: may be at most 10, found 11
     --> step.yaml:3:19
      |
    3 | retry: {attempts: 11}
      |                   ^^

    error[too-short]: `extra_args`: the list must not be empty
     --> step.yaml:4:13
      |
    4 | extra_args: []
      |             ^^

    error[out-of-range]: `max_concurrent`: may be at most 255, found 300
     --> step.yaml:5:17
      |
    5 | max_concurrent: 300
      |                 ^^^
    ");
    assert_snapshot!(about::<Step>("name: a-name-that-is-far-too-long\nprompt: x\n"), @r"
    error[too-long]: `name`: may have at most 20 characters, found 27
     --> step.yaml:1:7
      |
    1 | name: a-name-that-is-far-too-long
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
}

#[test]
fn text_of_the_wrong_form_is_told_what_it_should_be() {
    assert_snapshot!(about::<Step>("name: My Step\nprompt: x\n"), @r"
    error[bad-form]: `name`: `My Step` does not have the form `^[a-z][a-z0-9-]*$`
     --> step.yaml:1:7
      |
    1 | name: My Step
      |       ^^^^^^^
      |
      = help: What it is called
    ");
}

#[test]
fn a_duration_says_what_is_wrong_with_it() {
    assert_snapshot!(step("timeout: 30\nretry: {attempts: 1, delay: 5 parsecs}\n"), @r"
    error[wrong-type]: `timeout`: expected a duration such as `30m`, `1h30m` or `500ms`, found the number 30
     --> step.yaml:3:10
      |
    3 | timeout: 30
      |          ^^

    error[bad-duration]: `retry.delay`: `5 parsecs` is not a duration; write for example `30m`, `1h30m` or `500ms`
     --> step.yaml:4:29
      |
    4 | retry: {attempts: 1, delay: 5 parsecs}
      |                             ^^^^^^^^^
    ");
    assert_snapshot!(step("timeout: \"30\"\n"), @r#"
    error[bad-duration]: `timeout`: `30` has no unit; write for example `30s` or `30m`
     --> step.yaml:3:10
      |
    3 | timeout: "30"
      |          ^^^^
    "#);
}

#[test]
fn an_entry_that_may_be_there_once_is_named_with_both_places() {
    assert_snapshot!(step("only: [a, b, a]\n"), @r"
    error[duplicate-entry]: `only[2]`: the string `a` is in the list twice
     --> step.yaml:3:14
      |
    3 | only: [a, b, a]
      |        -     ^
      |        |
      |        first here
    ");
}

#[test]
fn a_value_behind_two_aliases_is_wrong_once() {
    let text = "- &x {name: a, prompt: b, keep: 3}\n- *x\n- *x\n";
    let report = about::<Vec<Step>>(text);
    assert_eq!(report.matches("error[").count(), 1, "{report}");
}

#[test]
fn a_root_of_the_wrong_type_is_told_so() {
    assert_snapshot!(about::<Step>("- name: plan\n"), @r"
    error[wrong-type]: expected a map, found a list
     --> step.yaml:1:1
      |
    1 | - name: plan
      | ^^^^^^^^^^^^
    ");
    assert_snapshot!(about::<Step>("null\n"), @r"
    error[wrong-type]: expected a map, found nothing
     --> step.yaml:1:1
      |
    1 | null
      | ^^^^
      |
      = help: write a value, or remove the key
    ");
}
