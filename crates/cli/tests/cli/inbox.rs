//! `coven inbox`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_waits_is_shown_with_how_to_decide_it() {
    let home = Home::new();
    assert_snapshot!(home.said(&["inbox"]), @r"
    --- exit 0
    Nothing waits for you.
    ");
    home.run(
        "  - {name: tests, type: gate, command: 'echo two failed; false', message: Must pass.}\n",
        &[],
    )
    .code(3);
    let name = home.only();
    assert_snapshot!(home.said(&["inbox"]), @r"
    NAME tests: Must pass. exit code 1: two failed (AGE)
      │ two failed
      coven answer NAME retry
      coven answer NAME skip
      coven answer NAME abort
    --- exit 0
    ");
    let json = home.coven(&["inbox", &name, "--json"]).ok().json();
    assert_eq!(json["interventions"][0]["kind"], "failed-gate");
    assert_eq!(json["interventions"][0]["workflowName"], name.as_str());
    assert_snapshot!(home.said(&["inbox", "no-such"]), @r"
    --- exit 1
    error: no session has the id or name `no-such`
    hint: `coven ls` lists the sessions
    ");
}
