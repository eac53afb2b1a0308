//! `--json` of the verbs that change something: each prints what it did, in the shapes of
//! docs/reference/json.md.

use serde_json::{Value, json};

use crate::home::Home;

fn has(value: &Value, keys: &[&str]) {
    for key in keys {
        assert!(value.get(key).is_some(), "{key} in {value:#}");
    }
}

#[test]
fn what_is_done_to_agents_is_told_as_json() {
    let home = Home::new();
    let name = home.agent("say hello");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    let sent = home.coven(&["send", &name, "say more", "--json"]).ok().json();
    has(&sent, &["id", "delivered", "queued"]);
    assert_eq!((&sent["name"], &sent["task"]), (&json!(name), &json!("agent")));
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    for verb in ["interrupt", "finish"] {
        let done = home.coven(&[verb, &name, "--json"]).ok().json();
        assert_eq!((&done["name"], &done["task"]), (&json!(name), &json!("agent")), "{verb}");
    }
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    let lines = home.coven(&["logs", &name, "--json"]).ok().lines();
    let is_line = |line: &Value| line["kind"] == "line" && line["task"] == "agent";
    assert!(!lines.is_empty() && lines.iter().all(is_line), "{lines:#?}");
    let name = home.agent("say hello");
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    assert_eq!(home.coven(&["stop", &name, "--json"]).ok().json()["task"], "agent");
    let cancelled = home.coven(&["cancel", &name, "--json"]).ok().lines();
    assert_eq!(cancelled[0]["name"], name.as_str());
    has(&cancelled[0], &["id", "status", "baseDir"]);
    let removed = home.coven(&["rm", &name, "--json"]).ok().lines();
    assert_eq!((&removed[0]["name"], &removed[0]["deleted"]), (&json!(name), &json!(true)));
}

#[test]
fn what_is_done_to_runs_is_told_as_json() {
    let home = Home::new();
    let steps = "  - {name: one, type: script, command: 'echo a; echo b; test -e ready'}\n  \
                 - {name: two, type: agent, prompt: say hello}\n";
    home.run(steps, &[]).code(1);
    home.write("ready", "");
    let retried = home.coven(&["retry", "@", "--detach", "--json"]).ok().json();
    has(&retried, &["id", "name", "status"]);
    home.coven(&["wait", "@", "--timeout", "60s"]).ok();
    let lines = home.coven(&["logs", "@/one", "--json"]).ok().lines();
    let texts: Vec<&Value> = lines.iter().map(|line| &line["text"]).collect();
    assert_eq!(texts, ["a", "b"]);
    let lines = home.coven(&["logs", "@", "--json"]).ok().lines();
    assert!(
        lines.iter().any(|line| line["task"] == "two" && line["text"] == "hello"),
        "{lines:#?}"
    );
    home.run("  - {name: look, type: gate, message: Look.}\n", &[]).code(3);
    assert_eq!(home.coven(&["resume", "@", "--json"]).ok().json()["status"], "blocked");
    assert_eq!(home.coven(&["daemon", "start", "--json"]).ok().json()["started"], false);
    let stopped = home.coven(&["daemon", "stop", "--json"]).ok().json();
    assert_eq!(stopped["stopped"], true);
    assert_eq!(home.coven(&["daemon", "stop", "--json"]).ok().json()["stopped"], false);
    let started = home.coven(&["daemon", "start", "--json"]).ok().json();
    assert_eq!(started["started"], true);
    has(&started, &["pid"]);
    has(&home.coven(&["ui", "--print", "--json"]).ok().json(), &["url", "opened"]);
    let added = home.coven(&["device", "add", "ci", "--token", "--json"]).ok().json();
    has(&added, &["token"]);
    assert_eq!(home.coven(&["device", "rm", "ci", "--json"]).ok().json()["removed"], true);
}

#[test]
fn what_is_written_is_told_as_json() {
    let home = Home::new();
    let init = home.coven(&["init", "--json"]).ok().json();
    assert_eq!(init["written"].as_array().unwrap().len(), 2);
    assert_eq!(init["kept"], json!([]));
    for args in [["grimoire", "new", "mine"], ["adapter", "new", "mine"]] {
        for (more, below) in [(&[][..], "project/.coven"), (&["--user"][..], "home/.config/coven")]
        {
            let args = [&args[..], more, &["--json"]].concat();
            let path = home.coven(&args).ok().json()["path"].as_str().unwrap().to_owned();
            assert!(path.starts_with(home.path(below).to_str().unwrap()), "{args:?}: {path}");
        }
    }
    home.write("../home/.config/coven/policy.yaml", "version: 2\nrules: []\n");
    for _ in 0..2 {
        let accepted = home.coven(&["policy", "accept", "--yes", "--json"]).ok().json();
        assert_eq!(accepted["state"], "accepted");
        has(&accepted, &["path", "digest"]);
    }
}

/// Who reads JSON reads nothing else, also on standard error.
#[test]
fn with_json_there_is_no_other_text() {
    let home = Home::new();
    let steps = "  - {name: one, type: script, cwd: no/such, command: \"echo a\\necho b\"}\n  \
                 - {name: two, type: agent, adapter: '${input.cli}', prompt: go}\n";
    let text =
        format!("name: t\ndescription: A test.\ninputs:\n  cli: {{default: dmo}}\nsteps:\n{steps}");
    home.write("t.yaml", &text);
    let said = home.coven(&["run", "./t.yaml", "--dry-run", "--json"]).code(1);
    let plan = said.json();
    assert_eq!(plan["problems"][0]["severity"], "error", "{plan:#}");
    let problem = plan["jobs"]["one"][0]["problem"].as_str().unwrap_or_default();
    assert!(
        problem.starts_with("there is no folder ") && problem.ends_with("/no/such"),
        "{problem}"
    );
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["error"]["message"], plan["problems"][0]["message"]);
    // For people a command keeps its lines.
    let shown = home.coven(&["run", "./t.yaml", "--dry-run"]).code(1).out;
    assert!(shown.contains("-c 'echo a\n") && shown.contains(" echo b'\n"), "{shown}");

    assert_eq!(home.coven(&["init", "--json"]).ok().err, "");
    std::fs::remove_file(home.path("project/.coven/policy.yaml")).unwrap();
    let again = home.coven(&["init", "--json"]).ok();
    assert_eq!((again.err.as_str(), again.json()["kept"].as_array().map(Vec::len)), ("", Some(1)));

    for (args, code) in [
        (&["adapter", "show", "no-such"][..], "bad-adapter"),
        (&["adapter", "check", "no-such"][..], "bad-adapter"),
        (&["adapter", "new", "mine", "--from", "no-such"][..], "bad-adapter"),
        (&["new", "no-such", "--detach"][..], "bad-adapter"),
        (&["grimoire", "check", "no-such"][..], "grimoire-not-found"),
    ] {
        let said = home.coven(&[args, &["--json"]].concat()).code(1);
        let error: Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!(error["error"]["code"], code, "{args:?}");
    }
    let made = home.coven(&["adapter", "new", "mine", "--json"]).ok();
    let path = made.json()["path"].as_str().unwrap().to_owned();
    let config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let schema =
        std::path::Path::new(&path).parent().unwrap().join(config["$schema"].as_str().unwrap());
    assert!(schema.is_file(), "{}", schema.display());
    home.coven(&["adapter", "check", "mine"]).ok();
}

/// Whatever is named and not there, every verb says by the same code that it is not: in JSON, alone
/// on standard error, and never only that it failed.
#[test]
fn every_verb_tells_what_is_not_there_by_the_same_code() {
    let home = Home::new();
    // A session that is there, so that the others are missed among some.
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    let (task, step) = (format!("{name}/nope"), format!("{name}/nope:1"));
    let sessions = [
        "show",
        "logs",
        "output",
        "wait",
        "finish",
        "interrupt",
        "stop",
        "cancel",
        "resume",
        "retry",
        "rm",
        "events",
        "explain",
        "audit",
        "diff",
        "merge",
        "pr",
        "trees",
        "approve",
        "deny",
        "inbox",
    ];
    let mut rows: Vec<(Vec<&str>, &str)> =
        sessions.into_iter().map(|verb| (vec![verb, "nope"], "workflow-not-found")).collect();
    rows.extend([
        (vec!["send", "nope", "hi"], "workflow-not-found"),
        (vec!["answer", "nope", "approve"], "workflow-not-found"),
        (vec!["comment", "nope/a", "f:1", "hi"], "workflow-not-found"),
        (vec!["review", "send", "nope"], "workflow-not-found"),
        (vec!["trees", "prune", "nope"], "workflow-not-found"),
        (vec!["trees", "restore", "nope"], "workflow-not-found"),
        (vec!["ls", "-C", "nope"], "bad-base-dir"),
        (vec!["run", "nope"], "grimoire-not-found"),
        (vec!["run", "nope", "--dry-run"], "grimoire-not-found"),
        (vec!["run", "demo", "-C", "nope"], "bad-base-dir"),
        (vec!["run", "./nope.yaml"], "not-found"),
        (vec!["run", "./nope.yaml", "--dry-run"], "not-found"),
        (vec!["run", "demo", "--input-file", "nope.json"], "not-found"),
        (vec!["grimoire", "show", "nope"], "grimoire-not-found"),
        (vec!["grimoire", "check", "nope"], "grimoire-not-found"),
        (vec!["grimoire", "check", "./nope.yaml"], "not-found"),
        (vec!["adapter", "show", "nope"], "bad-adapter"),
        (vec!["adapter", "check", "nope"], "bad-adapter"),
        (vec!["adapter", "check", "./nope.json"], "not-found"),
        (vec!["adapter", "test", "nope"], "bad-adapter"),
        (vec!["adapter", "test", "claude", "--recordings", "nope"], "not-found"),
        (vec!["adapter", "replay", "nope", "nope.cast"], "bad-adapter"),
        (vec!["adapter", "replay", "claude", "nope.cast"], "not-found"),
        (vec!["adapter", "new", "mine", "--from", "nope"], "bad-adapter"),
        (vec!["device", "rm", "nope"], "device-not-found"),
        (vec!["policy", "test", "nope.yaml"], "not-found"),
        (vec!["policy", "test"], "not-found"),
        (vec!["policy", "accept", "--yes"], "not-found"),
        (vec!["trust", "nope"], "bad-base-dir"),
        (vec!["open", "nope"], "bad-base-dir"),
        (vec!["import", "nope"], "bad-base-dir"),
        (vec!["init", "nope"], "bad-base-dir"),
        (vec!["audit", "-C", "nope"], "bad-base-dir"),
        (vec!["show", &task], "task-not-found"),
        (vec!["logs", &task], "task-not-found"),
        (vec!["output", &task], "task-not-found"),
        (vec!["wait", &task], "task-not-found"),
        (vec!["stop", &task], "task-not-found"),
        (vec!["finish", &task], "task-not-found"),
        (vec!["interrupt", &task], "task-not-found"),
        (vec!["explain", &task], "task-not-found"),
        (vec!["diff", &task], "task-not-found"),
        (vec!["send", &task, "hi"], "task-not-found"),
        (vec!["comment", &task, &step, "hi"], "task-not-found"),
        (vec!["answer", &task, "approve"], "intervention-not-found"),
    ]);
    let mut wrong = Vec::new();
    for (args, code) in rows {
        let said = home.coven(&[args.as_slice(), &["--json"]].concat());
        let error: Value = serde_json::from_str(&said.err).unwrap_or_default();
        let told = (&error["error"]["code"], &error["error"]["exit"]);
        if told != (&json!(code), &json!(said.code)) || said.code == 0 || !said.out.is_empty() {
            wrong.push(format!("{args:?}: {code} expected: {said:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_definition_with_errors_is_told_alike_by_a_run_and_a_dry_run() {
    let home = Home::new();
    home.write("bad.yaml", "name: bad\ndescription: Bad.\nsteps:\n  - {name: a, type: nonsense}\n");
    let error =
        |args: &[&str]| -> Value { serde_json::from_str(&home.coven(args).code(1).err).unwrap() };
    let told = error(&["run", "./bad.yaml", "--json"]);
    assert_eq!(told["error"]["code"], "bad-definition", "{told:#}");
    has(&told["error"]["problems"][0], &["line", "column", "message"]);
    assert_eq!(error(&["run", "./bad.yaml", "--dry-run", "--json"]), told);
}
