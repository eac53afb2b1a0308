//! Definitions of sizes and shapes that only a generator writes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check::check;
use coven_workflow::plan::StepAction;
use coven_workflow::{TextTemplate, VariableScope};
use serde_json::{Value, json};

use crate::{checked, codes, known, plan};

const HEAD: &str = "name: g\ndescription: G.\ndefaults: {adapter: claude}\nsteps:\n";

/// Far more than any of these takes on a busy machine, far less than something quadratic would.
const MAX_TIME: Duration = Duration::from_mins(1);

#[test]
fn ten_megabytes_of_yaml_are_checked_in_time() {
    let began = Instant::now();
    let line = "Some text with ${input} and more of it, again and again.\n      ";
    let prompt = line.repeat(10 * 1024 * 1024 / line.len());
    let text = format!("{HEAD}  - name: a\n    type: agent\n    prompt: |\n      {prompt}\n");
    let plan = plan("g.yaml", &text);
    let StepAction::Agent { agent } = &plan.steps[0].action else { panic!() };
    assert!(agent.prompt.as_ref().unwrap().references().count() > 100_000);
    // The same, with every one of them wrong: a page of problems, not a hundred thousand.
    let checked = checked("g.yaml", &text.replace("${input}", "${inptu}"));
    assert!(checked.plan.is_none() && checked.problems.len() <= 200);
    assert!(began.elapsed() < MAX_TIME, "{:?}", began.elapsed());
}

#[test]
fn ten_megabytes_in_a_variable_are_filled_in_once_per_use() {
    let began = Instant::now();
    let value = "x".repeat(10 * 1024 * 1024);
    let scope = VariableScope::default().with("big", json!({"list": [value.clone()]}));
    let template = TextTemplate::parse("a ${big.list[0]} b ${big.list[0]}").unwrap();
    let text = template.render(&scope).unwrap();
    assert_eq!(text.len(), 2 * value.len() + 5);
    let many = TextTemplate::parse(&"${n}".repeat(100_000)).unwrap();
    assert_eq!(many.render(&scope.with("n", json!(1))).unwrap().len(), 100_000);
    assert!(began.elapsed() < MAX_TIME, "{:?}", began.elapsed());
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text =
        String::from("name: g\ndescription: G.\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..10 {
        let below = level - 1;
        let aliases = vec![format!("*a{below}"); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    text += "steps: *a9\n";
    let began = Instant::now();
    let checked = checked("g.yaml", &text);
    assert!(checked.plan.is_none() && !checked.problems.is_empty());
    assert!(began.elapsed() < MAX_TIME, "{:?}", began.elapsed());
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [65, 10_000, 200_000] {
        let yaml = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(checked("g.yaml", &yaml).plan.is_none());
        assert!(checked("g.json", &format!("{{\"stages\": {yaml}}}")).plan.is_none());
    }
    let mut schema = "{type: array}".to_owned();
    for _ in 0..50 {
        schema = format!("{{items: {schema}}}");
    }
    let text = format!("{HEAD}  - {{name: a, type: agent, prompt: x, expect: {schema}}}\n");
    plan("g.yaml", &text);
    let deep = format!(
        "{HEAD}  - {{name: a, type: script, command: date, when: \"{}true\"}}\n",
        "!".repeat(10_000)
    );
    assert_eq!(codes("g.yaml", &deep), ["bad-condition"]);
    let long = format!(
        "{HEAD}  - {{name: a, type: script, command: date, when: \"true{}\"}}\n",
        " and true".repeat(10_000)
    );
    assert_eq!(codes("g.yaml", &long), ["bad-condition"]);
}

#[test]
fn five_thousand_steps_are_checked_in_time() {
    let began = Instant::now();
    let mut text = HEAD.to_owned();
    for step in 0..5000 {
        let before = if step == 0 { "start".to_owned() } else { format!("${{out_{}}}", step - 1) };
        writeln!(text, "  - {{name: step-{step}, type: script, command: \"echo {before}\", output: out_{step}}}").unwrap();
    }
    let plan = plan("g.yaml", &text);
    assert_eq!(plan.steps.len(), 5000);
    let json = serde_json::to_string(&plan.definition).unwrap();
    assert_eq!(crate::plan("g.json", &json).steps.len(), 5000, "all in one line");
    assert!(began.elapsed() < MAX_TIME, "{:?}", began.elapsed());
}

#[test]
fn a_list_may_have_ten_thousand_items() {
    for count in [0, 1, 10_000] {
        let items: Vec<String> = (0..count).map(|item| format!("item {item}")).collect();
        let text = format!(
            "{HEAD}  - {{name: a, type: parallel-agents, for_each: {}, prompt: \"${{item}}\"}}\n",
            serde_json::to_string(&items).unwrap()
        );
        let plan = plan("g.yaml", &text);
        let StepAction::ParallelAgents { for_each, .. } = &plan.steps[0].action else { panic!() };
        let value = for_each.value(&VariableScope::default()).unwrap();
        assert_eq!(value.as_array().map(Vec::len), Some(count));
    }
}

#[test]
fn nul_and_escape_sequences_reach_no_terminal_and_no_program() {
    let text = format!(
        "{HEAD}  - {{name: a, type: agent, prompt: \"a\\0b ${{\\e[2J}}\", env: {{A: \"\\0\"}}, cwd: \"\\0\"}}\n"
    );
    let source = SourceFile::new("\u{1b}[31m.yaml", text);
    let checked = check(&source, &known());
    let codes: Vec<&str> = checked.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["nul-character", "bad-variable", "nul-character", "nul-character"]);
    let shown = ProblemReport::new(source, checked.problems).render(false);
    assert!(!shown.contains(['\u{1b}', '\0']), "{shown:?}");
    // In a value they are data: the agent gets what is there.
    let scope = VariableScope::default().with("x", Value::from("\u{1b}[2J\0"));
    assert_eq!(TextTemplate::parse("${x}").unwrap().render(&scope).unwrap(), "\u{1b}[2J\0");
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_nothing() {
    let unix = format!(
        "{HEAD}  - name: a\n    type: script\n    command: |\n      echo one\n      echo two\n"
    );
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    let (unix, windows) = (plan("g.yaml", &unix), plan("g.yaml", &windows));
    assert_eq!(unix.steps, windows.steps);
}

#[test]
fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
    for text in [
        "name: g\nname: h\ndescription: G.\nsteps: [{name: a, type: script, command: date}]\n",
        "name: g\ndescription: G.\nsteps: [{name: a, type: script, command: date, \"command\": cal}]\n",
        "name: g\ndescription: G.\nsteps: [{name: a, type: script, command: date, env: {A: b, A: c}}]\n",
    ] {
        assert_eq!(codes("g.yaml", text), ["duplicate-key"], "{text}");
    }
}
