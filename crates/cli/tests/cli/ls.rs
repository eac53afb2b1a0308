//! `coven ls`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn sessions_are_listed_in_eighty_columns_the_newest_first() {
    let home = Home::new();
    assert_snapshot!(home.said(&["ls"]), @r"
    --- exit 0
    There are no sessions yet. Try: coven run demo
    ");
    home.run("  - {name: one, type: script, command: 'true'}\n", &["--goal", "the first"]).ok();
    home.run(
        "  - {name: one, type: script, command: 'exit 3'}\n",
        &["--goal", &"long ".repeat(60)],
    )
    .code(1);
    let said = home.coven(&["ls"]).ok();
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[1].contains("failed")
            && lines[2].contains("completed")
            && lines[2].contains("the first"),
        "{}",
        said.out
    );
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", said.out);
    assert_eq!(home.coven(&["ls", "--status", "failed"]).ok().out.lines().count(), 2);
    assert_eq!(home.coven(&["ls", "--search", "first"]).ok().out.lines().count(), 2);
    let said = home.coven(&["ls", "-n", "1"]).ok();
    assert_eq!(said.out.lines().count(), 2);
    assert!(said.err.starts_with("1 more: coven ls --all"), "{}", said.err);
    assert_eq!(home.coven(&["ls", "--all", "--json"]).ok().json()["total"], 2);
    assert_snapshot!(home.said(&["ls", "--status", "dead"]), @r"
    --- exit 2
    error: `dead` is not a status
    hint: there are pending, running, blocked, completed, failed, cancelled and foreign
    ");
    assert_snapshot!(home.said(&["ls", "--search", "no such thing"]), @r"
    --- exit 0
    No session is like that. All of them: coven ls --all
    ");
}

#[test]
fn what_agents_write_does_not_reach_the_terminal_through_a_table() {
    let home = Home::new();
    let goal = "\u{1b}[31mred\u{1b}]0;title\u{7} \u{202e}";
    home.run("  - {name: one, type: script, command: 'true'}\n", &["--goal", goal]).ok();
    let said = home.coven(&["ls"]).ok();
    assert!(!said.out.contains('\u{1b}') && !said.out.contains('\u{202e}'), "{:?}", said.out);
    assert!(said.out.contains("red"));
}
