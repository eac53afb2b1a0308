//! The names people give keys: parsing them, and guessing what a wrong one meant.

use std::str::FromStr;

use super::{KeyCode, KeyModifiers, KeyPress, unshifted};

/// Every name a key may be given, in lower case. Function keys and single characters are
/// recognised by their form.
const KEYS: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("del", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("ins", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pgup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("pgdown", KeyCode::PageDown),
    ("pgdn", KeyCode::PageDown),
    ("up", KeyCode::Up),
    ("arrowup", KeyCode::Up),
    ("down", KeyCode::Down),
    ("arrowdown", KeyCode::Down),
    ("left", KeyCode::Left),
    ("arrowleft", KeyCode::Left),
    ("right", KeyCode::Right),
    ("arrowright", KeyCode::Right),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
    ("minus", KeyCode::Char('-')),
];

/// Shift+Tab has a name of its own on many keyboards and in many programs.
const BACK_TAB: &str = "backtab";

/// Every name a modifier may be given, in lower case, with the name we write.
const MODIFIERS: &[(&str, &str, KeyModifiers)] = &[
    ("ctrl", "Ctrl", KeyModifiers::CTRL),
    ("control", "Ctrl", KeyModifiers::CTRL),
    ("c", "Ctrl", KeyModifiers::CTRL),
    ("alt", "Alt", KeyModifiers::ALT),
    ("meta", "Alt", KeyModifiers::ALT),
    ("option", "Alt", KeyModifiers::ALT),
    ("a", "Alt", KeyModifiers::ALT),
    ("m", "Alt", KeyModifiers::ALT),
    ("shift", "Shift", KeyModifiers::SHIFT),
    ("s", "Shift", KeyModifiers::SHIFT),
];

/// Longer input is not compared with the names (the longest has ten letters) and is cut when an
/// error quotes it: a whole paragraph can stand where a key was expected.
const QUOTED_CHARS: usize = 24;

/// A text that names no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseKeyError {
    #[error("a key was expected, but the name is empty")]
    Empty,
    /// Modifiers with nothing after them.
    #[error("{name:?} names modifiers but no key; put one after them, as in Ctrl+C")]
    MissingKey { name: String },
    /// The name is not the name of a key.
    #[error("unknown key {name:?}; {}", key_hint(.near))]
    UnknownKey {
        /// The part that was not understood, shortened if it is long.
        name: String,
        /// Names of keys that look alike, nearest first.
        near: Vec<String>,
    },
    /// What stands before the `+` or `-` is not a modifier.
    #[error("unknown modifier {name:?}; {}", modifier_hint(.near))]
    UnknownModifier {
        /// The part that was not understood, shortened if it is long.
        name: String,
        /// Names of modifiers that look alike, nearest first.
        near: Vec<String>,
    },
    /// The same modifier is there twice.
    #[error("the modifier {name} is given twice")]
    RepeatedModifier { name: String },
    /// A function key that does not exist.
    #[error("{name} is not a function key; they go from F1 to F24")]
    NoSuchFunctionKey { name: String },
    /// A control character where a key was expected.
    #[error(
        "the control character U+{:04X} is not a key; use a name such as Enter, Esc or Ctrl+C",
        u32::from(*.0)
    )]
    Control(char),
}

impl FromStr for KeyPress {
    type Err = ParseKeyError;

    fn from_str(name: &str) -> Result<Self, ParseKeyError> {
        if name.is_empty() {
            return Err(ParseKeyError::Empty);
        }
        let mut mods = KeyModifiers::NONE;
        let mut rest = name;
        while let Some((head, tail)) = split_modifier(rest) {
            let Some((canonical, modifier)) = modifier(head) else {
                return Err(not_understood(rest, head));
            };
            if mods | modifier == mods {
                return Err(ParseKeyError::RepeatedModifier { name: canonical.to_owned() });
            }
            mods = mods | modifier;
            rest = tail;
        }
        if rest.is_empty() {
            return Err(ParseKeyError::MissingKey { name: quoted(name) });
        }
        key(rest, mods)
    }
}

/// Splits at the first `+` or `-` that has something before it. The first character never
/// separates, so `+`, `Ctrl++` and `C--` all have a key.
fn split_modifier(name: &str) -> Option<(&str, &str)> {
    let first = name.chars().next()?.len_utf8();
    let at = first + name[first..].find(['+', '-'])?;
    Some((&name[..at], &name[at + 1..]))
}

fn modifier(name: &str) -> Option<(&'static str, KeyModifiers)> {
    let lower = name.to_ascii_lowercase();
    let found = MODIFIERS.iter().find(|(alias, ..)| *alias == lower)?;
    Some((found.1, found.2))
}

fn key(name: &str, mods: KeyModifiers) -> Result<KeyPress, ParseKeyError> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        let c = if mods.is_empty() { c } else { unshifted(c).unwrap_or(c) };
        return KeyPress::new(KeyCode::Char(c), mods).map_err(|_| ParseKeyError::Control(c));
    }
    let lower = name.to_ascii_lowercase();
    if lower == BACK_TAB {
        return Ok(KeyPress { code: KeyCode::Tab, mods: mods | KeyModifiers::SHIFT });
    }
    if let Some((_, code)) = KEYS.iter().find(|(alias, _)| *alias == lower) {
        return Ok(KeyPress { code: *code, mods });
    }
    match function_digits(&lower) {
        Some(digits) => {
            let no_such = || ParseKeyError::NoSuchFunctionKey { name: quoted(name) };
            if digits.starts_with('0') {
                return Err(no_such());
            }
            let number = digits.parse().map_err(|_| no_such())?;
            KeyPress::new(KeyCode::F(number), mods).map_err(|_| no_such())
        }
        None => Err(ParseKeyError::UnknownKey { name: quoted(name), near: near_keys(&lower) }),
    }
}

/// The digits of a name that has the form of a function key.
fn function_digits(lower: &str) -> Option<&str> {
    let digits = lower.strip_prefix('f')?;
    digits.bytes().all(|b| b.is_ascii_digit()).then_some(digits)
}

/// `head` stands where a modifier should. Either it is one, misspelt, or the separator belongs
/// to a misspelt key (`Page-Up`).
fn not_understood(rest: &str, head: &str) -> ParseKeyError {
    let near = near_keys(&rest.to_ascii_lowercase());
    if !near.is_empty() {
        return ParseKeyError::UnknownKey { name: quoted(rest), near };
    }
    let lower = head.to_ascii_lowercase();
    let names = MODIFIERS.iter().map(|(alias, name, _)| (*alias, (*name).to_owned()));
    ParseKeyError::UnknownModifier { name: quoted(head), near: nearest(&lower, names) }
}

fn near_keys(lower: &str) -> Vec<String> {
    let back_tab = (BACK_TAB, "Shift+Tab".to_owned());
    let names = KEYS.iter().map(|(alias, code)| (*alias, code.to_string()));
    nearest(lower, names.chain([back_tab]))
}

/// The canonical names of the up to three aliases nearest to `lower`, if they are near at all.
fn nearest(lower: &str, aliases: impl Iterator<Item = (&'static str, String)>) -> Vec<String> {
    let given: Vec<char> = lower.chars().take(QUOTED_CHARS + 1).collect();
    if given.len() > QUOTED_CHARS {
        return Vec::new();
    }
    // In a short name two mistakes leave nothing to recognise.
    let allowed = if given.len() <= 4 { 1 } else { 2 };
    let mut found: Vec<(usize, String)> = aliases
        .filter(|(alias, _)| alias.len() > 1)
        .map(|(alias, name)| (distance(&given, alias), name))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    found.sort_by_key(|(distance, _)| *distance);
    let mut names = Vec::new();
    for (_, name) in found {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(3);
    names
}

/// How many insertions, deletions, replacements and swaps of neighbours lie between the two.
fn distance(given: &[char], alias: &str) -> usize {
    let alias: Vec<char> = alias.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=alias.len()).collect();
    for (i, a) in given.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in alias.iter().enumerate() {
            let replaced = above[j] + usize::from(a != b);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == alias[j - 1] && given[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(0)
}

fn quoted(name: &str) -> String {
    match name.char_indices().nth(QUOTED_CHARS) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

fn key_hint(near: &[String]) -> String {
    match near {
        [] => "a key is one character or a name such as Enter, Esc, Up, F5, Ctrl+C".to_owned(),
        near => did_you_mean(near),
    }
}

fn modifier_hint(near: &[String]) -> String {
    match near {
        [] => "modifiers are Ctrl, Alt and Shift".to_owned(),
        near => did_you_mean(near),
    }
}

fn did_you_mean(near: &[String]) -> String {
    format!("did you mean {}?", near.join(" or "))
}
