//! What belongs to a question that no rule knows: it is one question whatever moves beside it, and
//! it is cut where a part of it has left the screen.

use coven_model::ContentDigest;
use coven_terminal::screen::{GridSize, Screen};

use super::*;

/// A screen on which something is printed every 300 ms.
struct Repainted {
    screen: Screen,
    sniffer: ScreenSniffer,
    now: u64,
}

impl Repainted {
    fn new(text: &str) -> Self {
        let screen = Screen::new(GridSize::new(80, 24));
        let sniffer = ScreenSniffer::new(compiled(r#"{"states": {}}"#));
        let mut shown = Self { screen, sniffer, now: 0 };
        shown.prints(text);
        shown
    }

    /// The question after this was printed.
    fn prints(&mut self, text: &str) -> Option<ContentDigest> {
        self.screen.feed(text.as_bytes());
        self.sniffer.printed(ms(self.now));
        self.sniffer.read_screen(&self.screen.snapshot(), ms(self.now));
        self.now += 300;
        while let Some(due) = self.sniffer.deadline().filter(|due| *due <= ms(self.now)) {
            self.sniffer.tick(due);
            self.sniffer.take_unexplained(due);
        }
        self.sniffer.verdict().digest.clone()
    }
}

/// What moves beside a question, by the number of its picture.
fn motions(step: u32) -> Vec<String> {
    let turn = |pictures: &str| pictures.chars().cycle().nth(step as usize).unwrap();
    vec![
        format!("{} building", turn("⠋⠙⠹⠸⠼⠴")),
        format!("{} building", turn("|/-\\")),
        format!("Downloading {step}%"),
        format!("[{:<20}]", "#".repeat(step as usize)),
        format!("fetched item {step}"),
        format!("{step} files, ETA 0:{step:02}"),
    ]
}

#[test]
fn what_moves_above_a_question_makes_no_other_question() {
    let menu = "\x1b[3;1HWhat to do?\r\n\u{276f} Apply patch\r\n  Skip patch\r\n  Quit\r\n";
    let below = "Sign-in is done.\r\n\r\nPress Enter to continue ";
    for asked in ["Overwrite config? (y/n) ", "[y/N] ", below, "Go on?\r\n[ Yes ]  [ No ]", menu] {
        for moving in 0..motions(0).len() {
            // One that says nothing itself is about what stands above it, whatever that is.
            if asked == "[y/N] " && moving >= 4 {
                continue;
            }
            let text = format!("\x1b[3;1H{asked}");
            let mut shown = Repainted::new(&text);
            let mut digests = Vec::new();
            for step in 0..20 {
                let motion = &motions(step)[moving];
                let digest = shown.prints(&format!("\x1b7\x1b[1;50H\x1b[K{motion}\x1b8"));
                digests.extend(digest);
                assert!(digests.is_empty() || shown.sniffer.shows_question(), "{asked} {motion}");
            }
            assert!(digests.len() > 10, "{asked}");
            digests.dedup();
            assert_eq!(digests.len(), 1, "{asked} {:?}", motions(1)[moving]);
        }
    }
}

#[test]
fn a_picture_that_turns_right_above_a_question_makes_no_other_question() {
    for moving in [0, 1, 2, 3] {
        let mut shown = Repainted::new("\x1b[2;1HOverwrite config? (y/n) ");
        let prints = |step| format!("\x1b7\x1b[1;1H\x1b[K{}\x1b8", motions(step)[moving]);
        let mut digests: Vec<_> = (0..20).filter_map(|step| shown.prints(&prints(step))).collect();
        digests.dedup();
        assert_eq!(digests.len(), 1, "{:?}", motions(1)[moving]);
    }
}

#[test]
fn a_picture_that_turns_in_a_question_that_is_only_announced_makes_no_other_question() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("ask"), ms(0));
    let mut digests = Vec::new();
    for step in 0..20 {
        let now = u64::from(step) * 300;
        sniffer
            .look_at_text(&format!("{}\na dialog of the next version", motions(step)[0]), ms(now));
        sniffer.tick(ms(now + 200));
        digests.extend(sniffer.verdict().digest.clone());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
}

#[test]
fn a_question_whose_own_words_change_is_another_one() {
    for (first, second) in [
        ("Overwrite a.txt? (y/n) ", "Overwrite b.txt? (y/n) "),
        ("Use 50% of the disk? (y/n) ", "Use 90% of the disk? (y/n) "),
        ("Delete a.txt\r\nContinue? (y/n) ", "Delete b.txt\r\nContinue? (y/n) "),
        ("Delete a.txt\r\n\r\n[ Yes ]  [ No ]", "Delete b.txt\r\n\r\n[ Yes ]  [ No ]"),
        (
            "Delete a.txt?\r\n\u{276f} 1. Yes\r\n  2. No",
            "Delete b.txt?\r\n\u{276f} 1. Yes\r\n  2. No",
        ),
        ("Which?\r\n\u{276f} 1. a\r\n  2. b", "Which?\r\n\u{276f} 1. a\r\n  2. c"),
        ("Which?\r\n\u{276f} 1. a\r\n  2. b", "Which?\r\n  1. a\r\n\u{276f} 2. b"),
    ] {
        let mut shown = Repainted::new(&format!("\x1b[2J\x1b[H{first}"));
        let rest = |shown: &mut Repainted| (0..10).filter_map(|_| shown.prints("")).last();
        let before = rest(&mut shown).unwrap();
        shown.prints(&format!("\x1b[2J\x1b[H{second}"));
        let after = rest(&mut shown).unwrap();
        assert_ne!(before, after, "{second}");
    }
}

/// The same words below the ones that were answered are the next question, and not an answer that
/// was not taken.
#[test]
fn the_same_question_below_the_one_that_was_answered_is_told_as_the_next() {
    let menu = "Which?\r\n\u{276f} 1. a\r\n  2. b\r\n";
    for asked in ["Continue? (y/n) ", menu] {
        let mut shown = Repainted::new(asked);
        let rest = |shown: &mut Repainted| (0..20).filter_map(|_| shown.prints("")).last();
        let mut last = rest(&mut shown).unwrap();
        for _ in 0..12 {
            shown.sniffer.typed(ms(shown.now));
            shown.prints(&format!("y\r\n\r\n{asked}"));
            let next = rest(&mut shown).unwrap();
            assert_ne!(next, last, "{asked}");
            assert!(!shown.sniffer.question_is_repeated(), "{asked}");
            last = next;
        }
    }
}

fn is_cut(text: &str) -> bool {
    let mut shown = Repainted::new(text);
    (0..10).for_each(|_| drop(shown.prints("")));
    assert_eq!(shown.sniffer.verdict().state, AgentState::Awaiting, "{text}");
    shown.sniffer.asked_action().truncated
}

#[test]
fn a_question_that_has_left_the_screen_at_its_top_is_cut() {
    let long = format!("{}? (y/n) ", "many words ".repeat(460));
    let hunk = |lines: usize| {
        let lines: String = (0..lines)
            .map(|line| match line % 5 {
                0 => " \r\n".to_owned(),
                1 => format!("-old {line}\r\n"),
                2 => format!("+new {line}\r\n"),
                _ => format!(" line {line}\r\n"),
            })
            .collect();
        format!("@@ -1,120 +1,120 @@\r\n{lines}(1/1) Stage this hunk [y,n,q,a,d,e,?]? ")
    };
    let output = "a line of output\r\n".repeat(40);
    let mark = |entry: u32| if entry == 35 { '\u{276f}' } else { ' ' };
    let entries: String = (1..40).map(|entry| format!("{} {entry}. b\r\n", mark(entry))).collect();
    assert!(is_cut(&long));
    assert!(is_cut(&hunk(120)));
    assert!(is_cut(&format!("Which?\r\n{entries}")));
    assert!(!is_cut(&format!("{output}\r\n{}", hunk(10))));
    assert!(!is_cut(&format!("{output}\r\nOverwrite? (y/n) ")));
    assert!(!is_cut("Overwrite? (y/n) "));
    assert!(!is_cut(&format!("{output}\x1b[2J\x1b[HOverwrite? (y/n) ")));
    assert!(!is_cut(&format!("{output}\r\nWhich?\r\n\u{276f} 1. a\r\n  2. b")));
}

#[test]
fn the_excerpt_has_all_of_a_question_that_is_on_the_screen() {
    let lines: String = (1..20).map(|line| format!("step {line}\r\n")).collect();
    let mut shown = Repainted::new(&format!("{lines}Go on? (y/n) "));
    (0..10).for_each(|_| drop(shown.prints("")));
    assert_eq!(shown.sniffer.excerpt().first().map(String::as_str), Some("step 1"));
}
