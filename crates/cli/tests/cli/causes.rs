//! What is told before anything runs, and why a headless agent failed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use serde_json::json;

use crate::STEP_TIMEOUT;
use crate::home::{Home, Said};

const RETRY: &str = r#"{"type":"system","subtype":"api_retry","attempt":7,"max_retries":10,"retry_delay_ms":500,"error_status":500,"error":"server_error"}"#;

/// An adapter of the user's own, whose program runs a script and writes as Claude Code does.
fn adapter(home: &Home, kind: &str, command: &str, script: &str) {
    let config = json!({
        "schemaVersion": 1, "command": command,
        "modes": {"headless": {"baseArgs": ["-c", script], "promptPosition": "last",
                               "transcript": "claude-stream-json", "usePty": false, "stdin": "null"}},
        "states": {"interaction_idle": {"pattern": "^never$"}}});
    let folder = home.path("home/.config/coven/adapters").join(kind);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
}

fn result(text: &str) -> String {
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": text});
    format!("echo '{result}'")
}

#[test]
fn an_agent_that_cannot_reach_its_model_says_so_wherever_it_is_looked_at() {
    let home = Home::new();
    adapter(&home, "flaky", "sh", &format!("echo '{RETRY}'; exec sleep 600"));
    let steps = "  - {name: work, type: agent, adapter: flaky, prompt: go, timeout: 600s}\n";
    let name = home.run(steps, &["--detach", "--goal", "something"]).ok().out.trim().to_owned();
    let words = "retrying 7 of 10: 500 server_error";
    let end = Instant::now() + STEP_TIMEOUT;
    loop {
        let listed = home.coven(&["ls"]).ok().out;
        if listed.contains(&format!("work: {words}")) {
            break;
        }
        assert!(Instant::now() < end, "{listed}");
        std::thread::yield_now();
    }
    let shown = home.coven(&["show", &name]).ok().out;
    assert!(shown.contains(&format!("working, {words}")), "{shown}");
    let item = home.coven(&["ls", "--json"]).ok().json()["workflows"][0].clone();
    assert_eq!(item["retrying"], format!("work: {words}"));
    let details = home.coven(&["show", &name, "--json"]).ok().json();
    assert_eq!(details["tasks"][0]["verdict"]["retry"]["status"], 500, "{details}");
    let logs = home.coven(&["logs", &name]).ok().out;
    assert!(logs.contains(words), "{logs}");
}

/// Agents that only the elements of a fan-out or the inputs name are told before anything runs.
#[test]
fn adapters_from_elements_and_inputs_are_told_before_anything_runs() {
    let home = Home::new();
    adapter(&home, "gone", "no-such-program", "");
    let file = |name: &str, rest: &str| {
        home.write(name, &format!("name: t\ndescription: A test.\n{rest}"))
    };
    let team = file(
        "team.yaml",
        "steps:\n  - {name: team, type: parallel-agents, for_each: [{cli: demo}, {cli: gone}], adapter: '${item.cli}', prompt: go}\n",
    );
    let words = "step `team`: the program `no-such-program` of `gone` was not found";
    let team = team.to_str().unwrap();
    let checked = home.coven(&["grimoire", "check", team]).ok();
    assert!(format!("{}{}", checked.out, checked.err).contains(words), "{}", checked.out);
    let dry = home.coven(&["run", team, "--dry-run"]).code(1);
    assert!(dry.err.contains(words), "{}", dry.err);
    let refused = home.coven(&["run", team]).code(1);
    assert!(refused.err.contains(words), "{}", refused.err);

    let one = file(
        "one.yaml",
        "inputs:\n  cli: {description: Who., default: gone}\nsteps:\n  - {name: one, type: agent, adapter: '${input.cli}', prompt: go, mode: interactive}\n",
    );
    let one = one.to_str().unwrap();
    let words = "step `one`: `gone` has no mode `interactive`";
    let checked = home.coven(&["grimoire", "check", one]).ok();
    assert!(format!("{}{}", checked.out, checked.err).contains(words), "{}", checked.out);
    assert!(home.coven(&["run", one, "--dry-run"]).code(1).err.contains(words));
    home.coven(&["run", one, "--dry-run", "--input", "cli=demo"]).ok();
    let unknown = home.coven(&["run", one, "--dry-run", "--input", "cli=dmo"]).code(1).err;
    assert!(unknown.contains("names an unknown adapter, `dmo`; did you mean `demo`?"), "{unknown}");
}

/// A user's file that takes away what a built-in transcript is read from is told where it is used.
#[test]
fn an_adapter_that_lost_its_arguments_is_told_before_anything_runs() {
    let home = Home::new();
    let mine = |text: &str| {
        let folder = home.path("home/.config/coven/adapters/claude");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.json"), text).unwrap();
    };
    let lost = r#"{"command": "sh", "modes": {"headless": {"baseArgs": ["-p"]}}}"#;
    mine(lost);
    let text = "name: t\ndescription: A test.\nsteps:\n  - {name: one, type: agent, adapter: claude, prompt: go}\n";
    let file = home.write("one.yaml", text);
    let file = file.to_str().unwrap();
    let words = "step `one`: the adapter `claude` cannot be used: these `baseArgs` replace";
    let checked = home.coven(&["grimoire", "check", file]).code(1);
    assert!(
        format!("{}{}", checked.out, checked.err).contains("lost-arguments"),
        "{}",
        checked.err
    );
    let dry = home.coven(&["run", file, "--dry-run"]).code(1).err;
    assert!(dry.contains(words), "{dry}");
    mine(&lost.replace(r#"["-p"]"#, r#"["-p"], "transcript": "text""#));
    home.coven(&["run", file, "--dry-run"]).ok();
}

#[test]
fn an_agent_whose_time_is_up_is_told_with_what_held_it_up() {
    let home = Home::new();
    adapter(&home, "flaky", "sh", &format!("echo '{RETRY}'; exec sleep 600"));
    let steps = "  - {name: work, type: agent, adapter: flaky, prompt: go, timeout: 2s}\n";
    let said = home.run(steps, &[]).code(1);
    let told = format!("{}{}", said.out, said.err);
    let words = "it took longer than 2s, retrying 7 of 10: 500 server_error";
    assert!(told.contains(words), "{told}");
}

#[test]
fn an_empty_answer_fails_unless_it_is_expected() {
    let home = Home::new();
    adapter(&home, "silent", "sh", &result(""));
    let step = "  - {name: work, type: agent, adapter: silent, prompt: go}\n";
    let said = home.run(step, &[]).code(1);
    let told = format!("{}{}", said.out, said.err);
    assert!(told.contains("the agent says it is done, and its answer is empty"), "{told}");
    home.run(&step.replace("prompt: go", "prompt: go, expect: any"), &[]).ok();
}

#[test]
fn a_missing_program_is_told_before_anything_runs_and_by_a_dry_run() {
    let home = Home::new();
    adapter(&home, "gone", "no-such-program", "true");
    let steps = "  - {name: first, type: script, command: touch ran.txt}\n  - {name: second, type: agent, adapter: gone, prompt: go}\n";
    let words = "step `second`: the program `no-such-program` of `gone` was not found";
    let said = home.run(steps, &["--dry-run"]).code(1);
    assert!(said.out.contains("first") && said.out.contains("second"), "{}", said.out);
    assert!(said.err.contains(words), "{}", said.err);
    let said = home.run(steps, &[]).code(1);
    assert!(said.err.contains(words), "{}", said.err);
    assert!(!home.path("project/ran.txt").exists(), "nothing ran");
    assert_eq!(home.names(), [""; 0], "no session was made");
    // The file is right; it may be for another machine.
    let said = home.coven(&["grimoire", "check", "./test.yaml"]).ok();
    assert!(said.err.contains("warning") && said.err.contains(words), "{}", said.err);
}

#[test]
fn what_an_adapter_cannot_grant_is_told_before_anything_runs() {
    let home = Home::new();
    let check = |steps: &str| {
        let text = format!("name: test\ndescription: A test.\nsteps:\n{steps}");
        home.write("test.yaml", &text);
        home.coven(&["grimoire", "check", "./test.yaml"]).code(1).err
    };
    let granted =
        check("  - {name: one, type: agent, adapter: shell, prompt: ls, permissions: edits}\n");
    assert!(granted.contains("the adapter `shell` does not say how to grant `edits`"), "{granted}");
    assert!(granted.contains("test.yaml:4:"), "{granted}");
    let arbiter = check(
        "  - {name: one, type: agent-loop, adapter: demo, prompt: go, arbiter: {prompt: good?, adapter: shell}}\n",
    );
    assert!(arbiter.contains("`shell` cannot be an arbiter"), "{arbiter}");
    let screen = check(
        "  - {name: one, type: agent, adapter: shell, mode: interactive, prompt: go, expect: json}\n",
    );
    assert!(screen.contains("on a terminal is all that its screen shows"), "{screen}");
    let said = home.coven(&["run", "./test.yaml"]).code(1);
    assert!(said.err.contains("on a terminal is all that its screen shows"), "{}", said.err);
    assert_eq!(home.names(), [""; 0], "no session was made");
}

#[test]
fn an_adapter_that_loses_the_arguments_of_its_transcript_is_told_by_its_check() {
    let home = Home::new();
    let folder = home.path("home/.config/coven/adapters/claude");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.json");
    fs::write(&file, r#"{"modes": {"headless": {"baseArgs": ["-p", "--debug"]}}}"#).unwrap();
    let words = "leave out `--output-format stream-json`";
    for what in ["claude", file.to_str().unwrap(), folder.to_str().unwrap()] {
        let said = home.coven(&["adapter", "check", what]).code(1);
        assert!(said.err.contains(words), "{what}: {}", said.err);
    }
    let text = r#"{"modes": {"headless": {"baseArgs": ["-p", "--debug"], "transcript": "text"}}}"#;
    fs::write(&file, text).unwrap();
    home.coven(&["adapter", "check", "claude"]).ok();
}

#[test]
fn a_team_of_different_agents_runs_each_with_its_own() {
    let home = Home::new();
    adapter(&home, "one", "sh", &result("I am one"));
    adapter(&home, "two", "sh", &result("I am two"));
    let steps = "  - {name: team, type: parallel-agents, for_each: [{cli: one}, {cli: two}, {cli: demo}], adapter: '${item.cli}', prompt: say I am demo, output: said}\n  - {name: show, type: script, command: 'printf %s \"${said[0].output},${said[1].output},${said[2].output}\" > said.txt'}\n";
    home.run(steps, &[]).ok();
    let said = fs::read_to_string(home.path("project/said.txt")).unwrap();
    assert_eq!(said, "I am one,I am two,I am demo");
}

#[test]
fn what_keeps_jobs_from_starting_and_a_folder_of_everybody_are_problems_of_a_dry_run() {
    let home = Home::new();
    let text = "name: lacks\ndescription: T.\nsteps:\n  \
                - {name: one, type: script, shell: [no-such-shell, -c], command: 'true'}\n  \
                - {name: two, type: script, cwd: nowhere, command: 'true'}\n";
    home.write("lacks.yaml", text);
    let dry = ["run", "./lacks.yaml", "--dry-run", "--json"];
    let problems = |said: &Said| said.json()["problems"].as_array().unwrap().clone();
    let found = problems(&home.coven(&dry).ok());
    assert_eq!(found.len(), 2, "{found:#?}");
    let told = found[0]["message"].as_str().unwrap();
    assert!(told.starts_with("task `one`: `no-such-shell` was not found"), "{told}");
    assert!(found[1]["message"].as_str().unwrap().starts_with("task `two`: there is no folder"));
    let project = home.path("project");
    fs::set_permissions(&project, fs::Permissions::from_mode(0o777)).unwrap();
    let found = problems(&home.coven(&dry).code(1));
    let open = found.iter().find(|it| it["message"].as_str().unwrap().contains("world-writable"));
    assert_eq!(open.unwrap()["severity"], "error", "{found:#?}");
    assert!(home.coven(&dry[..3]).code(1).err.contains("world-writable"));
    assert!(home.coven(&["run", "./lacks.yaml"]).code(1).err.contains("world-writable"));
}

#[test]
fn a_dry_run_tells_what_elements_lack_and_that_no_agent_is_named() {
    let home = Home::new();
    let problems = |args: &[&str]| {
        let shown = home.coven(&[&["run"], args, &["--dry-run", "--json"]].concat()).ok().json();
        let messages = shown["problems"].as_array().unwrap().iter();
        messages.map(|it| it["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let text = "name: team\ndescription: T.\ninputs:\n  list: {type: array, default: [{a: 1, b: 2}]}\n  \
                who: {description: Who.}\nsteps:\n  - {name: team, type: parallel-agents, \
                for_each: '${input.list}', adapter: demo, prompt: 'do ${item.a}', env: {B: '${item.b}'}}\n";
    home.write("team.yaml", text);
    assert_eq!(problems(&["./team.yaml"]), [""; 0]);
    let lacking =
        problems(&["./team.yaml", "-i", r#"list=[{"a": 1}, {"a": 1, "b": 2}, {"c": 1}]"#]);
    assert_eq!(lacking.len(), 3, "{lacking:#?}");
    assert!(
        lacking[0].starts_with("task `team.0`: ") && lacking[0].contains("item.b"),
        "{lacking:?}"
    );
    assert!(
        lacking[1].starts_with("task `team.2`: ") && lacking[1].contains("item.a"),
        "{lacking:?}"
    );

    let each = "name: each\ndescription: E.\nsteps:\n  - {name: g, type: script, \
                for_each: [1, {x: 2}], command: 'echo ${item.x}'}\n";
    home.write("each.yaml", each);
    let lacking = problems(&["./each.yaml"]);
    assert!(lacking.len() == 1 && lacking[0].starts_with("task `g.0`: "), "{lacking:?}");

    home.write(
        "one.yaml",
        "name: one\ndescription: O.\ninputs:\n  who: {description: Who.}\nsteps:\n  \
                            - {name: one, type: agent, adapter: '${input.who}', prompt: go}\n",
    );
    let words = "`input.who` does not say which agent to run, and there is no default";
    assert_eq!(problems(&["./one.yaml"]), [words]);
    assert_eq!(problems(&["./one.yaml", "--adapter", "demo"]), [""; 0]);
    let config = home.path("home/.config/coven");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("config.yaml"), "defaultAdapter: demo\n").unwrap();
    assert_eq!(problems(&["./one.yaml"]), [""; 0]);
}
