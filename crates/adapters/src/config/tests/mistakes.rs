//! Each mistake has a message of its own, at its place.

use insta::assert_snapshot;

use super::report;

#[test]
fn a_pattern_that_is_none_is_shown_at_the_character_that_is_wrong() {
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "Allow (once"}}}"#), @r#"
    error[bad-pattern]: not a regular expression: unclosed group
     --> config.json:1:37
      |
    1 | {"states": {"a": {"pattern": "Allow (once"}}}
      |                                     ^
    "#);
    assert_snapshot!(report(r#"{"signals": {"title": [{"pattern": "[", "kind": "idle"}]}}"#), @r#"
    error[bad-pattern]: not a regular expression: unclosed character class
     --> config.json:1:37
      |
    1 | {"signals": {"title": [{"pattern": "[", "kind": "idle"}]}}
      |                                     ^
    "#);
    assert_snapshot!(report(r#"{"dialogs": [{"name": "t", "pattern": "a", "not": "x{2,1}"}]}"#), @r#"
    error[bad-pattern]: not a regular expression: invalid repetition count range, the start must be <= the end
     --> config.json:1:53
      |
    1 | {"dialogs": [{"name": "t", "pattern": "a", "not": "x{2,1}"}]}
      |                                                     ^^^^^
    "#);
    assert_snapshot!(report(r#"{"volatile": ["(?=s)"]}"#), @r#"
    error[bad-pattern]: not a regular expression: look-around, including look-ahead and look-behind, is not supported
     --> config.json:1:16
      |
    1 | {"volatile": ["(?=s)"]}
      |                ^^^
      |
      = help: look-ahead and look-behind do not exist here; match the text itself
    "#);
}

#[test]
fn a_pattern_that_matches_everything_is_refused() {
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": ".*"}}}"#), @r#"
    error[pattern-matches-everything]: this pattern matches an empty line, so it would match every screen
     --> config.json:1:30
      |
    1 | {"states": {"a": {"pattern": ".*"}}}
      |                              ^^^^
      |
      = help: name something that only this state shows
    "#);
}

#[test]
fn a_pattern_that_ends_with_a_blank_is_a_warning_because_lines_do_not() {
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "^> "}}}"#), @r#"
    warning[pattern-ends-with-a-space]: lines are read without the blanks at their end, so this space is often missing
     --> config.json:1:30
      |
    1 | {"states": {"a": {"pattern": "^> "}}}
      |                              ^^^^^
      |
      = help: end with `( |$)` if the line may end here
    "#);
    assert_eq!(report(r#"{"states": {"a": {"pattern": "^>( |$)"}}}"#), "");
}

#[test]
fn an_approval_that_may_stand_anywhere_is_a_warning() {
    let plain = r#"{"states": {"interaction_handler": {"pattern": "\\(y/n\\)"}}}"#;
    assert_snapshot!(report(plain), @r#"
    warning[approval-without-region]: without a `region` these words ask for approval wherever they stand on the screen
     --> config.json:1:48
      |
    1 | {"states": {"interaction_handler": {"pattern": "\\(y/n\\)"}}}
      |                                                ^^^^^^^^^^^
      |
      = help: add `"region": "tail:5"`, or `cursor:1` for a question in the line of the cursor
    "#);
    for right in [
        r#"{"states": {"interaction_handler": {"pattern": "\\(y/n\\)", "region": "cursor:1"}}}"#,
        r#"{"states": {"interaction_handler": {"pattern": "\\(y/n\\)\\s*\\z"}}}"#,
        r#"{"states": {"interaction_handler": {"pattern": "a", "kind": "choice"}}}"#,
    ] {
        assert_eq!(report(right), "", "{right}");
    }
}

#[test]
fn a_pattern_that_grows_beyond_measure_is_refused() {
    let text = r#"{"states": {"a": {"pattern": "(?:\\w{40}){60}x"}}}"#;
    assert_snapshot!(report(text), @r#"
    error[bad-pattern]: not a regular expression: Compiled regex exceeds size limit of 10485760 bytes.
     --> config.json:1:30
      |
    1 | {"states": {"a": {"pattern": "(?:\\w{40}){60}x"}}}
      |                              ^^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn each_flag_that_is_none_says_what_to_do() {
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "flags": "g"}}}"#), @r#"
    error[pattern-flag]: `g` is no flag of a pattern
     --> config.json:1:44
      |
    1 | {"states": {"a": {"pattern": "a", "flags": "g"}}}
      |                                            ^^^
      |
      = help: remove it: a rule asks only whether there is a match
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "flags": "iu"}}}"#), @r#"
    error[pattern-flag]: `u` is no flag of a pattern
     --> config.json:1:44
      |
    1 | {"states": {"a": {"pattern": "a", "flags": "iu"}}}
      |                                            ^^^^
      |
      = help: remove it: patterns are always Unicode
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "flags": "q"}}}"#), @r#"
    error[pattern-flag]: `q` is no flag of a pattern
     --> config.json:1:44
      |
    1 | {"states": {"a": {"pattern": "a", "flags": "q"}}}
      |                                            ^^^
      |
      = help: there are `i` (ignores case), `s` (`.` matches line ends) and `x` (spaces and comments)
    "#);
    assert_eq!(report(r#"{"states": {"a": {"pattern": "a # b", "flags": "imsx"}}}"#), "");
}

#[test]
fn a_region_that_is_none_is_told_with_those_there_are() {
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "region": "bottom:3"}}}"#), @r#"
    error[region]: `bottom:3` is no region; there are `screen`, `tail:N`, `head:N` and `cursor:N`
     --> config.json:1:45
      |
    1 | {"states": {"a": {"pattern": "a", "region": "bottom:3"}}}
      |                                             ^^^^^^^^^^
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "region": "tail:0"}}}"#), @r#"
    error[region]: `tail:0` needs a number of lines from 1 to 1000 after the colon, as in `tail:15`
     --> config.json:1:45
      |
    1 | {"states": {"a": {"pattern": "a", "region": "tail:0"}}}
      |                                             ^^^^^^^^
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "a", "region": "tail"}}}"#), @r#"
    error[region]: `tail` needs a number of lines from 1 to 1000 after the colon, as in `tail:15`
     --> config.json:1:45
      |
    1 | {"states": {"a": {"pattern": "a", "region": "tail"}}}
      |                                             ^^^^^^
    "#);
}

#[test]
fn a_key_that_is_none_is_told_with_the_near_one() {
    assert_snapshot!(report(r#"{"keys": {"approve": ["Entr"]}}"#), @r#"
    error[key]: unknown key "Entr"; did you mean Enter?
     --> config.json:1:23
      |
    1 | {"keys": {"approve": ["Entr"]}}
      |                       ^^^^^^
    "#);
    assert_snapshot!(report(r#"{"keys": {"deny": ["nonsense"]}}"#), @r#"
    error[key]: unknown key "nonsense"; a key is one character or a name such as Enter, Esc, Up, F5, Ctrl+C
     --> config.json:1:20
      |
    1 | {"keys": {"deny": ["nonsense"]}}
      |                    ^^^^^^^^^^
    "#);
    assert_snapshot!(
        report(r#"{"dialogs": [{"name": "t", "pattern": "a", "answers": {"accept": ["Ecs"]}}]}"#),
        @r#"
        error[key]: unknown key "Ecs"; did you mean Esc?
         --> config.json:1:67
          |
        1 | {"dialogs": [{"name": "t", "pattern": "a", "answers": {"accept": ["Ecs"]}}]}
          |                                                                   ^^^^^
        "#
    );
}

#[test]
fn an_unknown_word_in_the_file_is_told_with_the_near_one() {
    assert_snapshot!(report(r#"{"comand": "x"}"#), @r#"
    error[unknown-key]: unknown key `comand`; did you mean `command`?
     --> config.json:1:2
      |
    1 | {"comand": "x"}
      |  ^^^^^^^^
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"patern": "x"}}}"#), @r#"
    error[missing-key]: `states.a`: missing key `pattern`
     --> config.json:1:18
      |
    1 | {"states": {"a": {"patern": "x"}}}
      |                  ^^^^^^^^^^^^^^^
      |
      = help: `pattern`: A regular expression over the lines of the region; `^` and `$` stand for the ends of a line

    error[unknown-key]: `states.a`: unknown key `patern`; did you mean `pattern`?
     --> config.json:1:19
      |
    1 | {"states": {"a": {"patern": "x"}}}
      |                   ^^^^^^^^
    "#);
    assert_snapshot!(report(r#"{"modes": {"headles": {}}}"#), @r#"
    error[unknown-key]: `modes`: unknown key `headles`; did you mean `headless`?
     --> config.json:1:12
      |
    1 | {"modes": {"headles": {}}}
      |            ^^^^^^^^^
    "#);
    assert_snapshot!(report(r#"{"states": {"a": {"pattern": "x", "kind": "aproval"}}}"#), @r#"
    error[not-one-of]: `states.a.kind`: expected one of `starting`, `working`, `idle`, `approval`, `question`, `choice`, `dialog`, `error` or `rest`, found the string `aproval`
     --> config.json:1:43
      |
    1 | {"states": {"a": {"pattern": "x", "kind": "aproval"}}}
      |                                           ^^^^^^^^^
      |
      = help: did you mean `approval`?
    "#);
    assert_snapshot!(report(r#"{"permissions": {"everything": []}}"#), @r#"
    error[unknown-permission]: `everything` is no permission level
     --> config.json:1:18
      |
    1 | {"permissions": {"everything": []}}
      |                  ^^^^^^^^^^^^
      |
      = help: there are `read-only`, `ask`, `edits`, `all`
    "#);
}

/// Spec: AD.11.2
#[test]
fn a_value_of_the_wrong_type_is_told_with_what_is_expected() {
    assert_snapshot!(report(r#"{"metadata": {"displayName": 7, "icon": ["a"]}}"#), @r#"
    error[wrong-type]: `metadata.displayName`: expected a string, found the number 7
     --> config.json:1:30
      |
    1 | {"metadata": {"displayName": 7, "icon": ["a"]}}
      |                              ^
      |
      = help: put it in quotes to make it a string

    error[wrong-type]: `metadata.icon`: expected a string, found a list
     --> config.json:1:41
      |
    1 | {"metadata": {"displayName": 7, "icon": ["a"]}}
      |                                         ^^^^^
      |
      = help: The name of an icon; `agent` if missing
    "#);
    assert_snapshot!(report(r#"{"modes": {"headless": {"baseArgs": "-p"}}}"#), @r#"
    error[wrong-type]: `modes.headless.baseArgs`: expected a list of strings, found the string `-p`
     --> config.json:1:37
      |
    1 | {"modes": {"headless": {"baseArgs": "-p"}}}
      |                                     ^^^^
      |
      = help: Arguments that always come first
    "#);
    assert_snapshot!(report(r#"{"stop": {"grace": "soon"}}"#), @r#"
    error[bad-duration]: `stop.grace`: `soon` is not a duration; write for example `30m`, `1h30m` or `500ms`
     --> config.json:1:20
      |
    1 | {"stop": {"grace": "soon"}}
      |                    ^^^^^^
    "#);
    assert_snapshot!(report("[]"), @r"
    error[wrong-type]: expected a map, found an empty list
     --> config.json:1:1
      |
    1 | []
      | ^^
      |
      = help: An adapter file: how to start, read, answer and stop one agent CLI
    ");
}

#[test]
fn a_prompt_by_an_option_needs_the_option() {
    assert_snapshot!(report(r#"{"modes": {"headless": {"promptPosition": "flag"}}}"#), @r#"
    error[prompt-flag-missing]: `headless` hands the prompt over by an option, but does not say which
     --> config.json:1:24
      |
    1 | {"modes": {"headless": {"promptPosition": "flag"}}}
      |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: add `"promptFlag": "-p"`, with the option of your program
    "#);
    assert_snapshot!(
        report(r#"{"modes": {"headless": {"promptPosition": "flag", "promptFlag": "p"}}}"#),
        @r#"
        error[prompt-flag]: an option begins with `-`
         --> config.json:1:65
          |
        1 | {"modes": {"headless": {"promptPosition": "flag", "promptFlag": "p"}}}
          |                                                                 ^^^
          |
          = help: for a prompt that is simply the last argument leave `promptFlag` out
        "#
    );
    assert_snapshot!(report(r#"{"modes": {"headless": {"promptFlag": "-p"}}}"#), @r#"
    warning[prompt-flag-unused]: `promptFlag` counts only with `"promptPosition": "flag"`
     --> config.json:1:39
      |
    1 | {"modes": {"headless": {"promptFlag": "-p"}}}
      |                                       ^^^^
      |
      = help: add that, or remove this
    "#);
}

#[test]
fn a_transcript_that_is_none_is_told_with_the_near_one() {
    assert_snapshot!(report(r#"{"modes": {"headless": {"transcript": "claude-json"}}}"#), @r#"
    error[transcript]: unknown transcript format `claude-json`; known are `claude-stream-json`, `codex-json`, `gemini-stream-json`, `opencode-json`, `qwen-stream-json`, `copilot-json`, `text`
     --> config.json:1:39
      |
    1 | {"modes": {"headless": {"transcript": "claude-json"}}}
      |                                       ^^^^^^^^^^^^^
    "#);
}

#[test]
fn arguments_that_leave_out_their_value_are_refused() {
    assert_snapshot!(report(r#"{"model": ["-m"], "resume": {"args": ["--resume"]}}"#), @r#"
    error[placeholder-missing]: these arguments do not say where the name of the model goes
     --> config.json:1:11
      |
    1 | {"model": ["-m"], "resume": {"args": ["--resume"]}}
      |           ^^^^^^
      |
      = help: write `${model}` in its place

    error[placeholder-missing]: these arguments do not say where the name of the conversation goes
     --> config.json:1:38
      |
    1 | {"model": ["-m"], "resume": {"args": ["--resume"]}}
      |                                      ^^^^^^^^^^^^
      |
      = help: write `${agentSession}` in its place
    "#);
}

#[test]
fn a_file_of_a_newer_version_is_refused_with_a_word_about_it() {
    assert_snapshot!(report(r#"{"schemaVersion": 2}"#), @r#"
    error[schema-version]: this program knows version 1 of the adapter file
     --> config.json:1:19
      |
    1 | {"schemaVersion": 2}
      |                   ^
      |
      = help: a newer Coven may know it; or write `"schemaVersion": 1`
    "#);
}

#[test]
fn two_dialogs_with_one_name_are_refused() {
    let text = "{\"dialogs\": [\n  {\"name\": \"trust\", \"pattern\": \"a\"},\n  {\"name\": \"trust\", \
                \"pattern\": \"b\"}\n]}";
    assert_snapshot!(report(text), @r#"
    error[duplicate-dialog]: `trust` is here twice
     --> config.json:3:12
      |
    3 |   {"name": "trust", "pattern": "b"}
      |            ^^^^^^^
      |
     ::: config.json:2:12
      |
    2 |   {"name": "trust", "pattern": "a"},
      |            ------- the first
      |
      = help: give each dialog a name of its own
    "#);
}

#[test]
fn a_variable_that_cannot_be_one_is_refused() {
    assert_snapshot!(report(r#"{"env": {"set": {"A=B": "1"}, "unset": [""]}}"#), @r#"
    error[variable-name]: `A=B` cannot be a variable
     --> config.json:1:18
      |
    1 | {"env": {"set": {"A=B": "1"}, "unset": [""]}}
      |                  ^^^^^
      |
      = help: a name is not empty and has no `=` in it

    error[variable-name]: `` cannot be a variable
     --> config.json:1:41
      |
    1 | {"env": {"set": {"A=B": "1"}, "unset": [""]}}
      |                                         ^^
      |
      = help: a name is not empty and has no `=` in it
    "#);
}

#[test]
fn a_key_that_is_there_twice_is_refused() {
    assert_snapshot!(report("{\"command\": \"a\",\n \"command\": \"b\"}"), @r#"
    error[duplicate-key]: duplicate key `command`
     --> config.json:2:2
      |
    2 |  "command": "b"}
      |  ^^^^^^^^^ again here
      |
     ::: config.json:1:2
      |
    1 | {"command": "a",
      |  --------- first here
      |
      = help: remove one of the two, or merge them
    "#);
}

#[test]
fn a_file_that_is_no_json_is_refused_where_it_stops_being_json() {
    assert_snapshot!(report(""), @r"
    error[empty-file]: the file is empty
    --> config.json
    ");
    assert_snapshot!(report("{\"command\": \"gem"), @r#"
    error[syntax]: a string is not closed
     --> config.json:1:13
      |
    1 | {"command": "gem
      |             ^^^^
    "#);
    assert_snapshot!(report("{\"command\": \"gemini\","), @r#"
    error[syntax]: the file ends inside a map
     --> config.json:1:22
      |
    1 | {"command": "gemini",
      | -                    ^ `}` is missing
      | |
      | the map starts here
    "#);
    assert_snapshot!(report("\u{0}\u{1}\u{2}"), @r"
    error[syntax]: expected a value, found `␀`
     --> config.json:1:1
      |
    1 | ␀␁␂
      | ^
    ");
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = r#"{
  "comand": "x",
  "keys": { "deny": ["Ecs"] },
  "states": { "a": { "pattern": "(", "region": "tale:3", "flags": "g" } }
}"#;
    assert_eq!(report(text).matches("error[").count(), 5, "{}", report(text));
}

#[test]
fn versions_that_are_none_and_ranges_without_any_are_shown() {
    let told = report(
        r#"{"testedVersion": "latest", "versions": [{"until": ">=2.1", "model": ["${model}"]}, {"since": "2.0", "until": "1.9"}, {"env": {}}, {"since": "1.0", "permissions": {"asks": []}}]}"#,
    );
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(
        lines,
        [
            "error[version]: `latest` is no version; versions look like `2.1.200` or `1.0.4-0`",
            "error[version]: `>=2.1` is no version; versions look like `2.1.200` or `1.0.4-0`",
            "error[version-range]: no version is both since 2.0 and before 1.9",
            "error[version-range]: this entry does not say which versions it is about",
            "error[unknown-permission]: `asks` is no permission level",
        ],
        "{told}"
    );
}

/// What is no version would hold for every version, also for a program that is too old.
#[test]
fn the_first_version_of_a_channel_and_of_hooks_is_a_version() {
    let told = report(
        r#"{"channel": {"kind": "acp", "since": "x.y"}, "hooks": {"kind": "claude-http", "since": "new"}}"#,
    );
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(
        lines,
        [
            "error[version]: `x.y` is no version; versions look like `2.1.200` or `1.0.4-0`",
            "error[version]: `new` is no version; versions look like `2.1.200` or `1.0.4-0`",
        ],
        "{told}"
    );
}

#[test]
fn a_conversation_that_could_be_anybodys_is_refused() {
    let answer = |more: &str| {
        let lines = r#""prompt": [{"where": {"type": "user"}}], "said": [{"text": "text"}]"#;
        let told = report(&format!(r#"{{"answer": {{{lines}, {more}}}}}"#));
        told.lines().find(|line| line.starts_with("error")).map(str::to_owned)
    };
    assert_eq!(answer(r#""file": "~/.x/${agentSession}.jsonl""#), None);
    assert_eq!(answer(r#""file": "~/.x/*.jsonl", "session": "id""#), None);
    assert_eq!(answer(r#""file": "~/.x/*.jsonl", "folder": "cwd""#), None);
    let unknown =
        "error[answer-file]: this does not say which of the conversations is the agent's own";
    assert_eq!(answer(r#""file": "~/.x/*.jsonl""#).as_deref(), Some(unknown));
    let outside = "error[answer-file]: the file with the conversation lies in the home of the user";
    for file in ["/var/${agentSession}", "~/../x/${agentSession}", "${agentSession}", "~/a//b"] {
        let told = answer(&format!(r#""session": "id", "file": "{file}""#));
        assert_eq!(told.as_deref(), Some(outside), "{file}");
    }
}

/// Spec: AD.11.2
#[test]
fn an_icon_that_the_page_does_not_know_is_a_warning_that_names_those_it_knows() {
    assert_snapshot!(report(r#"{"metadata": {"icon": "terminl"}}"#), @r#"
    warning[unknown-icon]: there is no icon `terminl`, so the page shows `agent`
     --> config.json:1:23
      |
    1 | {"metadata": {"icon": "terminl"}}
      |                       ^^^^^^^^^
      |
      = help: did you mean `terminal`? There are agent, aider, book, brain, claude, codex, copilot, demo, gear, gemini, opencode, plug, qwen, spark, terminal, tool
    "#);
    assert!(
        report(r#"{"metadata": {"icon": "https://example.com/a.png"}}"#)
            .contains("= help: there are agent, aider")
    );
    assert_eq!(report(r#"{"metadata": {"icon": "spark"}}"#), "");
}
