//! The exit codes are those of the table in the documentation.

use std::fs;
use std::path::Path;

use crate::home::Home;

const SCRIPT: &str = "  - {name: one, type: script, command: 'true'}\n";
const FAILS: &str = "  - {name: one, type: script, command: 'false'}\n";
const ASKS: &str = "  - {name: one, type: gate, message: Look.}\n";

#[test]
fn every_code_of_the_table_is_what_happens() {
    let home = Home::new();
    home.run(SCRIPT, &[]).code(0);
    home.run(FAILS, &[]).code(1);
    home.coven(&["run"]).code(2);
    home.coven(&["run", "demo", "--input", "nonsense"]).code(2);
    home.run(ASKS, &[]).code(3);
    let open = home.coven(&["inbox", "--json"]).ok().json();
    let name = open["interventions"][0]["workflowName"].as_str().unwrap().to_owned();
    home.coven(&["wait", &name, "--timeout", "10ms"]).code(124);
    home.coven(&["cancel", &name]).ok();
    home.coven(&["wait", &name]).code(4);
    let mut command = home.command(&["ls"]);
    let output =
        command.env("COVEN_JOB", "a/b/1").env("XDG_STATE_HOME", home.path("other")).output();
    assert_eq!(output.unwrap().status.code(), Some(5));
}

#[test]
fn the_documentation_lists_the_codes_that_there_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/exit-codes.md");
    let text = fs::read_to_string(path).unwrap();
    let listed: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(listed, ["0", "1", "2", "3", "4", "5", "124", "130"]);
}
