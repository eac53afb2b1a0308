//! `coven show`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn a_session_is_shown_with_its_steps_and_outputs() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'echo first', output: said}\n  - {name: two, type: gate, message: Is it so?}\n", &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["show", &name]), @r"
    NAME  test  blocked  1 of 2 steps · AGE
      ✓ one  AGE  script
      ? two  AGE  gate

    goal  ./test.yaml
    id  ID
    folder  ~/project
    files  ~/project/.coven/sessions/ID
    made  DATE (AGE ago)
    output  said = first

    ? two: Is it so?
      coven approve NAME
      coven deny NAME

    TIME ·  the run began
    TIME ·  step one began
    TIME > one  echo first
    TIME < one  first
    TIME ·  step one is completed: first
    TIME ·  step two began
    TIME ?  Is it so?
    --- exit 0
    ");
    let id = home.coven(&["show", &name, "--json"]).ok().json()["id"].as_str().unwrap().to_owned();
    for same in [id.as_str(), &id[..13], name.as_str()] {
        assert_eq!(home.coven(&["show", same, "--json"]).ok().json()["id"], id.as_str());
    }
}

#[test]
fn a_task_is_shown_with_its_screen() {
    let home = Home::new();
    let name = home.asking("say Look here; approve ls");
    let said = home.coven(&["show", &format!("{name}/agent")]).ok();
    assert!(
        said.out.contains("Look here") && said.out.contains("waits for you (approval)"),
        "{}",
        said.out
    );
    assert!(said.out.contains(&format!("coven attach {name}/agent")), "{}", said.out);
    let json = home.coven(&["show", &format!("{name}/agent"), "--json"]).ok().json();
    assert_eq!(json["task"]["verdict"]["state"], "awaiting");
}

#[test]
fn a_command_that_runs_is_shown_by_the_last_line_it_printed() {
    let home = Home::new();
    let command = "printf 'begun\\n10%%\\r70%% of it'; while [ ! -e go ]; do sleep 0.05; done";
    let steps = format!("  - {{name: fetch, type: script, command: \"{command}\"}}\n");
    home.run(&steps, &["--detach"]).ok();
    let end = std::time::Instant::now() + crate::STEP_TIMEOUT;
    loop {
        let (shown, listed) = (home.coven(&["show"]).ok().out, home.coven(&["ls"]).ok().out);
        if shown.contains("shell: 70% of it") && listed.contains("fetch: 70% of it") {
            break;
        }
        assert!(std::time::Instant::now() < end, "{shown}{listed}");
    }
    let mut terminal = home.terminal(&["show", "--follow"]);
    terminal.until_shows("shell: 70% of it");
    home.write("go", "");
    assert!(terminal.finish().success());
}

#[test]
fn an_agent_without_a_terminal_is_shown_by_what_it_said() {
    let home = Home::new();
    home.run("  - {name: ask, type: agent, prompt: 'say hello there'}\n", &[]).ok();
    let said = home.coven(&["show", "@/ask"]).ok().out;
    assert!(said.contains("│ hello there\n") && !said.contains("{\"type\""), "{said}");
    let json = home.coven(&["show", "@/ask", "--json"]).ok().json();
    let entries = json["transcript"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["text"] == "hello there"), "{json:#}");
}

#[test]
fn following_goes_on_until_it_is_over() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Is it so?}\n", &[]).code(3);
    let name = home.only();
    let mut terminal = home.terminal(&["show", &name, "--follow"]);
    terminal.until_shows("[a] approve");
    terminal.send("a");
    terminal.until_shows("is completed");
    assert_eq!(terminal.finish().code(), Some(0));
}

#[test]
fn names_that_are_almost_right_are_suggested() {
    let home = Home::new();
    assert_snapshot!(home.said(&["show", "brisk-otter"]), @r"
    --- exit 1
    error: no session has the id or name `brisk-otter`
    hint: there are no sessions yet; `coven run demo` makes one
    ");
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    // Some names end with an x.
    let last = if name.ends_with('x') { 'y' } else { 'x' };
    let almost = format!("{}{last}", &name[..name.len() - 1]);
    let said = home.coven(&["show", &almost]).code(1);
    assert!(said.err.contains(&format!("did you mean `{name}`?")), "{}", said.err);
    assert_snapshot!(home.said(&["show", &format!("{name}/onne")]), @r"
    --- exit 1
    error: NAME has no task `onne`
    hint: did you mean NAME/one?
    ");
    assert_snapshot!(home.said(&["show", &format!("{name}/")]), @r"
    --- exit 2
    error: invalid value 'NAME/' for '[NAME[/TASK]]': write NAME or NAME/TASK, such as brisk-otter/build.3

    For more information, try '--help'.
    ");
}

#[test]
fn a_cost_that_nobody_told_is_not_shown_as_zero() {
    let home = Home::new();
    let spent = |prompt: &str| {
        let said = home.coven(&["new", "demo", prompt, "--mode", "headless"]).ok().out;
        let newest = home.coven(&["ls", "-n", "1", "--json"]).ok().json();
        let name = newest["workflows"][0]["name"].as_str().unwrap().to_owned();
        let shown = home.coven(&["show", &name]).ok().out;
        let usage = home.coven(&["show", &name, "--json"]).ok().json()["session"]["usage"].clone();
        // The first line of what is shown is the session; its goal may have anything in it.
        (said, shown.lines().next().unwrap().to_owned(), usage)
    };
    let (said, shown, usage) = spent("say hi");
    assert!(!said.contains('$') && !shown.contains('$'), "{said}\n{shown}");
    assert!(shown.contains("tokens"), "{shown}");
    assert!(usage["costUsd"].is_null() && usage["inputTokens"].is_number(), "{usage}");
    let (said, shown, usage) = spent("cost 0.25; say hi");
    assert!(said.contains(", $0.25") && shown.contains("$0.25"), "{said}\n{shown}");
    assert_eq!(usage["costUsd"], 0.25);
    // What costs nothing is known to cost nothing.
    let (_, shown, usage) = spent("cost 0; say hi");
    assert!(shown.contains("$0.00"), "{shown}");
    assert_eq!(usage["costUsd"], 0.0);
    assert!(!home.coven(&["ls"]).ok().out.contains("$0.00"));
}
