//! Outputs and values that are larger than most.

use std::fs;

use crate::home::Home;

/// Prints so many bytes and a line feed.
fn print(bytes: usize) -> String {
    format!("head -c {bytes} /dev/zero | tr '\\0' x; echo")
}

#[test]
fn a_value_too_large_for_the_environment_reaches_a_command_whole() {
    let home = Home::new();
    let bytes = 2_000_000;
    let steps = format!(
        "  - {{name: make, type: script, command: {:?}, output: big}}\n  \
         - {{name: use, type: script, command: 'printf %s \"${{big}}\" | wc -c', output: count}}\n  \
         - {{name: end, type: script, command: 'printf \"%s\" \"<${{big}}>\" | tail -c 3', output: end}}\n",
        print(bytes)
    );
    home.run(&steps, &[]).ok();
    let shown = home.coven(&["show", &home.only(), "--json"]).ok().json();
    let variables = &shown["session"]["variables"];
    assert_eq!(variables["count"].as_str().unwrap().trim(), bytes.to_string());
    assert_eq!(variables["end"], "xx>");
    let events = home.coven(&["events", &home.only(), "--json"]).ok();
    let ended = events.lines().into_iter().find(|event| event["type"] == "task.ended").unwrap();
    assert_eq!(ended["data"]["outcome"]["reason"], "exit code 0", "it is whole");
    home.coven(&["audit"]).ok();
}

#[test]
fn a_value_that_no_command_can_be_given_fails_its_step_like_anything_else() {
    let home = Home::new();
    let steps = r#"  - {name: make, type: script, command: 'printf "[\"a\\\\u0000b\"]"', expect: json, output: list}
  - {name: use, type: script, command: 'echo "${list[0]}"', on_failure: continue}
  - {name: after, type: script, command: echo on, output: after}
"#;
    let said = home.run(steps, &[]).ok();
    assert!(said.out.contains("`${list[0]}` holds a NUL character"), "{said:?}");
    assert!(said.out.contains("after: completed: on"), "{said:?}");
}

#[test]
fn an_output_beyond_the_limit_is_no_value_and_the_numbers_are_true() {
    let home = Home::new();
    let bytes = (16 << 20) + 5;
    let kept = 16 << 20;
    let keeps =
        format!("  - {{name: make, type: script, command: {:?}, output: big}}\n", print(bytes));
    let said = home.run(&keeps, &[]).code(1);
    let whole = bytes + 1;
    let expected = format!(
        "only {kept} of the {whole} bytes of its output could be kept; let it write a file and \
         print the path"
    );
    assert!(said.out.contains(&expected), "{said:?}");
    let ignores = keeps.replace(", output: big", "");
    home.run(&ignores, &[]).ok();
    let names = home.names();
    let reasons: Vec<String> = names
        .iter()
        .flat_map(|name| home.coven(&["events", name, "--json"]).ok().lines())
        .filter(|event| event["type"] == "task.ended")
        .map(|event| event["data"]["outcome"]["reason"].as_str().unwrap().to_owned())
        .collect();
    let noted = format!("only {kept} of the {whole} bytes of its output could be kept");
    assert!(reasons.contains(&noted), "{reasons:#?}");
    // What is missing is said wherever the output is shown.
    let missing = whole - kept;
    let newest = home.coven(&["show", "--json"]).ok().json();
    let name = newest["session"]["name"].as_str().unwrap();
    let said = home.coven(&["output", name, "make"]).ok();
    assert_eq!(said.out.len(), kept + 1);
    let note = format!(
        "note: {missing} bytes of the output of make are missing here; all of it:\n  \
         coven logs {name}/make --raw\n"
    );
    assert_eq!(said.err, note);
    assert_eq!(home.coven(&["output", name, "make", "--stdout"]).ok().err, note);
    assert_eq!(home.coven(&["output", name]).ok().err, note);
    let said = home.coven(&["output", name, "make", "--json"]).ok();
    assert_eq!(said.json()["omitted"], missing);
    assert_eq!(home.coven(&["logs", &format!("{name}/make"), "--raw"]).ok().out.len(), whole);
    let shown = home.coven(&["show", name]).ok().out;
    let note = format!(
        "make: {missing} bytes of its output are not kept as a value; coven logs {name}/make has them"
    );
    assert!(shown.contains(&note), "{shown}");
}

#[test]
fn a_large_value_is_shown_by_its_beginning_and_its_size() {
    let home = Home::new();
    let steps = format!(
        "  - {{name: make, type: script, command: {:?}, output: big}}\n",
        format!("echo It begins so.; {}", print(200_000))
    );
    let said = home.run(&steps, &[]).ok();
    let name = home.only();
    let rest = format!("… (200014 bytes; coven output {name} big)");
    assert!(said.out.contains("\nbig:\n  It begins so.\n  xxx"), "{}", said.out);
    assert!(said.out.contains(&format!("\n  {rest}\n")), "{}", said.out);
    let shown = home.coven(&["show", &name]).ok().out;
    assert!(shown.contains("big = It begins") && shown.contains(&format!("{rest}\n")), "{shown}");
    for text in [said.out, shown] {
        assert!(!text.contains("$value"), "{text}");
    }
    assert_eq!(home.coven(&["output", &name, "big"]).ok().out.len(), 200_015);
}

#[test]
fn of_a_failed_command_that_says_a_lot_the_end_is_its_reason() {
    let home = Home::new();
    let steps = r#"  - {name: bad, type: script, command: "head -c 3000000 /dev/zero | tr '\\0' e >&2; exit 3", on_failure: continue}
  - {name: use, type: script, command: 'printf %s "${steps.bad.stderr}" | wc -c', output: count}
  - {name: end, type: script, command: "head -c 3000000 /dev/zero | tr '\\0' e >&2; exit 3"}
"#;
    let said = home.run(steps, &[]).code(1);
    assert!(said.out.len() + said.err.len() < 20_000, "{} bytes", said.out.len() + said.err.len());
    let shown = home.coven(&["show", &home.only(), "--json"]).ok();
    assert!(shown.out.len() < 100_000, "{} bytes", shown.out.len());
    let shown = shown.json();
    let count = &shown["session"]["variables"]["count"];
    assert_eq!(count.as_str().unwrap().trim(), "3000000", "the whole is there");
    assert!(said.out.contains("exit code 3: … (2997952 bytes left out) eee"), "{said:?}");
}

#[test]
fn a_large_value_lies_on_the_disk_once_for_all_commands_that_do_not_mention_it() {
    let home = Home::new();
    let printed = |letter: &str| format!("head -c 200000 /dev/zero | tr \\\\0 {letter}");
    let count = "wc -c < $COVEN_VARS";
    let steps = format!(
        "  - {{name: first, type: script, command: '{}', output: first_text}}\n  \
         - {{name: second, type: script, command: '{}', output: second_text}}\n  \
         - {{name: small, type: script, command: '{count}', output: small_size}}\n  \
         - {{name: large, type: script, command: '{count}; : second_text', output: large_size}}\n  \
         - {{name: copy, type: script, command: 'cat $COVEN_VARS', output: variables, expect: json}}\n",
        printed("a"),
        printed("b")
    );
    home.run(&steps, &[]).ok();
    let size =
        |step: &str| -> u64 { home.coven(&["output", "@", step]).ok().out.trim().parse().unwrap() };
    assert!(size("small") < 10_000, "nothing is mentioned: {}", size("small"));
    assert!((200_000..230_000).contains(&size("large")), "one is: {}", size("large"));
    let variables = home.coven(&["output", "@", "copy"]).ok().json();
    let reference = &variables["first_text"];
    assert_eq!(reference, &variables["steps"]["first"]["output"]);
    assert_eq!(reference["bytes"], 200_000);
    let text = fs::read(reference["file"].as_str().unwrap()).unwrap();
    let text: String = serde_json::from_slice(&text).unwrap();
    assert_eq!(text, "a".repeat(200_000));
}
