//! `coven grimoire`.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn grimoires_are_listed_shown_checked_and_made() {
    let home = Home::new();
    assert_snapshot!(home.said(&["grimoire", "ls"]), @r"
    NAME  FROM  DESCRIPTION
    demo  built-in  A short tour with scripted agents; a plan, a fan-out,…
    implement-bead  built-in  Implements the next bead or a given one, runs the che…
    prepare-pr  built-in  Checks the branch, writes the pull request's text, an…
    review-loop  built-in  Reviews and mends the changes on this branch, round b…
    spec-to-beads  built-in  Splits a spec into small tasks with dependencies, let…
    --- exit 0
    ");
    assert!(home.coven(&["grimoire", "show", "demo"]).ok().out.contains("name: demo"));
    assert!(
        home.coven(&["grimoire", "show", "review-loop", "--plan"]).ok().out.contains("agent-loop")
    );
    home.coven(&["grimoire", "new", "fix-bug"]).ok();
    assert_eq!(home.coven(&["grimoire", "check", "fix-bug"]).ok().out.lines().count(), 1);
    assert_snapshot!(home.said(&["grimoire", "new", "fix-bug"]), @r"
    --- exit 1
    error: ~/project/.coven/grimoires/fix-bug.yaml is already there
    hint: edit it, or choose another name
    ");
    assert_snapshot!(home.said(&["grimoire", "show", "dem"]), @r"
    --- exit 1
    error: there is no grimoire `dem`; did you mean `demo`?
    ");
    assert_snapshot!(home.said(&["grimoire", "new", "Fix Bug"]), @r#"
    --- exit 2
    error[bad-form]: `name`: `Fix Bug` is not a name in kebab-case such as `run-tests`: lowercase letters and digits, with single dashes between
     --> Fix Bug.yaml:3:7
      |
    3 | name: Fix Bug
      |  ^^^^^^^
      |
      = help: What it is called: lowercase letters, digits and dashes, such as `review-loop`
    error: "Fix Bug" cannot be the name of a grimoire
    hint: use lower-case words with dashes between them, such as `fix-bug`
    "#);
}
