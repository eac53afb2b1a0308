//! Which characters the terminal can show, as the locale says, and what stands for the others.

use std::env;

use unicode_width::UnicodeWidthChar;

/// The characters that can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputCharset {
    Unicode,
    /// ASCII alone, as in the locales `C` and `POSIX`.
    Ascii,
}

/// The variables that name the locale, the first that is set counts.
const LOCALE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

impl OutputCharset {
    /// What the environment says. Where it says nothing, as in a container, terminals of today are
    /// believed to show everything.
    pub(super) fn of_environment() -> Self {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        LOCALE_VARIABLES.into_iter().find_map(set).map_or(Self::Unicode, |name| Self::of(&name))
    }

    /// The characters of a locale, such as `de_DE.UTF-8@euro` or `C`.
    fn of(locale: &str) -> Self {
        let name = locale.split('@').next().unwrap_or_default();
        let ascii = match name.split_once('.') {
            Some((_, charset)) => {
                !matches!(charset.to_ascii_lowercase().as_str(), "utf-8" | "utf8")
            }
            None => matches!(name, "C" | "POSIX"),
        };
        if ascii { Self::Ascii } else { Self::Unicode }
    }

    /// Adds a text in these characters. What has none takes as many columns as before.
    pub(super) fn put(self, text: &str, to: &mut String) {
        if self == Self::Unicode {
            return to.push_str(text);
        }
        for character in text.chars() {
            if character.is_ascii() {
                to.push(character);
            } else {
                let stands = stands_for(character);
                (0..character.width().unwrap_or(0)).for_each(|_| to.push(stands));
            }
        }
    }
}

/// What is shown instead of a character. Each takes one column, so that columns still line up.
fn stands_for(character: char) -> char {
    match character {
        '✗' => 'x',
        '▶' | '→' | '❯' | '›' => '>',
        '·' | '•' | '●' | '⏺' => '*',
        '│' | '┃' => '|',
        '─' | '━' | '–' | '—' => '-',
        '✓' | '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╯' | '╰' => {
            '+'
        }
        '…' => '~',
        '“' | '”' | '„' => '"',
        '‘' | '’' => '\'',
        '\u{a0}' => ' ',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_which_characters_there_are() {
        for ascii in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE.ISO-8859-15@euro", "C.ASCII"] {
            assert_eq!(OutputCharset::of(ascii), OutputCharset::Ascii, "{ascii}");
        }
        for unicode in ["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", "en_US"] {
            assert_eq!(OutputCharset::of(unicode), OutputCharset::Unicode, "{unicode}");
        }
    }

    #[test]
    fn ascii_takes_as_many_columns_as_what_it_stands_for() {
        let mut text = String::new();
        OutputCharset::Ascii.put("✓ plan · naïve 日本 …", &mut text);
        assert_eq!(text, "+ plan * na?ve ???? ~");
    }
}
