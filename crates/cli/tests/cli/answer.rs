//! `coven answer`, `coven approve` and `coven deny`.

use coven_testkit::folders::files_with;
use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn an_agent_is_approved_and_denied() {
    let home = Home::new();
    let name = home.asking("approve echo yes > yes.txt; approve echo no > no.txt; say Done.");
    home.coven(&["approve", &name]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    home.coven(&["deny", &format!("{name}/agent"), "Not that one"]).ok();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    assert!(home.path("project/yes.txt").exists());
    assert!(!home.path("project/no.txt").exists());
    // It has finished its turn now, which is a question of another kind.
    let json = home.coven(&["inbox", "--json"]).ok().json();
    assert_eq!(json["interventions"][0]["kind"], "ended-turn");
    home.coven(&["answer", &name, "complete"]).ok();
    assert_eq!(home.coven(&["wait", &name, "--timeout", "60s"]).ok().out, "completed\n");
}

/// Spec: GR.2.3
#[test]
fn a_gate_that_was_mended_is_tried_again() {
    let home = Home::new();
    home.run(
        "  - {name: there, type: gate, command: test -f there.txt, message: It must be there.}\n",
        &[],
    )
    .code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["answer", &name]), @r"
    NAME there: It must be there. exit code 1 (AGE)
      coven answer NAME retry
      coven answer NAME skip
      coven answer NAME abort
    --- exit 0
    ");
    home.write("there.txt", "");
    home.coven(&["answer", &name, "retry"]).ok();
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    home.coven(&["audit"]).ok();
}

#[test]
fn what_cannot_be_decided_is_explained() {
    let home = Home::new();
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["answer", &name, "aprove"]), @r"
    --- exit 2
    error: `aprove` cannot be decided here
    hint: did you mean `approve`? It can be approve, deny
    ");
    assert_snapshot!(home.said(&["answer", &name, "skip"]), @r"
    --- exit 2
    error: `skip` cannot be decided here
    hint: it can be approve, deny
    ");
    assert_snapshot!(home.said(&["answer", &name, "approve", "a text"]), @r"
    --- exit 2
    error: `approve` takes no text
    ");
    assert_snapshot!(home.said(&["approve", &format!("{name}/other")]), @r"
    --- exit 1
    error: NAME does not ask that
    hint: name one: NAME/1 (look: Look at it.)
    ");
    assert_snapshot!(home.said(&["approve", &name]), @r"
    approve: NAME look: Look at it.
    --- exit 0
    ");
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    assert_snapshot!(home.said(&["approve", &name]), @r"
    --- exit 1
    error: NAME does not wait for anybody
    hint: it is completed; `coven inbox` shows what waits
    ");
}

#[test]
fn an_answer_to_what_was_shown_before_is_refused() {
    let home = Home::new();
    let name = home.asking("approve ls");
    let digest = "0".repeat(64);
    let said = home.coven(&["approve", &name, "--digest", &digest]).code(1);
    assert!(said.err.contains("coven inbox"), "{}", said.err);
    let digest = home.coven(&["inbox", "--json"]).ok().json()["interventions"][0]["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    home.coven(&["approve", &name, "--digest", &digest, "--why", "looks harmless"]).ok();
}

/// Spec: C1.9.1
#[test]
fn a_program_that_waits_for_enter_is_given_it_as_an_empty_answer() {
    let home = Home::new();
    home.write("waits.sh", "printf 'Press Enter to accept '; IFS= read -r line; exit 0\n");
    let config = r#"{"schemaVersion": 1, "command": "bash",
        "modes": {"interactive": {"baseArgs": ["waits.sh"]}}}"#;
    home.write("../home/.config/coven/adapters/waits/config.json", config);
    let name = home.coven(&["new", "waits", "--detach"]).ok().out.trim().to_owned();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    let said = home.coven(&["answer", &name, ""]).ok();
    assert!(said.out.starts_with("answered: "), "{}", said.out);
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();

    let name = home.asking("approve ls");
    let said = home.coven(&["answer", &name, ""]).code(2);
    assert!(said.err.contains("it does not take an empty answer"), "{}", said.err);
}

/// A program that asks for a key without hiding what is typed, and says it once more.
const KEY_PROGRAM: &str = r#"
printf 'name of the account: '
IFS= read -r account
printf 'Enter API key: '
IFS= read -r key
printf '%s' "$key" > got.txt
printf 'using the key %s of %s\n' "$key" "$account"
printf 'account> '
IFS= read -r rest
"#;

const KEY_ADAPTER: &str = r#"{
  "command": "bash",
  "modes": { "interactive": { "baseArgs": ["key.sh"], "promptPosition": "typed" } },
  "dialogs": [
    { "name": "key", "pattern": "^Enter API key:", "region": "cursor:1", "kind": "question", "secret": true }
  ],
  "states": {
    "interaction_account": { "pattern": "^name of the account:", "region": "cursor:1", "kind": "question" },
    "interaction_idle": { "pattern": "^account>", "region": "cursor:1", "kind": "idle" }
  }
}"#;

#[test]
fn a_secret_that_is_typed_as_an_answer_is_delivered_and_recorded_nowhere() {
    const SECRET: &str = "sk-live-4711-very-secret";
    let home = Home::new();
    home.write("key.sh", KEY_PROGRAM);
    let folder = home.path("home/.config/coven/adapters/keyed");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), KEY_ADAPTER).unwrap();
    let said = home.coven(&["new", "keyed", "--detach"]).ok();
    let name = said.out.trim().to_owned();
    home.coven(&["wait", &name, "--until", "blocked", "--timeout", "60s"]).code(3);
    home.coven(&["answer", &name, "answer", "mary"]).ok();
    let asked = || home.coven(&["inbox", &name, "--json"]).ok().json()["interventions"][0].clone();
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while asked()["secret"] != true {
        assert!(std::time::Instant::now() < deadline, "{}", asked());
    }
    let inbox = home.coven(&["inbox"]).ok().out;
    assert!(inbox.contains("asks for a secret: Enter API key:"), "{inbox}");
    assert!(inbox.contains(&format!("coven answer {name}/2 answer -")), "{inbox}");
    // From a file, so that no list of processes has it.
    let key = home.write("key.txt", SECRET);
    let mut answer = home.command(&["answer", &name, "answer", "-"]);
    answer.stdin(std::fs::File::open(&key).unwrap());
    let answered = crate::home::Said::of(&answer.output().unwrap()).ok();
    assert!(!answered.out.contains(SECRET) && !answered.err.contains(SECRET));
    std::fs::remove_file(key).unwrap();
    let got = home.path("project/got.txt");
    while std::fs::read_to_string(&got).unwrap_or_default() != SECRET {
        assert!(std::time::Instant::now() < deadline, "the program did not get it");
    }
    // Whatever is asked of it afterwards, and whatever is on the disk, has the secret nowhere.
    let shown = ["show", "logs", "events", "explain", "inbox"].map(|verb| {
        let said = home.coven(&[verb, &name]);
        said.out + &said.err
    });
    assert!(!shown.concat().contains(SECRET), "{shown:?}");
    let plain = home.coven(&["logs", &name]).ok().out;
    assert!(plain.contains("using the key ****") && plain.contains("of mary"), "{plain}");
    let raw = home.coven(&["logs", &name, "--raw"]).ok().out;
    assert!(!raw.contains(SECRET), "{raw}");
    home.coven(&["cancel", &name]).ok();
    assert_eq!(files_with(home.root(), SECRET.as_bytes()), [got]);
    // The account was no secret, and is kept as any answer is.
    let kept = files_with(home.root(), b"mary");
    assert!(kept.iter().any(|path| path.ends_with("journal.jsonl")), "{kept:?}");
}
