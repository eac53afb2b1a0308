//! What a plan asks of its agents, held against what they can do.

use std::collections::BTreeMap;

use coven_model::{AdapterAbilities, AdapterFault, AgentMode, PermissionLevel};
use coven_notation::SourceFile;
use coven_workflow::{
    CheckEnvironment, Inability, ability_problems, check, inabilities, known_inputs, settle,
};
use serde_json::{Map, json};

fn fault() -> AdapterFault {
    let (message, help) = ("it prints nothing".to_owned(), "add an argument".to_owned());
    AdapterFault { code: "lost-arguments", message, help }
}

/// `able` can do everything but tell its answer from its screen; `plain` knows no permissions and
/// has no terminal; `reader` tells its answer; `lost` cannot be read without a terminal.
fn abilities(adapter: &str) -> Option<AdapterAbilities> {
    let all: Vec<PermissionLevel> = PermissionLevel::ALL.to_vec();
    let both = |levels: Vec<PermissionLevel>| {
        BTreeMap::from([(AgentMode::Interactive, levels.clone()), (AgentMode::Headless, levels)])
    };
    let (modes, reads_answers) = match adapter {
        "able" | "lost" => (both(all), false),
        "reader" => (both(all), true),
        "plain" => (BTreeMap::from([(AgentMode::Headless, Vec::new())]), false),
        _ => return None,
    };
    let faults = match adapter {
        "lost" => BTreeMap::from([(AgentMode::Headless, fault())]),
        _ => BTreeMap::new(),
    };
    let command = format!("{adapter}-program");
    let resumes = modes.keys().copied().filter(|_| adapter == "reader").collect();
    let has_channel = adapter == "able";
    Some(AdapterAbilities { command, modes, reads_answers, has_channel, resumes, faults })
}

fn known() -> CheckEnvironment {
    CheckEnvironment::new(["able", "reader", "plain", "lost"])
}

fn source(steps: &str) -> SourceFile {
    SourceFile::new("t.yaml", format!("name: t\ndescription: A test.\nsteps:\n{steps}"))
}

fn unable(steps: &str) -> Vec<Inability> {
    let checked = check(&source(steps), &known());
    let plan = checked.plan.unwrap_or_else(|| panic!("{:?}", checked.problems));
    inabilities(&plan, &known_inputs(&plan, &Map::new()), abilities, |_| true)
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
fn a_loop_in_one_conversation_needs_an_agent_that_continues_one() {
    let steps = "  - {name: one, type: agent-loop, adapter: plain, prompt: go, context: continue, arbiter: {prompt: good?, adapter: reader}}\n";
    let message = "step `one`: `plain` cannot continue a conversation";
    let found = unable(steps);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].code, found[0].message.as_str()), ("no-resume", message));
    assert_eq!(source(steps).slice(found[0].in_file(&source(steps)).span), "continue");
    assert_eq!(messages(&steps.replace("continue", "fresh")), []);
    assert_eq!(messages(&steps.replace("adapter: plain", "adapter: reader")), []);
    // An agent that is spoken to continues by a message.
    let spoken = steps.replace("adapter: plain", "adapter: able");
    assert_eq!(messages(&spoken).len(), 1);
    for way in ["channel: true", "permissions: ask"] {
        assert_eq!(messages(&spoken.replace("prompt: go,", &format!("prompt: go, {way},"))), []);
    }
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
    assert_eq!(messages(&step(", expect: comments")), [(true, message.to_owned())]);
    let reader = step(", output: said, expect: json").replace("able", "reader");
    assert_eq!(messages(&reader), []);
    assert_eq!(messages(&step(", expect: json").replace("interactive", "headless")), []);
}

#[test]
fn a_program_that_is_missing_is_told_unless_the_step_has_its_own_path() {
    let found = |steps: &str| {
        let plan = check(&source(steps), &known()).plan.unwrap();
        let found = inabilities(&plan, &Map::new(), abilities, |program| program != "able-program");
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

#[test]
fn an_arbiter_without_the_mode_is_told_at_its_own_adapter() {
    let steps = "  - name: one\n    type: agent-loop\n    adapter: plain\n    prompt: go\n    arbiter: {prompt: good?, adapter: able}\n";
    let place = |found: Vec<Inability>| {
        let problem = found.last().unwrap().in_file(&source(steps));
        (source(steps).position(problem.span.start).line, problem.code)
    };
    let plan = check(&source(steps), &known()).plan.unwrap();
    let terminals_only = |adapter: &str| {
        let mut able = abilities(adapter)?;
        if adapter == "able" {
            able.modes.remove(&AgentMode::Headless);
        }
        Some(able)
    };
    let found = inabilities(&plan, &Map::new(), terminals_only, |_| true);
    assert_eq!(place(found), (8, "no-mode"));
}

#[test]
fn an_adapter_whose_files_cannot_work_is_told_in_that_mode_alone() {
    let step = "  - {name: one, type: agent, adapter: lost, prompt: go}\n";
    let message = "step `one`: the adapter `lost` cannot be used: it prints nothing";
    assert_eq!(messages(step), [(true, message.to_owned())]);
    assert_eq!(unable(step)[0].code, "lost-arguments");
    assert_eq!(messages(&step.replace("go}", "go, mode: interactive}")), []);
}

#[test]
fn the_adapters_of_elements_that_are_written_out_are_held_against_what_they_can_do() {
    let team = TEAM.replace("{cli: reader}", "{cli: plain}, {cli: plain}")
        + "    permissions: edits\n    mode: interactive\n";
    let expected = "step `team`: `plain` has no mode `interactive`";
    assert_eq!(messages(&team), [(true, expected.to_owned())]);
    let headless = team.replace("mode: interactive", "mode: headless");
    let expected = "step `team`: the adapter `plain` does not say how to grant `edits`";
    assert_eq!(messages(&headless), [(true, expected.to_owned())]);
    // A definition that is only checked may be run where the program is.
    let source = source(TEAM);
    let plan = check(&source, &known()).plan.unwrap();
    let problems = ability_problems(&plan, &source, abilities, |name| name != "reader-program");
    assert_eq!(problems.len(), 1);
    let missing = "step `team`: the program `reader-program` of `reader` was not found";
    assert_eq!((problems[0].message.as_str(), problems[0].is_error()), (missing, false));
    assert_eq!(source.slice(problems[0].span), "${item.cli");
}

#[test]
fn an_adapter_from_an_input_is_judged_by_what_is_known_of_the_input() {
    let text = |default: &str| {
        format!(
            "name: t\ndescription: A test.\ninputs:\n  cli: {{type: string{default}}}\nsteps:\n  - {{name: one, type: agent, adapter: '${{input.cli}}', prompt: go, mode: interactive}}\n"
        )
    };
    let told = |default: &str, given: serde_json::Value| {
        let source = SourceFile::new("t.yaml", text(default));
        let plan = check(&source, &known()).plan.unwrap();
        let inputs = known_inputs(&plan, given.as_object().unwrap());
        let found = inabilities(&plan, &inputs, abilities, |_| true).into_iter();
        let checked = ability_problems(&plan, &source, abilities, |_| true);
        let errors: Vec<bool> = checked.iter().map(coven_notation::FileProblem::is_error).collect();
        (found.map(|one| (one.fatal, one.by_input)).collect::<Vec<_>>(), errors)
    };
    assert_eq!(told("", json!({})), (vec![], vec![]));
    // Another run may give another one, so it is a warning of the file.
    assert_eq!(told(", default: plain", json!({})), (vec![(true, true)], vec![false]));
    assert_eq!(told("", json!({"cli": "plain"})), (vec![(true, true)], vec![]));
    assert_eq!(told(", default: plain", json!({"cli": "able"})), (vec![], vec![false]));
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
