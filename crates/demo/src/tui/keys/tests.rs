//! Keys, from whole and torn bytes.

use super::*;

const START: Duration = Duration::ZERO;

fn keys(bytes: &[u8]) -> Vec<TuiKey> {
    let mut reader = KeyDecoder::default();
    let mut keys = reader.feed(bytes, START);
    keys.extend(reader.timeout(ESCAPE_WAIT));
    keys
}

/// The same keys must come out wherever the bytes are cut.
fn read(bytes: &[u8]) -> Vec<TuiKey> {
    let whole = keys(bytes);
    let mut reader = KeyDecoder::default();
    let mut single: Vec<TuiKey> =
        bytes.iter().flat_map(|byte| reader.feed(&[*byte], START)).collect();
    single.extend(reader.timeout(ESCAPE_WAIT));
    assert_eq!(whole, single);
    whole
}

fn chars(text: &str) -> Vec<TuiKey> {
    text.chars().map(TuiKey::Char).collect()
}

#[test]
fn text_is_characters_however_it_arrives() {
    assert_eq!(read("aé日😀".as_bytes()), chars("aé日😀"));
    assert_eq!(read(b"a\xffb\xc3(c"), chars("ab(c"));
}

#[test]
fn keys_have_names() {
    use TuiKey::{Backspace, Ctrl, Delete, Down, End, Enter, Home, Left, NewLine, Right, Up};
    assert_eq!(read(b"\x1b[A\x1b[B\x1b[C\x1b[D"), [Up, Down, Right, Left]);
    assert_eq!(read(b"\x1bOA\x1bOB\x1b[1;5C"), [Up, Down, Right]);
    assert_eq!(read(b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~"), [Home, End, Home, End, Delete]);
    assert_eq!(read(b"\r\n\x7f\x08\x03"), [Enter, NewLine, Backspace, Backspace, Ctrl('c')]);
    assert_eq!(read(b"\x1b\r"), [NewLine]);
}

#[test]
fn a_lone_escape_is_a_key_after_a_moment() {
    let mut reader = KeyDecoder::default();
    assert_eq!(reader.feed(b"\x1b", START), []);
    assert_eq!(reader.deadline(), Some(ESCAPE_WAIT));
    assert_eq!(reader.timeout(START), None);
    assert_eq!(reader.timeout(ESCAPE_WAIT), Some(TuiKey::Escape));
    assert_eq!((reader.deadline(), reader.timeout(ESCAPE_WAIT)), (None, None));
    assert_eq!(reader.feed(b"x", START), chars("x"));
    assert_eq!(keys(b"\x1b\x1b"), [TuiKey::Escape, TuiKey::Escape]);
    assert_eq!(keys(b"\x1b\x1b[A"), [TuiKey::Escape, TuiKey::Up]);
}

#[test]
fn what_a_terminal_says_of_itself_is_no_key() {
    for reply in [
        &b"\x1b]11;rgb:0000/0000/0000\x1b\\"[..],
        b"\x1b]7501;?\x07",
        b"\x1b[?62;22c",
        b"\x1b[I\x1b[O",
        b"\x1bP>|term 1.0\x1b\\",
        b"\x1b[24;80R",
        b"\x1bx",
    ] {
        let bytes = [b"a", reply, b"b"].concat();
        assert_eq!(read(&bytes), chars("ab"), "{reply:?}");
    }
}

#[test]
fn a_paste_is_one_key_whatever_is_in_it() {
    let paste = |text: &str| vec![TuiKey::Paste(text.to_owned())];
    assert_eq!(read(b"\x1b[200~one\r\ntwo\rthree\x1b[201~"), paste("one\ntwo\nthree"));
    assert_eq!(read(b"\x1b[200~\x03\x1b[A\x1b[201~"), paste("\x03\x1b[A"));
    assert_eq!(read(b"\x1b[200~\x1b[201~\r"), [&paste("")[..], &[TuiKey::Enter]].concat());
}

#[test]
fn what_never_ends_does_not_grow() {
    let mut reader = KeyDecoder::default();
    reader.feed(b"\x1b]0;", START);
    for _ in 0..100 {
        reader.feed(&[b'x'; 1000], START);
        assert!(reader.pending.len() <= MAX_SEQUENCE_BYTES + 1000);
    }
    let mut reader = KeyDecoder::default();
    reader.feed(b"\x1b[200~", START);
    for _ in 0..20 {
        reader.feed(&vec![b'x'; 100_000], START);
    }
    assert_eq!(reader.pasted.as_ref().map(Vec::len), Some(MAX_PASTE_BYTES));
}
