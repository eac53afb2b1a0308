//! Bare `coven`, without a command.

use insta::assert_snapshot;

use crate::home::Home;

#[test]
fn it_teaches_when_there_is_nothing_and_shows_what_needs_you() {
    let home = Home::new();
    assert_snapshot!(home.said(&[]), @r#"
    coven 0.1.0: runs teams of AI coding CLIs on your own machine.

    There are no sessions yet. Try:

      coven run demo  a tour; nothing has to be installed
      coven new claude "PROMPT"  one agent, here (or codex, gemini, opencode, ...)
      coven doctor  which agents are there, and whether all is well
      coven grimoire ls  the workflows there are
      coven init  a workflow of your own, in this folder
      coven --help  everything else
    --- exit 0
    "#);
    home.run("  - {name: look, type: gate, message: Look at it.}\n", &[]).code(3);
    assert_snapshot!(home.said(&[]), @r"
    1 question waits for you:

    NAME look: Look at it. (AGE)
      coven approve NAME
      coven deny NAME

    Not over:
    NAME  STATUS  AGE  GRIMOIRE  WHAT
    NAME  blocked (1)  AGE  test  ./test.yaml

    coven show NAME  coven attach NAME  coven run GRIMOIRE  coven ui  coven --help
    --- exit 0
    ");
}
