//! `coven run`, in a pipe and on a terminal.

use std::fs;

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::home::{Home, Said};

/// A step that asks before it runs a command.
const ASKS: &str = "  - {name: ask, type: agent, mode: interactive, permissions: ask, prompt: \"approve echo done > said.txt\"}\n";

#[test]
fn the_demo_runs_without_a_terminal_and_says_how_it_was_answered() {
    let home = Home::new();
    let said = home.coven(&["run", "demo"]).ok();
    assert!(said.err.contains("answered by --auto allow"), "{}", said.err);
    assert!(said.out.contains("= approve by"), "{}", said.out);
    assert!(said.out.contains("Hello, world."), "{}", said.out);
    let name = home.only();
    for text in [
        format!("{name} is completed"),
        format!("coven show {name}"),
        format!("coven play {name}/assemble"),
    ] {
        assert!(said.out.contains(&text), "{text}: {}", said.out);
    }
    assert!(
        said.out.lines().all(|line| line.chars().count() < 240 && !line.contains('\x1b')),
        "{}",
        said.out
    );
    // Nothing is left of it, and everything it did is on disk.
    home.coven(&["audit"]).ok();
}

#[test]
fn a_block_without_a_terminal_ends_with_exit_code_3_and_the_run_goes_on() {
    let home = Home::new();
    let said = home.run(ASKS, &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.tidy(&said.err), @r#"
    error: NAME waits for a person: ask asks for approval: Run this command? echo done > said.txt
      │  Run this command?
      │
      │  echo done > said.txt
      │
      │  ❯ 1. Yes
      │  2. Yes, always
      │  3. No (esc)
      │
      │  Enter to confirm · Esc to cancel
    hint: coven approve NAME/1
          coven approve NAME/1 --always
          coven deny NAME/1
          coven answer NAME/1 answer "TEXT"
          then: coven show NAME --follow  (or run with --on-block wait, --auto allow)
    "#);
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    assert!(home.path("project/said.txt").exists());
}

/// The files of the tour lie in the folder of its session, whether it is tidied up or not.
#[test]
fn the_tour_leaves_nothing_outside_its_session_however_it_ends() {
    let home = Home::new();
    let left = || -> Vec<_> {
        fs::read_dir(home.path("tmp")).unwrap().flatten().map(|entry| entry.file_name()).collect()
    };
    home.coven(&["run", "demo", "--auto", "deny"]).code(1);
    assert_eq!(left(), [] as [std::ffi::OsString; 0]);
    let id = home.coven(&["ls", "--json"]).ok().json()["workflows"][0]["id"].clone();
    let folder = home.path("project/.coven/sessions").join(id.as_str().unwrap());
    assert!(folder.join("demo/1.txt").exists(), "what a retry goes on with is there");
    home.coven(&["audit"]).ok();
    home.coven(&["rm", "@"]).ok();
    assert!(!folder.exists());
    home.coven(&["run", "demo", "--auto", "allow"]).ok();
    assert_eq!(left(), [] as [std::ffi::OsString; 0]);
}

#[test]
fn questions_can_be_answered_by_themselves_either_way() {
    let home = Home::new();
    home.run(ASKS, &["--auto", "allow"]).ok();
    assert!(home.path("project/said.txt").exists());
    let gate = "  - {name: look, type: gate, message: Look at it.}\n";
    home.run(gate, &["--auto", "deny"]).code(1);
}

/// What `--auto` leaves to a person is told like without it, and nothing hangs.
#[test]
fn a_question_that_auto_does_not_answer_ends_with_exit_code_3_without_a_terminal() {
    let home = Home::new();
    let asks = "  - {name: ask, type: agent, adapter: shell, mode: interactive, extra_args: [bash, -c], prompt: 'read -r -p \"Overwrite it? (y/n) \" x; echo got $x > got.txt'}\n";
    for auto in ["allow", "deny"] {
        let said = home.run(asks, &["--auto", auto]).code(3);
        assert!(said.err.contains("Overwrite it? (y/n)"), "{}", said.err);
        assert!(said.err.contains("--auto does not answer it"), "{}", said.err);
        assert!(said.err.contains("answer \"TEXT\""), "{}", said.err);
        assert!(!said.err.contains("--auto allow"), "{}", said.err);
        let name = home.coven(&["ls", "-n", "1", "--json"]).ok().json()["workflows"][0]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(said.err.contains(&format!("coven show {name} --follow")), "{}", said.err);
        home.coven(&["answer", &name, "answer", "y"]).ok();
        home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    }
    // Without `--auto` it is not recommended either.
    let said = home.run(asks, &[]).code(3);
    assert!(!said.err.contains("--auto"), "{}", said.err);
}

#[test]
fn a_run_that_fails_says_why_and_where_to_look() {
    let home = Home::new();
    let said =
        home.run("  - {name: break, type: script, command: 'echo oh no; exit 7'}\n", &[]).code(1);
    let name = home.only();
    assert!(said.out.contains("break: failed"), "{}", said.out);
    assert!(said.out.contains(&format!("coven retry {name}")), "{}", said.out);
    assert!(said.out.contains(&format!("coven logs {name}/break")), "{}", said.out);
}

#[test]
fn events_are_lines_of_json_without_a_hole() {
    let home = Home::new();
    let said = home.run("  - {name: one, type: script, command: 'echo one'}\n", &["--json"]).ok();
    let numbers: Vec<u64> = said.lines().iter().filter_map(|line| line["seq"].as_u64()).collect();
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected);
    assert_eq!(said.lines()[0]["type"], "session.created");
    assert!(said.lines().iter().any(|line| line["type"] == "workflow.completed"));
}

#[test]
fn inputs_have_the_types_that_the_workflow_wants() {
    let home = Home::new();
    let text = "name: add\ndescription: Adds.\ninputs:\n  a: {description: One, type: number, required: true}\n  b: {description: Two, default: two}\nsteps:\n  - {name: say, type: script, command: 'echo \"${input.a} ${input.b}\"', output: said}\n";
    home.write("add.yaml", text);
    let said = home.coven(&["run", "./add.yaml", "-i", "a=3", "-i", "b=4"]).ok();
    assert!(said.out.contains("3 4"), "{}", said.out);
    home.write("inputs.yaml", "a: 5\n");
    let said = home.coven(&["run", "./add.yaml", "--input-file", "inputs.yaml"]).ok();
    assert!(said.out.contains("5 two"), "{}", said.out);
    assert_snapshot!(home.said(&["run", "./add.yaml", "-i", "a=three"]), @r"
    --- exit 2
    error: the input `a` is of the type number, and `three` is not
    hint: for example: --input a=3
    ");
    assert_snapshot!(home.said(&["run", "./add.yaml"]), @r"
    --- exit 2
    error: the input `a` is missing
    ");
    assert_snapshot!(home.said(&["run", "./add.yaml", "-i", "a"]), @r"
    --- exit 2
    error: `a` is no input
    hint: write --input NAME=VALUE
    ");
}

#[test]
fn a_dry_run_shows_the_steps_and_starts_nothing() {
    let home = Home::new();
    let said = home.coven(&["run", "demo", "--dry-run"]).ok().out;
    let order =
        ["prepare  script", "plan  agent", "write  parallel-agents", "for each of ${lines}"];
    let places: Vec<Option<usize>> = order.iter().map(|part| said.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    assert!(said.contains("polish.r1.arbiter") && said.contains("at most 3 rounds"), "{said}");
    assert_eq!(home.coven(&["run", "demo", "--dry-run", "--json"]).ok().json()["name"], "demo");
    assert!(!home.path("state/coven").exists());
}

#[test]
fn a_dry_run_names_missing_inputs_and_unknown_adapters_and_so_does_a_check() {
    let home = Home::new();
    let inputs = "inputs:\n  cli: {default: demmo}\n  goal: {required: true}\n";
    let step =
        "steps:\n  - {name: a, type: agent, adapter: '${input.cli}', prompt: 'do ${input.goal}'}\n";
    home.write("chosen.yaml", &format!("name: chosen\ndescription: Chosen.\n{inputs}{step}"));
    assert_snapshot!(home.said(&["run", "./chosen.yaml", "--dry-run"]), @r"
    chosen  Chosen.
    input  cli = demmo
    input  goal = (missing)

    a  agent
        agent  demmo, headless
        permissions those of the agent
        cwd  ~/project
        prompt  do ${input.goal}
        problem  there is no adapter `demmo`; did you mean `demo`?
    --- exit 1
    warning: the input `goal` is missing
    hint: give it with `--input goal=...`
    error: `input.cli` names an unknown adapter, `demmo`; did you mean `demo`?
    hint: there are aider, claude, codex, copilot, demo, gemini, opencode, qwen, shell
    ");
    let given = ["run", "./chosen.yaml", "--dry-run", "-i", "cli=demo", "-i", "goal=it"];
    assert_snapshot!(home.said(&given), @r"
    chosen  Chosen.
    input  cli = demo
    input  goal = it

    a  agent
        agent  demo, headless
        permissions all
        argv  coven demo-agent --headless --output-format stream-json --permissions all --session-id NEW-ID PROMPT
        cwd  ~/project
        told  as an argument
        prompt  do it
    --- exit 0
    ");
    let checked = home.coven(&["grimoire", "check", "./chosen.yaml"]).ok();
    let told = format!("{}{}", checked.out, checked.err);
    assert!(told.contains("warning[unknown-adapter]: `input.cli` names an unknown"), "{told}");
    home.write(
        "team.yaml",
        "name: team\ndescription: A team.\nsteps:\n  - {name: a, type: parallel-agents, for_each: \
         [{cli: demo}, {cli: shell}], adapter: '${item.cli}', prompt: say hello}\n",
    );
    let team = home.coven(&["run", "./team.yaml", "--dry-run"]).ok().out;
    assert!(team.contains("a.0") && team.contains("demo, headless"), "{team}");
    assert!(team.contains("a.1") && team.contains("shell, headless"), "{team}");
}

#[test]
fn a_dry_run_shows_what_each_job_would_be() {
    let home = Home::new();
    let text = concat!(
        "name: team\ndescription: A team.\n",
        "inputs:\n  task: {required: true}\n  files: {type: array, default: [a]}\n",
        "steps:\n",
        "  - {name: look, type: script, command: 'ls ${input.task}', output: found}\n",
        "  - {name: plan, type: agent, adapter: claude, permissions: read-only, cwd: sub,\n",
        "     when: \"found != ''\", timeout: 5m, env: {DEPTH: '${input.files}'},\n",
        "     prompt: 'Plan ${input.task} with ${found}'}\n",
        "  - {name: sure, type: gate, message: Is it so?}\n",
    );
    home.write("team.yaml", text);
    let args = ["run", "./team.yaml", "--dry-run", "-i", "task=it", "-i", "files=[\"x\", \"y\"]"];
    // The program is not there; a step with a condition may not need it.
    let said = home.coven(&args).ok();
    for line in [
        "input       task = it",
        "input       files = [\"x\",\"y\"]",
        "argv        bash -euo pipefail -c 'ls ${input.task}'",
        "env         ${input.task}=it",
        "when        found != ''",
        "timeout     5m 00s",
        "told        on its input",
        "agent       claude, headless",
        "permissions read-only",
        "env         DEPTH=[\"x\",\"y\"]",
        "prompt      Plan it with ${found}",
        "problem     `claude` was not found in PATH",
        "asks        Is it so?",
    ] {
        assert!(said.out.contains(line), "{line}: {}", said.out);
    }
    assert!(said.out.contains("argv        claude -p "), "{}", said.out);
    assert!(said.out.contains("/project/sub\n"), "{}", said.out);
    assert!(said.out.contains("/project/sub\n"), "{}", said.out);
    let json = home.coven(&[&args[..], &["--json"]].concat()).ok().json();
    assert_eq!(json["inputs"]["files"], serde_json::json!(["x", "y"]));
    let plan = &json["jobs"]["plan"][0];
    assert_eq!((&plan["adapter"], &plan["mode"]), (&"claude".into(), &"headless".into()));
    assert_eq!(plan["prompt"], "Plan it with ${found}");
    assert!(plan["argv"].as_array().unwrap().iter().any(|word| word == "-p"), "{plan:#}");
    assert!(!home.path("state/coven").exists());
}

#[test]
fn what_cannot_be_run_is_explained() {
    let home = Home::new();
    home.write(
        "broken.yaml",
        "name: broken\ndescription: Broken.\nsteps:\n  - {name: a, type: agent, promt: x}\n",
    );
    home.write(
        ".coven/grimoires/mine.yaml",
        "name: mine\ndescription: Mine.\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    assert_snapshot!(home.said(&["run", "no-such"]), @r"
    --- exit 1
    error: there is no grimoire `no-such`; `coven grimoire ls` lists them
    hint: to run a file, write its ending (.yaml, .json) or a `/`
    ");
    assert_snapshot!(home.said(&["run", "demmo"]), @r"
    --- exit 1
    error: there is no grimoire `demmo`; did you mean `demo`?
    hint: to run a file, write its ending (.yaml, .json) or a `/`
    ");
    assert_snapshot!(home.said(&["run", "./no-such.yaml"]), @r"
    --- exit 1
    error: could not read ./no-such.yaml: No such file or directory (os error 2)
    ");
    assert_snapshot!(home.said(&["run", "./broken.yaml"]), @r"
    --- exit 1
    error[definition]: it is not said which agent to run
     --> ./broken.yaml:4:15
      |
    4 |  - {name: a, type: agent, promt: x}
      |  ^^^^
      |
      = help: add `adapter`, here or under `defaults`

    error[definition]: `steps[0]`: unknown key `promt`; did you mean `prompt`?
     --> ./broken.yaml:4:28
      |
    4 |  - {name: a, type: agent, promt: x}
      |  ^^^^^
    ");
    assert_snapshot!(home.said(&["run", "mine"]), @r"
    --- exit 1
    error: the grimoire `mine` comes with this project, which is not trusted; look at it with `coven grimoire show mine`, then `coven trust`
    hint: `coven trust` shows what the folder brings along, and asks
    ");
    assert_snapshot!(home.said(&["run", "demo", "--adapter", "no-such"]), @r"
    --- exit 1
    error: there is no adapter `no-such`
    hint: `coven adapter ls` lists them
    ");
    assert_snapshot!(home.said(&["run", "demo", "-C", "/no/such/folder"]), @r"
    --- exit 2
    error: the folder /no/such/folder cannot be used: No such file or directory (os error 2)
    ");
    assert_snapshot!(home.said(&["run", "no-such", "--json"]), @r#"
    --- exit 1
    {"error":{"code":"grimoire-not-found","message":"there is no grimoire `no-such`; `coven grimoire ls` lists them","exit":1,"hint":"to run a file, write its ending (.yaml, .json) or a `/`"}}
    "#);
}

/// `/home` is a link on many machines.
#[test]
fn a_home_behind_a_link_is_a_home_like_any_other() {
    let home = Home::new();
    for (link, to) in [("linked-home", "home"), ("linked-state", "state")] {
        fs::create_dir_all(home.path(to)).unwrap();
        std::os::unix::fs::symlink(home.path(to), home.path(link)).unwrap();
    }
    let coven = |args: &[&str]| {
        let mut command = home.command(args);
        command.env("HOME", home.path("linked-home"));
        command.env("XDG_STATE_HOME", home.path("linked-state"));
        Said::of(&command.output().unwrap())
    };
    let said = coven(&["run", "demo", "--auto", "allow"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    // The same daemon is found by both paths.
    let ids = |said: Said| -> Vec<String> {
        let all: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let all = all["workflows"].as_array().or(all.as_array()).unwrap();
        all.iter().map(|session| session["id"].to_string()).collect()
    };
    let listed = ids(home.coven(&["ls", "--json"]));
    assert_eq!((listed.len(), &listed), (1, &ids(coven(&["ls", "--json"]))));
}

#[test]
fn a_detached_run_prints_its_name() {
    let home = Home::new();
    let said = home.coven(&["run", "demo", "--detach", "--auto", "allow"]).ok();
    let name = said.out.trim();
    assert_eq!(said.out.lines().count(), 1);
    assert_eq!(home.coven(&["wait", name, "--timeout", "60s"]).ok().out, "completed\n");
}

#[test]
fn on_a_terminal_a_tree_is_shown_and_questions_are_answered_in_place() {
    let home = Home::new();
    let mut terminal = home.terminal(&["run", "demo"]);
    terminal.until_shows("[a] approve");
    let text = terminal.text();
    for part in ["✓ plan", "? assemble", "cat ", "[d] deny", "· tidy"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(terminal.is_raw());
    terminal.send("a");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    let text = terminal.text();
    assert!(text.contains("✓ tidy") && text.contains("Hello, world."), "{text}");
    assert!(terminal.is_restored() && terminal.is_as_new());
}

#[test]
fn a_text_is_typed_where_one_is_wanted() {
    let home = Home::new();
    home.write("ask.yaml", "name: ask\ndescription: Asks.\ndefaults: {adapter: demo}\nsteps:\n  - {name: ask, type: agent, mode: interactive, prompt: 'ask Which colour?', output: colour}\n");
    let mut terminal = home.terminal(&["run", "./ask.yaml"]);
    terminal.until_shows("[t] type an answer");
    terminal.send("t");
    terminal.until_shows("Enter sends");
    terminal.send("blux\x7fe");
    terminal.until_shows("blue");
    terminal.send("\r");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    assert!(terminal.text().contains("blue"), "{}", terminal.text());
}

#[test]
fn ctrl_c_leaves_the_run_alone_and_says_how_to_come_back() {
    let home = Home::new();
    home.write("wait.yaml", "name: wait\ndescription: Waits.\nsteps:\n  - {name: look, type: gate, message: Look at it.}\n");
    let mut terminal = home.terminal(&["run", "./wait.yaml"]);
    terminal.until_shows("[a] approve");
    terminal.kill(Signal::INT);
    terminal.until_shows("--follow");
    assert_eq!(terminal.finish().code(), Some(130));
    assert!(terminal.is_restored());
    let name = home.only();
    assert!(
        terminal.text().contains(&format!("coven show {name} --follow")),
        "{}",
        terminal.text()
    );
    assert_eq!(home.coven(&["show", &name, "--json"]).ok().json()["status"], "blocked");
}

#[test]
fn ctrl_c_twice_asks_whether_to_cancel() {
    let home = Home::new();
    home.write("wait.yaml", "name: wait\ndescription: Waits.\nsteps:\n  - {name: look, type: gate, message: Look at it.}\n");
    let mut terminal = home.terminal(&["run", "./wait.yaml"]);
    terminal.until_shows("[a] approve");
    terminal.kill(Signal::INT);
    terminal.until_shows("once more");
    terminal.kill(Signal::INT);
    terminal.until_shows("[y/N]");
    terminal.send("y");
    assert_eq!(terminal.finish().code(), Some(4));
    assert!(terminal.text().contains("is cancelled"), "{}", terminal.text());
}

#[test]
fn the_terminal_is_left_as_it_was_when_the_command_is_ended() {
    let home = Home::new();
    home.write("wait.yaml", "name: wait\ndescription: Waits.\nsteps:\n  - {name: look, type: gate, message: Look at it.}\n");
    let mut terminal = home.terminal(&["run", "./wait.yaml"]);
    terminal.until_shows("[a] approve");
    terminal.kill(Signal::TERM);
    assert_eq!(terminal.finish().code(), Some(130));
    assert!(terminal.is_restored() && terminal.is_as_new());
}

#[test]
fn a_folder_is_trusted_when_its_user_says_so_on_the_terminal() {
    let home = Home::new();
    home.write(
        ".coven/grimoires/mine.yaml",
        "name: mine\ndescription: Mine.\nsteps:\n  - {name: a, type: script, command: 'true'}\n",
    );
    let mut terminal = home.terminal(&["run", "mine"]);
    terminal.until_shows("[y/N]");
    assert!(terminal.text().contains(".coven/grimoires/mine.yaml"), "{}", terminal.text());
    terminal.send("y");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    home.coven(&["run", "mine"]).ok();
}

#[test]
fn a_daemon_that_is_killed_in_the_middle_is_started_again_and_the_run_goes_on() {
    let home = Home::new();
    home.write("wait.yaml", "name: wait\ndescription: Waits.\nsteps:\n  - {name: look, type: gate, message: Look at it.}\n  - {name: after, type: script, command: 'echo after'}\n");
    let mut terminal = home.terminal(&["run", "./wait.yaml"]);
    terminal.until_shows("[a] approve");
    let pid = home.coven(&["daemon", "status", "--json"]).ok().json()["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    terminal.until("another daemon", |_| {
        let status = home.coven(&["daemon", "status", "--json"]);
        status.code == 0
            && status.json()["pid"].as_i64() != Some(i64::from(pid.as_raw_nonzero().get()))
    });
    terminal.send("a");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
    home.coven(&["audit"]).ok();
}

#[test]
fn a_run_that_does_not_know_which_agent_says_how_to_say_it() {
    let home = Home::new();
    assert_snapshot!(home.said(&["run", "review-loop"]), @r"
    --- exit 2
    error: `input.adapter` does not say which agent to run, and there is no default
    hint: --adapter claude (or codex, gemini, ...); `coven doctor` says which are installed,
          and `defaultAdapter: claude` in ~/.config/coven/config.yaml is for all runs
    ");
}
