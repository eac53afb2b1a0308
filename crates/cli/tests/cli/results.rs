//! `coven output`.

use crate::home::Home;

const STEPS: &str = concat!(
    "  - {name: list, type: script, command: 'printf \"[1, 2]\"', expect: json, output: numbers}\n",
    "  - {name: say, type: agent, prompt: 'say hello there', output: words}\n",
    "  - {name: quiet, type: script, command: 'echo unnamed'}\n",
);

#[test]
fn the_output_of_a_step_is_printed_whole_and_alone() {
    let home = Home::new();
    home.run(STEPS, &[]).ok();
    let name = home.only();
    for words in ["say", "words"] {
        assert_eq!(home.coven(&["output", &name, words]).ok().out, "hello there\n");
    }
    assert_eq!(home.coven(&["output", &format!("{name}/say")]).ok().out, "hello there\n");
    assert_eq!(home.coven(&["output", &name, "quiet"]).ok().out, "unnamed\n");
    assert_eq!(home.coven(&["output", &name, "numbers"]).ok().json(), serde_json::json!([1, 2]));
    let all = home.coven(&["output", &name]).ok().out;
    let order = ["==> list (numbers) <==", "==> say (words) <==\nhello there", "==> quiet <=="];
    let places: Vec<Option<usize>> = order.iter().map(|part| all.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{all}");
    let json = home.coven(&["output", &name, "--json"]).ok().json();
    assert_eq!(json["status"], "completed");
    assert_eq!(json["steps"][0]["output"], serde_json::json!([1, 2]));
    assert_eq!(json["steps"][1]["variable"], "words");
    assert_eq!(home.coven(&["output", &name, "say", "--json"]).ok().json(), json["steps"][1]);
}

#[test]
fn what_a_command_printed_is_read_by_stream_also_if_it_failed() {
    let home = Home::new();
    let steps = concat!(
        "  - name: tests\n    type: script\n    on_failure: continue\n",
        "    command: 'echo passed 3; echo failed 1 >&2; exit 4'\n",
        "  - {name: data, type: script, command: 'echo {}; echo noise >&2', expect: json}\n",
        "  - {name: say, type: agent, prompt: 'say ${steps.tests.stderr}, ${steps.tests.stdout}'}\n",
    );
    home.run(steps, &[]).ok();
    let read = |step: &str, stream: &str| home.coven(&["output", "@", step, stream]).ok().out;
    assert_eq!(read("tests", "--stdout"), "passed 3\n");
    assert_eq!(read("tests", "--stderr"), "failed 1\n");
    assert_eq!(read("data", "--stdout"), "{}\n");
    assert_eq!(read("data", "--stderr"), "noise\n");
    assert_eq!(home.coven(&["output", "@", "say"]).ok().out, "failed 1, passed 3\n");
    let said = home.coven(&["output", "@", "tests"]).code(1).err;
    assert!(said.contains("tests --stdout, --stderr"), "{said}");
    let said = home.coven(&["output", "@", "say", "--stderr"]).code(1).err;
    assert!(said.contains("step say ran no command"), "{said}");
    home.coven(&["output", "@", "--stderr"]).code(2);
    home.coven(&["output", "@", "tests", "--stderr", "--stdout"]).code(2);
}

#[test]
fn a_large_output_is_whole() {
    let home = Home::new();
    let command = "head -c 300000 /dev/zero | tr '\\\\0' x";
    home.run(
        &format!("  - {{name: big, type: script, command: \"{command}\", output: all}}\n"),
        &[],
    )
    .ok();
    let out = home.coven(&["output", "@", "big"]).ok().out;
    assert_eq!(out.trim_end(), "x".repeat(300_000));
}

#[test]
fn a_step_without_an_output_says_why() {
    let home = Home::new();
    home.run("  - {name: bad, type: script, command: 'exit 3'}\n", &[]).code(1);
    let name = home.only();
    let said = home.coven(&["output", &name, "bad"]).code(1);
    assert!(said.err.contains("step bad has no output; it is failed: "), "{}", said.err);
    let said = home.coven(&["output", &name]).code(1);
    assert!(said.err.contains(&format!("coven logs {name}")), "{}", said.err);
    let said = home.coven(&["output", &name, "bat", "--json"]).code(1);
    assert!(said.err.contains(r#""code":"not-found""#), "{}", said.err);
    assert!(said.err.contains("did you mean `bad`?"), "{}", said.err);
    home.coven(&["output", &format!("{name}/bad"), "bad"]).code(2);
}
