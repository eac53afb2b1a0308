//! Signals, whole and split anywhere, and everything that must not be one.

use super::*;

fn tap(chunks: &[&[u8]]) -> Vec<TerminalSignal> {
    let mut tap = SignalTap::new();
    let mut signals = Vec::new();
    for chunk in chunks {
        tap.feed(chunk, |signal| signals.push(signal));
    }
    signals
}

#[track_caller]
fn check(input: &str, expected: &[TerminalSignal]) {
    let input = input.as_bytes();
    assert_eq!(tap(&[input]), expected, "whole");
    for at in 0..=input.len() {
        assert_eq!(tap(&[&input[..at], &input[at..]]), expected, "split at {at}");
    }
}

fn note(title: Option<&str>, body: &str) -> TerminalSignal {
    TerminalSignal::Notification { title: title.map(str::to_owned), body: body.to_owned() }
}

fn status(state: ProgramState) -> ProgramStatus {
    ProgramStatus {
        state,
        app: None,
        id: None,
        kind: None,
        progress: None,
        title: None,
        message: None,
    }
}

#[test]
fn titles_come_with_either_ending_and_keep_their_semicolons() {
    check(
        "\x1b]0;✳ Claude; Code\x07x\x1b]2;b\x1b\\",
        &[TerminalSignal::Title("✳ Claude; Code".into()), TerminalSignal::Title("b".into())],
    );
    check("\x1b]1;icon\x07\x1b]0\x07", &[]);
}

#[test]
fn directories_and_links() {
    check("\x1b]7;file://host/tmp\x07", &[TerminalSignal::Directory("file://host/tmp".into())]);
    check("\x1b]9;9;\"/tmp\"\x07", &[TerminalSignal::Directory("/tmp".into())]);
    check("\x1b]7;nonsense\x07", &[]);
    check(
        "\x1b]8;id=1;http://a/?b;c\x1b\\text\x1b]8;;\x1b\\",
        &[
            TerminalSignal::Link { id: Some("1".into()), uri: "http://a/?b;c".into() },
            TerminalSignal::LinkEnd,
        ],
    );
}

#[test]
fn notifications_of_three_kinds_and_progress() {
    check("\x1b]9;done\x07", &[note(None, "done")]);
    check(
        "\x1b]777;notify;Gemini;Approval | required\x07",
        &[note(Some("Gemini"), "Approval | required")],
    );
    check(
        "\x1b]99;i=1:d=0;Hello\x1b\\\x1b]99;i=1:p=body:e=1;d29ybGQ=\x1b\\",
        &[note(Some("Hello"), ""), note(None, "world")],
    );
    check("\x1b]99;i=1:p=?;\x1b\\\x1b]777;other;x\x07", &[]);
    check(
        "\x1b]9;4;1;40\x07\x1b]9;4;0\x07\x1b]9;4;1;400\x07",
        &[TerminalSignal::Progress(Some(40)), TerminalSignal::Progress(None)],
    );
}

#[test]
fn shell_marks() {
    check(
        "\x1b]133;A\x07$ \x1b]133;B\x07ls\x1b]133;C;x=y\x07\x1b]133;D;2\x07\x1b]133;D\x07",
        &[
            TerminalSignal::Prompt(PromptMark::PromptStart),
            TerminalSignal::Prompt(PromptMark::CommandStart),
            TerminalSignal::Prompt(PromptMark::OutputStart),
            TerminalSignal::Prompt(PromptMark::CommandEnd(Some(2))),
            TerminalSignal::Prompt(PromptMark::CommandEnd(None)),
        ],
    );
}

#[test]
fn program_status_with_and_without_its_extras() {
    check("\x1b]7501;?\x1b\\", &[TerminalSignal::StatusQuery]);
    check(
        "\x1b]7501;state=blocked:app=codex:kind=permission\x1b\\",
        &[TerminalSignal::Status(ProgramStatus {
            app: Some("codex".into()),
            kind: Some("permission".into()),
            ..status(ProgramState::Blocked)
        })],
    );
    check(
        "\x1b]7501;state=working:app=claude-code:id=7:progress=40:new=x:msg=YXBwcm92ZQ==\x1b\\",
        &[TerminalSignal::Status(ProgramStatus {
            app: Some("claude-code".into()),
            id: Some("7".into()),
            progress: Some(40),
            message: Some("approve".into()),
            ..status(ProgramState::Working)
        })],
    );
    check("\x1b]7501;state=clear\x1b\\", &[TerminalSignal::Status(status(ProgramState::Clear))]);
}

#[test]
fn payloads_that_do_not_fit_are_ignored() {
    for payload in [
        "7501;state=dancing",
        "7501;app=x",
        "7501;state",
        "7501;state=idle:progress=900",
        "7501;state=idle:msg=%%%",
        "7501;",
        "133;Z",
        "9;",
        "8;only-one",
        "notanumber;x",
        ";x",
        "",
    ] {
        check(&format!("\x1b]{payload}\x07"), &[]);
    }
    assert_eq!(tap(&[b"\x1b]0;\xff\xfe\x07"]), [], "not UTF-8");
    assert_eq!(tap(&[b"\x1b]0;cut off\x18"]), [], "cancelled");
    let endless = [b"\x1b]0;".as_slice(), &vec![b'x'; 1 << 20], b"\x07\x1b]0;ok\x07"].concat();
    assert_eq!(tap(&[&endless]), [TerminalSignal::Title("ok".into())], "over the limit");
}

#[test]
fn a_bell_is_a_bell_only_outside_strings() {
    check("a\x07b", &[TerminalSignal::Bell]);
    check("\x1b]0;t\x07", &[TerminalSignal::Title("t".into())]);
    check("\x1bPq\x07\x1b\\\x1b_\x07\x1b\\", &[]);
    check("\x1b[1\x07m", &[TerminalSignal::Bell]);
}

#[test]
fn control_characters_inside_a_title_are_dropped() {
    check("\x1b]0;a\tb\u{9b}c\x07", &[TerminalSignal::Title("abc".into())]);
}
