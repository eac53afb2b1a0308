//! Programs that print, paint, repaint and resize, and the lines that remain of it.

use super::*;

fn log(columns: u16, rows: u16) -> ScreenLog {
    ScreenLog::new(GridSize::new(columns, rows))
}

fn lines(log: &mut ScreenLog) -> Vec<String> {
    log.lines_from(0).lines
}

/// A frame of a program that paints its whole screen at once.
fn frame(rows: &[String]) -> String {
    let mut bytes = "\x1b[?2026h\x1b[H".to_owned();
    for (at, row) in rows.iter().enumerate() {
        bytes += &format!("\x1b[{};1H{row}\x1b[K", at + 1);
    }
    bytes + "\x1b[?2026l"
}

/// The lines of a conversation of which the last fit above a prompt of two rows.
fn conversation(said: usize, rows: usize) -> Vec<String> {
    let all: Vec<String> = (0..said).map(|number| format!("said {number}")).collect();
    let mut shown = all[said.saturating_sub(rows - 2)..].to_vec();
    shown.resize(rows - 2, String::new());
    shown.extend(["────────".to_owned(), format!("> {said} so far")]);
    shown
}

#[test]
fn lines_that_scrolled_off_and_lines_on_the_screen_are_there_once() {
    let mut log = log(20, 5);
    let broken = "x".repeat(70);
    let mut printed: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    printed.insert(7, broken);
    printed.extend(["same".to_owned(), "same".to_owned(), String::new(), "same".to_owned()]);
    for line in &printed {
        log.feed(line.as_bytes());
        log.feed(b"\r\n");
    }
    assert_eq!(lines(&mut log), printed);
    assert_eq!(log.end(), printed.len() as u64);
    assert_eq!(log.lines_from(32).lines, printed[32..]);
    assert_eq!(log.lines_from(33).first, 33);
}

#[test]
fn a_line_whose_beginning_has_scrolled_off_is_whole() {
    let mut log = log(10, 3);
    let letters: String = ('a'..='z').cycle().take(55).collect();
    log.feed(letters.as_bytes());
    assert_eq!(lines(&mut log), [letters]);
}

#[test]
fn what_is_overwritten_is_there_as_it_stood_last() {
    let mut log = log(40, 4);
    log.feed(b"building 10%\rbuilding 55%\rbuilding 100%\r\nthinking.\x1b[2K\rdone\r\n");
    assert_eq!(lines(&mut log), ["building 100%", "done"]);
}

#[test]
fn a_program_that_prints_everything_again_is_there_once() {
    let mut log = log(30, 6);
    let mut said = Vec::new();
    for number in 0..40 {
        said.push(format!("said {number}"));
        // As Ink does once its text is higher than the screen.
        log.feed(b"\x1b[2J\x1b[3J\x1b[H");
        log.feed(said.join("\r\n").as_bytes());
        log.feed(format!("\r\nworking {number}s\r\n> type here").as_bytes());
    }
    let mut expected = said;
    expected.extend(["working 39s".to_owned(), "> type here".to_owned()]);
    assert_eq!(lines(&mut log), expected);
}

#[test]
fn words_that_change_in_a_text_printed_again_are_there_as_they_stood_last() {
    let mut log = log(30, 4);
    for seconds in 0..5 {
        log.feed(b"\x1b[2J\x1b[3J\x1b[H");
        for line in ["header", &format!("thought for {seconds}s"), "a", "b", "c", "d", "> "] {
            log.feed(format!("{line}\r\n").as_bytes());
        }
    }
    assert_eq!(lines(&mut log), ["header", "thought for 4s", "a", "b", "c", "d", ">"]);
}

#[test]
fn a_reader_learns_from_where_on_lines_changed() {
    let mut log = log(30, 4);
    let mut copy: Vec<String> = Vec::new();
    for round in 0..30 {
        if round % 7 == 3 {
            log.feed(b"\x1b[2J\x1b[3J\x1b[H");
        }
        let begin = if round % 7 == 3 { 0 } else { round };
        for number in begin..=round {
            let mark = if number == round / 2 { "*" } else { "" };
            log.feed(format!("line {number}{mark}\r\n").as_bytes());
        }
        let from = log.take_changed();
        copy.truncate(usize::try_from(from).unwrap());
        let LogLines { lines: new, standing, .. } = log.lines_from(from);
        copy.extend(new[..new.len() - standing].iter().cloned());
        let LogLines { lines: all, standing, .. } = log.lines_from(0);
        assert_eq!(copy, all[..all.len() - standing], "round {round}");
    }
}

#[test]
fn a_screen_erased_for_something_else_keeps_what_was_there_before() {
    let mut log = log(30, 3);
    for number in 0..6 {
        log.feed(format!("first {number}\r\n").as_bytes());
    }
    log.feed(b"\x1b[H\x1b[2J\x1b[3J");
    for number in 0..6 {
        log.feed(format!("second {number}\r\n").as_bytes());
    }
    let text = lines(&mut log).join("\n");
    assert!(text.starts_with("first 0\nfirst 1\nfirst 2\nfirst 3\nsecond 0"), "{text}");
    assert!(text.ends_with("second 4\nsecond 5"), "{text}");
}

#[test]
fn a_conversation_on_the_alternate_screen_is_there_once() {
    let mut log = log(40, 10);
    log.feed(b"before\r\n\x1b[?1049h");
    for said in 1..=50 {
        log.feed(frame(&conversation(said, 10)).as_bytes());
    }
    let mut expected: Vec<String> = (0..50).map(|number| format!("said {number}")).collect();
    expected.extend(["────────".to_owned(), "> 50 so far".to_owned()]);
    assert_eq!(lines(&mut log), expected);

    // Looking back in it, and down again, says nothing twice.
    for back in (30..50).rev().chain(31..=50) {
        log.feed(frame(&conversation(back, 10)).as_bytes());
    }
    assert_eq!(lines(&mut log), expected);

    log.feed(b"\x1b[H\x1b[2J\x1b[?1049lbye\r\n");
    expected.extend(["before".to_owned(), "bye".to_owned()]);
    assert_eq!(lines(&mut log), expected, "its last picture stays when it gives the screen back");
}

#[test]
fn a_line_that_goes_away_below_others_did_not_scroll_off() {
    let mut log = log(40, 9);
    log.feed(b"\x1b[?1049h");
    let rows = |middle: &[&str]| -> Vec<String> {
        let mut rows = vec!["one", "two", "three", "four"];
        rows.extend(middle);
        rows.extend(["────", "> prompt", "────"]);
        rows.resize(9, "");
        rows.into_iter().map(str::to_owned).collect()
    };
    log.feed(frame(&rows(&["* Working (3s)", ""])).as_bytes());
    log.feed(frame(&rows(&[])).as_bytes());
    assert_eq!(lines(&mut log), rows(&[])[..7]);
}

#[test]
fn another_size_and_back_loses_and_doubles_nothing() {
    let mut log = log(20, 8);
    let printed: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    log.feed(printed.join("\r\n").as_bytes());
    for (columns, rows) in [(20, 3), (20, 8), (8, 5), (30, 12), (20, 8)] {
        log.resize(GridSize::new(columns, rows));
        assert_eq!(lines(&mut log), printed, "{columns}x{rows}");
    }
}

#[test]
fn memory_is_bounded_and_numbers_go_on() {
    let mut log = log(200, 3);
    let line = "y".repeat(150) + "\r\n";
    let many = line.repeat(1000);
    for _ in 0..80 {
        log.feed(many.as_bytes());
    }
    let kept = log.lines_from(0);
    assert!(kept.first > 0 && kept.lines.len() < 60_000, "{}", kept.lines.len());
    assert_eq!(kept.first + kept.lines.len() as u64, 80_000);
}
