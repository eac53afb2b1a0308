//! `coven events`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn what_happened_is_told_as_lines_or_as_json() {
    let home = Home::new();
    home.run("  - {name: one, type: script, command: 'echo hi'}\n", &[]).ok();
    let name = home.only();
    let all = home.coven(&["events", &name, "--json"]).ok().lines();
    assert_eq!(all[0]["type"], "session.created");
    assert!(all.iter().enumerate().all(|(place, line)| line["seq"] == place as u64 + 1));
    let later = home.coven(&["events", &name, "--json", "--after", "3"]).ok().lines();
    assert_eq!(later, all[3..]);
    assert_eq!(home.coven(&["events", &name]).ok().out.lines().count(), all.len());
    assert_eq!(home.coven(&["events", &name, "-f", "--json"]).ok().lines(), all);
    assert_snapshot!(home.said(&["events"]), @r"
    --- exit 2
    error: name a session, or follow all of them
    hint: coven events NAME, or coven events --follow
    ");
    assert_snapshot!(home.said(&["events", "no-such"]), @r"
    --- exit 1
    error: no session has the id or name `no-such`
    hint: `coven ls` lists the sessions
    ");
}
