//! `coven answer`, `coven approve` and `coven deny`.

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
    hint: did you mean `approve`? It can be approve, skip, abort
    ");
    assert_snapshot!(home.said(&["deny", &name]), @r"
    --- exit 2
    error: `deny` cannot be decided here
    hint: it can be approve, skip, abort
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
