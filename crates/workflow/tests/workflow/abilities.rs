//! What a plan asks of its agents, held against what they can do.

use std::collections::BTreeMap;

use coven_model::{AdapterAbilities, AgentMode, PermissionLevel};
use coven_notation::SourceFile;
use coven_workflow::{CheckEnvironment, Inability, check, inabilities, settle};
use serde_json::json;

/// `able` can do everything but tell its answer from its screen; `plain` knows no permissions and
/// has no terminal; `reader` tells its answer.
fn abilities(adapter: &str) -> Option<AdapterAbilities> {
    let all: Vec<PermissionLevel> = PermissionLevel::ALL.to_vec();
    let both = |levels: Vec<PermissionLevel>| {
        BTreeMap::from([(AgentMode::Interactive, levels.clone()), (AgentMode::Headless, levels)])
    };
    let (modes, reads_answers) = match adapter {
        "able" => (both(all), false),
        "reader" => (both(all), true),
        "plain" => (BTreeMap::from([(AgentMode::Headless, Vec::new())]), false),
        _ => return None,
    };
    Some(AdapterAbilities { command: format!("{adapter}-program"), modes, reads_answers })
}

fn known() -> CheckEnvironment {
    CheckEnvironment::new(["able", "reader", "plain"])
}

fn source(steps: &str) -> SourceFile {
    SourceFile::new("t.yaml", format!("name: t\ndescription: A test.\nsteps:\n{steps}"))
}

fn unable(steps: &str) -> Vec<Inability> {
    let checked = check(&source(steps), &known());
    let plan = checked.plan.unwrap_or_else(|| panic!("{:?}", checked.problems));
    inabilities(&plan, abilities, |_| true)
}

fn messages(steps: &str) -> Vec<(bool, String)> {
    unable(steps).into_iter().map(|unable| (unable.fatal, unable.message)).collect()
}

#[test]
fn a_permission_that_an_adapter_cannot_grant_is_told_at_its_place() {
    let steps = "  - name: one\n    type: agent\n    adapter: plain\n    prompt: go\n    permissions: edits\n";
    let found = unable(steps);
    assert_eq!(found.len(), 1);
    let problem = found[0].in_file(&source(steps));
    assert!(problem.is_error());
    let message = "step `one`: the adapter `plain` does not say how to grant `edits`";
    assert_eq!(problem.message, message);
    assert_eq!(source(steps).slice(problem.span), "edits");
    assert_eq!(messages(&steps.replace("plain", "able")), []);
    assert_eq!(messages(&steps.replace("    permissions: edits\n", "")), []);
}

#[test]
fn an_arbiter_must_be_able_to_only_read() {
    let steps = "  - {name: one, type: agent-loop, adapter: able, prompt: go, arbiter: {prompt: good?, adapter: plain}}\n";
    let message = "`plain` cannot be an arbiter: it does not say how to grant `read-only`";
    assert_eq!(messages(steps), [(true, message.to_owned())]);
    assert_eq!(messages(&steps.replace("plain", "reader")), []);
}

#[test]
fn a_mode_that_an_adapter_does_not_have_is_told() {
    let steps = "  - {name: one, type: agent, adapter: plain, prompt: go, mode: interactive}\n";
    assert_eq!(
        messages(steps),
        [(true, "step `one`: `plain` has no mode `interactive`".to_owned())]
    );
}

#[test]
fn the_output_of_an_agent_on_a_terminal_is_refused_as_data_and_warned_of_as_text() {
    let step = |more: &str| {
        format!(
            "  - {{name: one, type: agent, adapter: able, prompt: go, mode: interactive{more}}}\n"
        )
    };
    let message = "step `one`: the output of `able` on a terminal is all that its screen shows";
    assert_eq!(messages(&step("")), []);
    assert_eq!(messages(&step(", output: said")), [(false, message.to_owned())]);
    assert_eq!(messages(&step(", output: said, expect: json")), [(true, message.to_owned())]);
    assert_eq!(messages(&step(", expect: {type: object}")), [(true, message.to_owned())]);
    let reader = step(", output: said, expect: json").replace("able", "reader");
    assert_eq!(messages(&reader), []);
    assert_eq!(messages(&step(", expect: json").replace("interactive", "headless")), []);
}

#[test]
fn a_program_that_is_missing_is_told_unless_the_step_has_its_own_path() {
    let found = |steps: &str| {
        let plan = check(&source(steps), &known()).plan.unwrap();
        let found = inabilities(&plan, abilities, |program| program != "able-program");
        found.into_iter().map(|unable| (unable.fatal, unable.message)).collect::<Vec<_>>()
    };
    let step = "  - {name: one, type: agent, adapter: able, prompt: go}\n";
    let message = "step `one`: the program `able-program` of `able` was not found";
    assert_eq!(found(step), [(true, message.to_owned())]);
    // A step with a condition may never be run.
    let maybe = step.replace("prompt: go", "prompt: go, when: '1 == 2'");
    assert_eq!(found(&maybe), [(false, message.to_owned())]);
    assert_eq!(found(&step.replace("prompt: go", "prompt: go, env: {PATH: /opt}")), []);
    assert_eq!(found(&step.replace("able", "plain")), []);
}

const TEAM: &str = "  - name: team\n    type: parallel-agents\n    for_each: [{cli: able}, {cli: reader}]\n    adapter: ${item.cli}\n    prompt: go\n";

/// Spec: GR.3.1
#[test]
fn a_team_of_different_agents_takes_its_adapters_from_its_elements() {
    let problems = |steps: &str| {
        let problems = check(&source(steps), &known()).problems;
        problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    assert_eq!(problems(TEAM), [""; 0]);
    let slip = TEAM.replace("{cli: reader}", "{cli: readr}");
    assert_eq!(problems(&slip), ["unknown adapter `readr`; did you mean `reader`?"]);
    let none = TEAM.replace("{cli: reader}", "{name: reader}");
    assert_eq!(problems(&none), ["this element has no adapter in `${item.cli}`"]);
    let named =
        TEAM.replace("${item.cli}", "${who.cli}").replace("    prompt", "    as: who\n    prompt");
    assert_eq!(problems(&named), [""; 0]);
    // Other steps have no element.
    let single = "  - {name: one, type: agent, adapter: '${item.cli}', prompt: go}\n";
    assert!(!problems(single).is_empty());
}

#[test]
fn elements_that_come_with_the_inputs_are_checked_when_the_run_is_made() {
    let text = "name: t\ndescription: A test.\ninputs:\n  team: {type: array}\nsteps:\n  - {name: team, type: parallel-agents, for_each: '${input.team}', adapter: '${item.cli}', prompt: go}\n";
    let source = SourceFile::new("t.yaml", text);
    let plan = check(&source, &known()).plan.unwrap();
    let settled = |team: serde_json::Value| {
        let input = json!({"team": team}).as_object().unwrap().clone();
        let mut plan = plan.clone();
        settle(&mut plan, &input, &known())
            .map_err(|problems| problems.into_iter().map(|one| one.message).collect::<Vec<_>>())
    };
    assert_eq!(settled(json!([{"cli": "able"}, {"cli": "plain"}])), Ok(()));
    assert_eq!(
        settled(json!([{"cli": "abel"}])),
        Err(vec!["`item.cli` names an unknown adapter, `abel`; did you mean `able`?".to_owned()])
    );
    assert_eq!(
        settled(json!([{"name": "able"}])),
        Err(vec!["an element has no adapter in `item.cli`".to_owned()])
    );
}
