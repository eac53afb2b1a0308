//! Directives, read from prompts and scripts.

use std::time::Duration;

use super::*;

fn prompt(text: &str) -> Vec<ScriptDirective> {
    from_prompt(text).collect()
}

fn script(text: &str) -> Vec<ScriptDirective> {
    from_script(text).unwrap().collect()
}

fn say(text: &str) -> ScriptDirective {
    ScriptDirective::Say(text.to_owned())
}

fn approve(command: &str) -> ScriptDirective {
    ScriptDirective::Use { tool: ToolUse::Command(command.to_owned()), asks: true }
}

/// What is wrong with a script, and what to do about it.
fn wrong(text: &str) -> String {
    let (line, problem) = from_script(text).unwrap_err();
    format!("{line}: {problem} ({})", problem.hint().unwrap())
}

#[test]
fn prose_is_answered() {
    for text in [
        "",
        "Please fix the tests.",
        "Say hello",
        "think about it; then act",
        "exit now",
        "hang on",
        "write a poem about rust",
        "json is a format",
        "choose wisely",
        "repeat after me",
        "die hard",
    ] {
        assert_eq!(prompt(text), [ScriptDirective::Echo], "{text}");
    }
}

#[test]
fn directives_stand_on_lines_or_between_semicolons() {
    let text = "Do this:\nsay hello; think 0.5s ;approve touch x\n\n  say bye";
    let think = ScriptDirective::Think(Duration::from_millis(500));
    assert_eq!(prompt(text), [say("hello"), think, approve("touch x"), say("bye")]);
}

#[test]
fn a_semicolon_that_no_directive_follows_belongs_to_the_text() {
    assert_eq!(prompt("approve echo a; echo b; say ok"), [approve("echo a; echo b"), say("ok")]);
    assert_eq!(prompt("say one\\; say two"), [say("one; say two")]);
    assert_eq!(prompt("say a;; say b"), [say("a;"), say("b")]);
    assert_eq!(prompt("say hi;"), [say("hi")]);
    assert_eq!(prompt("hang;"), [ScriptDirective::Hang]);
    assert_eq!(prompt("say x; hang"), [say("x"), ScriptDirective::Hang]);
}

#[test]
fn text_has_new_lines_and_commands_are_left_alone() {
    assert_eq!(prompt("say a\\nb"), [say("a\nb")]);
    assert_eq!(prompt("approve printf 'a\\n'"), [approve("printf 'a\\n'")]);
}

#[test]
fn every_directive_is_read_as_its_usage_says() {
    let text = "json [1, 2]\nwrite ./f some text\nask Why?\nchoose A|B\ncost 0.25\nfail oh no\n\
                exit 3\nexit 4 now\nignore-signals\ndouble-fork 2 /tmp/pid\nflood 1_000\n\
                late-writer\nclose-tty 1\nsplit-utf8\ndie sigkill\ndie 15\nhang\ndisobey ls";
    insta::assert_debug_snapshot!(script(text), @r#"
    [
        Json(
            "[1, 2]",
        ),
        Use {
            tool: Write {
                path: "./f",
                text: "some text",
            },
            asks: true,
        },
        Ask(
            "Why?",
        ),
        Choose {
            question: "Choose one:",
            options: [
                "A",
                "B",
            ],
        },
        Cost(
            0.25,
        ),
        Fail(
            "oh no",
        ),
        End(
            Exit {
                code: 3,
                now: false,
            },
        ),
        End(
            Exit {
                code: 4,
                now: true,
            },
        ),
        Trick(
            IgnoreSignals,
        ),
        Trick(
            DoubleFork {
                time: 2s,
                pid_file: Some(
                    "/tmp/pid",
                ),
            },
        ),
        Trick(
            Flood(
                1000,
            ),
        ),
        Trick(
            LateWriter(
                200ms,
            ),
        ),
        End(
            CloseTty(
                1s,
            ),
        ),
        End(
            SplitUtf8,
        ),
        End(
            Die(
                9,
            ),
        ),
        End(
            Die(
                15,
            ),
        ),
        Hang,
        Use {
            tool: Command(
                "ls",
            ),
            asks: false,
        },
    ]
    "#);
}

#[test]
fn a_choice_may_come_with_its_question() {
    let choose = |question: &str| ScriptDirective::Choose {
        question: question.to_owned(),
        options: vec!["red".to_owned(), "dark green".to_owned()],
    };
    assert_eq!(prompt("choose red|dark green"), [choose("Choose one:")]);
    assert_eq!(prompt("choose Which one? red | dark green"), [choose("Which one?")]);
}

#[test]
fn a_mistake_in_a_script_is_told_with_its_line_and_what_to_write() {
    assert_eq!(wrong("say hi\n# fine\naprove ls"), {
        "3: unknown directive \"aprove\" (did you mean \"approve\"?)"
    });
    assert_eq!(wrong("think long"), {
        "1: think: \"long\" is not a number of seconds (write it as `think SECONDS`)"
    });
    assert!(wrong("frobnicate").contains("(the directives are say, json, "));
    for line in [
        "say",
        "think -1",
        "think inf",
        "think NaN",
        "think 1e300",
        "exit 256",
        "exit 1 later",
        "flood -1",
        "flood 99999999999999999999",
        "json {",
        "json",
        "cost -1",
        "cost NaN",
        "choose A",
        "choose A||B",
        "choose 1|2|3|4|5|6|7|8|9|10",
        "write f text",
        "write ./f",
        "die WINCH",
        "die 0",
        "die 99",
        "die -9",
        "die STOP",
        "hang on",
        "repeat 0",
        "repeat 99999999",
    ] {
        assert!(from_script(line).is_err(), "{line}");
        assert_eq!(prompt(line), [ScriptDirective::Echo], "{line}");
    }
}

#[test]
fn comments_and_empty_lines_are_skipped_in_a_script() {
    assert_eq!(script("# one\n\n   # two\r\nsay hi\r\n;\n"), [say("hi")]);
    assert_eq!(script(""), []);
}

#[test]
fn repeat_does_the_rest_that_many_times() {
    assert_eq!(prompt("say a; repeat 3; say b").len(), 4);
    let nested = prompt("repeat 2; say a; repeat 2; say b");
    let letters: Vec<&str> = nested
        .iter()
        .map(|step| match step {
            ScriptDirective::Say(text) => text.as_str(),
            _ => "?",
        })
        .collect();
    assert_eq!(letters, ["a", "b", "b", "a", "b", "b"]);
    assert_eq!(prompt("repeat 5"), []);
    assert_eq!(prompt("repeat 1; say a"), [say("a")]);
    assert_eq!(prompt("repeat 2; repeat 3; say a").len(), 6);
}

#[test]
fn a_program_can_follow_another() {
    let both = from_prompt("say a").then(from_prompt("say b"));
    assert_eq!(both.collect::<Vec<_>>(), [say("a"), say("b")]);
}
