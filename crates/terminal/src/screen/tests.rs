//! The screen where the emulator alone is wrong, where input is hostile, and what is told of
//! changes.

use super::*;
use crate::snapshot::{CellColor, UnderlineStyle};

fn screen(columns: u16, rows: u16, bytes: &str) -> Screen {
    let mut screen = Screen::new(GridSize::new(columns, rows));
    screen.feed(bytes.as_bytes());
    screen
}

#[track_caller]
fn check(columns: u16, rows: u16, bytes: &str, expected: &str) {
    assert_eq!(screen(columns, rows, bytes).snapshot().text(), expected, "{bytes:?}");
}

fn position(screen: &Screen) -> (u16, u16) {
    let cursor = screen.cursor();
    (cursor.row, cursor.column)
}

mod corrections {
    use super::*;

    #[test]
    fn a_pending_wrap_is_gone_after_anything_that_moves_the_cursor() {
        for sequence in
            ["\x1bD\x1bM", "\x0b\x1b[A", "\x1b[B\x1b[A", "\x1b7\x1b8", "\x1b[@", "\x1b[P"]
        {
            let screen = screen(5, 3, &format!("abcde{sequence}"));
            assert!(!screen.cursor().pending_wrap, "{sequence:?}");
            assert_eq!(position(&screen), (0, 4), "{sequence:?}");
        }
        assert!(screen(5, 3, "abcde\x1b[31m").cursor().pending_wrap, "colour moves nothing");
    }

    #[test]
    fn a_pending_wrap_stays_where_only_the_rows_move() {
        check(5, 4, "abcde\x1b[Tx", "\nxbcde");
        check(5, 4, "\r\nabcde\x1b[Sx", "abcde\n\nx");
        check(5, 4, "abcde\x1b[?47h\x1b[?47lx", "abcde\nx");
    }

    #[test]
    fn a_character_is_repeated_in_insert_mode_too() {
        check(10, 1, "abc\x1b[1;1H\x1b[4h!\x1b[2b", "!!!abc");
    }

    #[test]
    fn erasing_to_the_end_leaves_a_line_that_was_just_filled() {
        check(5, 2, "abcde\x1b[K", "abcde");
        check(5, 2, "abcde\x1b[J", "abcde");
        check(5, 2, "abcd\x1b[K", "abcd");
    }

    #[test]
    fn cursor_up_and_down_stop_at_the_margins() {
        assert_eq!(position(&screen(10, 10, "\x1b[3;6r\x1b[4;2H\x1b[9A")), (2, 1));
        assert_eq!(position(&screen(10, 10, "\x1b[3;6r\x1b[4;2H\x1b[9B")), (5, 1));
        assert_eq!(position(&screen(10, 10, "\x1b[3;6r\x1b[2;2H\x1b[9A")), (0, 1), "from above");
        assert_eq!(position(&screen(10, 10, "\x1b[3;6r\x1b[8;2H\x1b[9B")), (9, 1), "from below");
        assert_eq!(
            position(&screen(10, 10, "\x1b[3;6r\x1b[?6h\x1b[2;2H\x1b[7G")),
            (3, 6),
            "origin"
        );
    }

    #[test]
    fn margins_that_hold_no_two_rows_are_refused() {
        for margins in ["5;5", "6;2", "20;30", "11;11"] {
            let screen = screen(10, 10, &format!("\x1b[2;2H\x1b[{margins}r"));
            assert_eq!(screen.engine.margins(), (0, 10), "{margins}");
            assert_eq!(position(&screen), (1, 1), "{margins}");
        }
    }

    #[test]
    fn the_three_ways_to_the_alternate_screen_differ_as_they_should() {
        check(10, 3, "main\x1b[?1049halt\x1b[?1049l!", "main!");
        check(10, 3, "main\x1b[?1047h\x1b[Halt\x1b[?1047l!", "mai!");
        check(10, 3, "main\x1b[?47h\x1b[Halt\x1b[?47l\x1b[?47h", "alt");
        check(10, 3, "main\x1b[?1047h\x1b[Halt\x1b[?1047l\x1b[?1047h", "");
        check(10, 3, "main\x1b[?1049h\x1b[Halt\x1b[?1049h", "");
        assert!(!screen(10, 3, "\x1b[?1049h\x1b[?1047l").modes().alternate_screen);
    }

    #[test]
    fn a_stray_way_out_of_the_alternate_screen_does_nothing() {
        let screen = screen(10, 3, "\x1b7ab\r\ncd\x1b[?1049l");
        assert_eq!(position(&screen), (1, 2));
    }

    #[test]
    fn emoji_take_the_columns_programs_count_for_them() {
        for (text, width) in [
            ("❤\u{fe0f}", 2),
            ("⚠\u{fe0f}", 2),
            ("❤", 1),
            ("👍🏽", 2),
            ("👨\u{200d}👩\u{200d}👧", 2),
            ("🏳\u{fe0f}\u{200d}🌈", 2),
            ("1\u{fe0f}\u{20e3}", 2),
            ("e\u{301}", 1),
            ("漢", 2),
            ("\u{1f1e9}\u{1f1ea}", 2),
        ] {
            let mut screen = screen(20, 2, text);
            assert_eq!(screen.cursor().column, width, "{text}");
            screen.feed(b"|");
            assert_eq!(screen.snapshot().text(), format!("{text}|"));
        }
    }

    #[test]
    fn an_emoji_does_not_grow_beyond_the_last_column() {
        let mut screen = screen(4, 2, "abc❤\u{fe0f}d");
        assert_eq!(screen.snapshot().text(), "abc❤\nd");
    }

    #[test]
    fn what_was_printed_elsewhere_is_not_joined() {
        check(10, 2, "\x1b[1;3H🏽\x1b[1;1H👍\x1b[1;5H.", "👍🏽.");
        assert_eq!(screen(10, 2, "👍\x1b[m🏽").cursor().column, 4);
    }

    #[test]
    fn no_half_of_a_wide_character_is_ever_left() {
        check(8, 1, "漢字\x1b[1;2H\x1b[X", "  字");
        check(8, 1, "漢字\x1b[1;2Hx", " x字");
        check(8, 1, "漢字\x1b[1;2H\x1b[K", "");
        check(8, 1, "漢字\x1b[1;4H\x1b[1K", "");
        check(8, 1, "a漢字\x1b[1;3H\x1b[P", "a 字");
        check(8, 1, "漢字漢字\x1b[1;1H\x1b[@", " 漢字漢");
        check(8, 1, "漢字\x1b[4h\x1b[1;2Hx", " x 字");
        let mut screen = screen(8, 1, "\x1b[?1049h漢字漢字");
        screen.resize(GridSize::new(5, 1));
        assert_eq!(screen.snapshot().text(), "漢字");
    }

    #[test]
    fn deleting_more_than_is_there_leaves_what_is_left_of_the_cursor() {
        check(10, 1, "0123456789\x1b[1;5H\x1b[99P", "0123");
        check(10, 1, "0123456789\x1b[1;5H\x1b[99@", "0123");
        check(10, 1, "0123456789\x1b[1;5H\x1b[99X", "0123");
    }

    #[test]
    fn clearing_above_the_second_row_clears_the_first() {
        check(10, 3, "one\r\ntwo\x1b[1J", "");
    }

    #[test]
    fn a_line_is_repeated_only_right_after_its_character() {
        check(20, 2, "x\x1b[5b", "xxxxxx");
        check(20, 2, "x\x1b[m\x1b[5b", "x");
        check(20, 2, "漢\x1b[2b", "漢漢漢");
    }

    #[test]
    fn attributes_of_every_form_arrive() {
        let mut screen = screen(
            40,
            1,
            "\x1b[1;3;4:3;38:2::1:2:3;48;5;200;58:5:9mx\x1b[m\x1b]8;id=a;http://b\x1b\\y\x1b]8;;\x1b\\",
        );
        let snapshot = screen.snapshot();
        let [styled, link] = snapshot.rows()[0].runs() else { panic!("two runs") };
        assert_eq!(styled.style.foreground, CellColor::Rgb(1, 2, 3));
        assert_eq!(styled.style.background, CellColor::Indexed(200));
        assert_eq!(styled.style.underline_color, Some(CellColor::Indexed(9)));
        assert_eq!(styled.style.underline, UnderlineStyle::Curly);
        assert!(styled.style.attributes.bold && styled.style.attributes.italic);
        assert_eq!(link.style.link.as_ref().unwrap().uri, "http://b");
        assert_eq!((link.column, link.length), (1, 1));
    }
}

mod sizes {
    use super::*;

    #[test]
    fn any_size_is_brought_into_range() {
        let mut screen = screen(80, 24, "hello");
        for (size, found) in [
            ((0, 0), (2, 1)),
            ((65535, 65535), (2000, 1000)),
            ((1, 1), (2, 1)),
            ((80, 24), (80, 24)),
        ] {
            screen.resize(GridSize { columns: size.0, rows: size.1 });
            assert_eq!(screen.size(), GridSize::new(found.0, found.1));
            screen.feed("漢字 x\r\n\x1b[999;999H!".as_bytes());
            screen.snapshot();
            screen.dump();
        }
    }

    #[test]
    fn lines_are_wrapped_anew_and_nothing_is_lost() {
        let text = "The quick brown fox jumps over the lazy dog.";
        let mut screen = screen(60, 4, text);
        screen.resize(GridSize::new(12, 4));
        let wrapped = screen.snapshot();
        let line = wrapped.lines().next().unwrap();
        assert_eq!((line.text.as_ref(), line.rows), (text, 0..4));
        screen.resize(GridSize::new(60, 4));
        assert_eq!(screen.snapshot().text(), text);
    }

    #[test]
    fn rows_pushed_off_by_a_smaller_size_come_back() {
        let mut screen = screen(20, 10, "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8");
        screen.resize(GridSize::new(20, 3));
        assert_eq!(screen.snapshot().text(), "6\n7\n8");
        screen.resize(GridSize::new(20, 10));
        assert_eq!(screen.snapshot().text(), "1\n2\n3\n4\n5\n6\n7\n8");
    }

    #[test]
    fn a_colour_left_in_a_row_does_not_come_back_after_a_new_size() {
        let mut screen = screen(6, 3, "\x1b[42m\x1b[2J\x1b[m");
        screen.resize(GridSize::new(11, 3));
        screen.feed(b"\x1b[2J");
        assert!(screen.snapshot().rows().iter().all(|row| row.runs().is_empty()));
    }
}

mod hostile {
    use super::*;

    #[test]
    fn a_line_of_ten_megabytes_is_only_its_end() {
        let mut screen = Screen::new(GridSize::new(80, 24));
        let chunk = [b'x'; 10_000];
        for _ in 0..1000 {
            screen.feed(&chunk);
        }
        assert_eq!(screen.snapshot().text().len(), 80 * 24 + 23);
        assert!(history(&screen) <= Options::default().history);
    }

    fn history(screen: &Screen) -> usize {
        use alacritty_terminal::grid::Dimensions;
        screen.engine.grid().history_size()
    }

    #[test]
    fn endless_strings_leave_nothing_and_end() {
        let mut screen = Screen::new(GridSize::new(80, 24));
        for intro in ["\x1b]0;", "\x1bPq", "\x1b_", "\x1b^", "\x1bX", "\x1bP\x1bP\x1bP"] {
            screen.feed(intro.as_bytes());
            for _ in 0..100 {
                screen.feed(&[b'z'; 10_000]);
            }
            assert!(screen.parser.pending().len() <= crate::parser::MAX_OSC + 2, "{intro:?}");
            screen.feed(b"\x1b\\");
        }
        screen.feed(b"ok");
        assert_eq!(screen.snapshot().text(), "ok");
        assert_eq!(screen.title(), "");
    }

    #[test]
    fn huge_counts_take_no_longer_than_the_screen_is_large() {
        let mut screen = Screen::new(GridSize::new(80, 24));
        for last in "@ABCDEFGHIJKLMPSTXZabcdefgr".chars() {
            for _ in 0..1000 {
                screen.feed(format!("x\x1b[99999999{last}").as_bytes());
            }
        }
        for sequence in ["\x1b[9999999 @", "\x1b[9999999 A", "\x1b[9999999'}", "\x1b[9999999'~"] {
            screen.feed(sequence.as_bytes());
        }
        screen.snapshot();
    }

    #[test]
    fn repeating_ends_where_a_longer_one_would() {
        for count in [0, 1, 79, 80, 81, 2000, 5000, 65535] {
            let mut long = screen(80, 24, "x");
            long.feed(&vec![b'x'; count.max(1)]);
            let mut repeated = screen(80, 24, &format!("x\x1b[{count}b"));
            assert_eq!(repeated.snapshot(), long.snapshot(), "{count}");
        }
    }

    #[test]
    fn everything_that_piles_up_is_bounded() {
        let mut screen = Screen::new(GridSize::new(80, 24));
        screen.feed("\x1b[>1u".repeat(5000).as_bytes());
        assert!(screen.engine.kitty().stack.len() <= 32);
        screen.feed("\x1b]0;t\x07\x1b[22t".repeat(5000).as_bytes());
        assert!(screen.engine.titles.len() <= 16);
        assert!(screen.engine.signals.len() <= 4096);
        screen.feed("\x07".repeat(10_000).as_bytes());
        assert_eq!(screen.take_signals().len(), 4096);
        screen.feed(format!("a{}", "\u{301}".repeat(100_000)).as_bytes());
        assert!(screen.snapshot().text().len() < 100);
        screen.feed("\x1b]4;1;#fff\x07".repeat(1000).as_bytes());
        assert_eq!(screen.engine.palette().overrides().count(), 1);
    }

    #[test]
    fn bytes_that_mean_nothing_do_nothing() {
        check(10, 2, "a\0\0\x01\x02\x05b", "ab");
        let mut screen = Screen::new(GridSize::new(10, 2));
        screen.feed(b"\xff\xfe\x80");
        assert_eq!(screen.snapshot().text(), "\u{fffd}\u{fffd}\u{fffd}");
        for byte in 0..=255 {
            screen.feed(&[0x1b, byte, b'[', byte, byte]);
        }
    }
}

mod changes {
    use super::*;

    #[test]
    fn a_new_screen_has_changed_and_a_quiet_one_has_not() {
        let mut screen = Screen::new(GridSize::new(20, 5));
        assert_eq!(screen.take_damage(), ScreenDamage::Full);
        assert_eq!(screen.take_damage(), ScreenDamage::None);
        screen.feed(b"\x1b[m\x1b[c");
        assert_eq!(screen.take_damage(), ScreenDamage::None);
    }

    #[test]
    fn rows_are_told_apart_from_cursor_title_and_modes() {
        let mut screen = Screen::new(GridSize::new(20, 5));
        screen.take_damage();
        screen.feed(b"\x1b[2;1Hx\x1b[4;1Hy");
        assert_eq!(screen.take_damage(), ScreenDamage::Rows(vec![1, 3]));
        for state in ["\x1b[H", "\x1b]0;t\x07", "\x1b[?2004h", "\x1b[?25l", "\x1b[>1u", "\x1b[4 q"]
        {
            screen.feed(state.as_bytes());
            assert_eq!(screen.take_damage(), ScreenDamage::State, "{state:?}");
        }
        screen.feed(b"\x1b[5;1H\n");
        assert_eq!(screen.take_damage(), ScreenDamage::Full, "scrolled");
    }

    /// Every change a snapshot shows is told as damage, whatever the bytes.
    #[test]
    fn no_change_goes_untold() {
        let pieces = [
            "abc",
            "漢字",
            "❤\u{fe0f}",
            "\x1b[2;3H",
            "\x1b[K",
            "\x1b[2J",
            "\x1b[L",
            "\x1b[M",
            "\x1b[@",
            "\x1b[P",
            "\x1b[X",
            "\x1b[S",
            "\x1b[T",
            "\r\n",
            "\n",
            "\x1bM",
            "\x1b#8",
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1bc",
            "\x1b[ @",
            "\x1b['}",
            "\x1b[44m",
            "0123456789abcdef",
            "\x1b[4h",
            "\x1b[1J",
        ];
        let mut screen = Screen::new(GridSize::new(12, 6));
        screen.take_damage();
        let mut before = screen.snapshot();
        for round in 0..20_000_usize {
            let piece = pieces[round.wrapping_mul(2_654_435_761) / 7 % pieces.len()];
            screen.feed(piece.as_bytes());
            // A screen that never kept a snapshot reads every row anew.
            screen.engine.rows.clear();
            let after = screen.snapshot();
            let damage = screen.take_damage();
            for row in 0..6 {
                let changed = before.rows()[row] != after.rows()[row];
                let told = match &damage {
                    ScreenDamage::Full => true,
                    ScreenDamage::Rows(rows) => {
                        // A row also changes where the next one decides how its line goes on.
                        rows.contains(&(row as u16)) || rows.contains(&(row as u16 + 1))
                    }
                    ScreenDamage::None | ScreenDamage::State => false,
                };
                assert!(!changed || told, "row {row} after {piece:?} in round {round}: {damage:?}");
            }
            before = after;
        }
    }

    #[test]
    fn a_frame_in_the_making_is_told_by_its_mode() {
        let mut screen = screen(20, 5, "\x1b[?2026hhalf");
        assert!(screen.modes().synchronized);
        screen.feed(b" whole\x1b[?2026l");
        assert!(!screen.modes().synchronized);
        assert_eq!(screen.snapshot().text(), "half whole");
    }

    #[test]
    fn signals_and_key_modes_come_from_the_same_bytes() {
        let mut screen = screen(20, 5, "\x1b]0;t\x07\x07\x1b[?1h\x1b[?2004h\x1b[>7u");
        assert_eq!(
            screen.take_signals(),
            [TerminalSignal::Title("t".into()), TerminalSignal::Bell]
        );
        let keys = screen.key_modes();
        assert!(keys.application_cursor && keys.bracketed_paste);
        assert_eq!(keys.kitty.bits(), 7);
        screen.feed(b"\x1b[<u");
        assert_eq!(screen.key_modes().kitty.bits(), 0);
    }
}
