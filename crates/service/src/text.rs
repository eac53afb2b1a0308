//! Text from outside, made fit for messages.

pub use coven_notation::{near, printable};

/// The beginning of a text from outside: at most so many characters, none of which a terminal would
/// act on.
pub fn excerpt(text: &str, most: usize) -> String {
    printable(&text.chars().take(most).collect::<String>())
}
