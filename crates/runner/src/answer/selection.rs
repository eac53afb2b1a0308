//! The way through a menu to one entry, looked at after every key.

use std::time::Duration;

use coven_adapters::{MenuLayout, ScreenMenu};
use coven_terminal::keys::{KeyCode, KeyModifiers, KeyPress};

use super::{AnswerError, KEY_TIMEOUT};

/// An entry that is being selected.
#[derive(Debug)]
pub(crate) struct EntrySelection {
    /// The entry, by its id.
    target: String,
    /// What it said when it was first seen. Entries may change places while the mark moves.
    label: Option<String>,
    /// The text that is typed once it is selected.
    text: Option<String>,
    /// The keys that are pressed before the text.
    text_keys: Vec<KeyPress>,
    /// What was selected when the last key was pressed, and when that was.
    moved: Option<(usize, Duration)>,
    moves: usize,
    /// Since when there is no menu to be seen.
    hidden: Option<Duration>,
}

/// What to do about an entry that is being selected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SelectionStep {
    Press(KeyPress),
    /// Wait, at most until then.
    Wait(Duration),
    /// It is selected: press these keys, and type this text or none.
    Selected(Vec<KeyPress>, Option<String>),
    Failed(AnswerError),
}

impl EntrySelection {
    pub(crate) fn new(target: String, text: Option<String>, text_keys: Vec<KeyPress>) -> Self {
        Self { target, label: None, text, text_keys, moved: None, moves: 0, hidden: None }
    }

    /// Goes on, now that the menu is this one.
    pub(crate) fn feed(&mut self, menu: Option<&ScreenMenu>, now: Duration) -> SelectionStep {
        let target = menu.and_then(|menu| Some((menu, self.position(menu)?)));
        let Some((menu, target)) = target else {
            let due = *self.hidden.get_or_insert(now) + KEY_TIMEOUT;
            return if now < due { SelectionStep::Wait(due) } else { self.failed() };
        };
        self.hidden = None;
        if menu.selected == target && menu.may_take_other() {
            return self.failed();
        }
        if menu.selected == target {
            return match self.text.take() {
                Some(text) => {
                    SelectionStep::Selected(std::mem::take(&mut self.text_keys), Some(text))
                }
                None => SelectionStep::Selected(vec![plain(KeyCode::Enter)], None),
            };
        }
        if let Some((before, at)) = self.moved
            && before == menu.selected
        {
            let due = at + KEY_TIMEOUT;
            return if now < due { SelectionStep::Wait(due) } else { self.failed() };
        }
        // A menu that goes round and round is not followed for ever.
        if self.moves > 2 * menu.entries.len() {
            return self.failed();
        }
        self.moves += 1;
        self.moved = Some((menu.selected, now));
        let key = match (menu.layout, target > menu.selected) {
            (MenuLayout::Rows, true) => KeyCode::Down,
            (MenuLayout::Rows, false) => KeyCode::Up,
            (MenuLayout::Columns, true) => KeyCode::Right,
            (MenuLayout::Columns, false) => KeyCode::Left,
        };
        SelectionStep::Press(plain(key))
    }

    /// Where the entry stands now: the one by its id, as long as that says the same as before. A
    /// selected entry may be drawn with marks of its own around its words.
    fn position(&mut self, menu: &ScreenMenu) -> Option<usize> {
        let position = menu.position(&self.target)?;
        let shown = &menu.entries[position].label;
        let label = self.label.get_or_insert_with(|| shown.clone());
        (label == shown || has_same_words(label, shown)).then_some(position)
    }

    fn failed(&self) -> SelectionStep {
        SelectionStep::Failed(AnswerError::NotSelected {
            entry: self.target.clone(),
            pressed: self.moves > 0,
        })
    }
}

fn has_same_words(before: &str, now: &str) -> bool {
    let words = |label: &str| -> Vec<String> {
        let words = label.split(|char: char| !char.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let before = words(before);
    !before.is_empty() && before == words(now)
}

#[expect(clippy::expect_used, reason = "every key without a character exists")]
fn plain(code: KeyCode) -> KeyPress {
    KeyPress::new(code, KeyModifiers::NONE).expect("the key exists")
}

#[cfg(test)]
mod tests {
    use coven_model::MenuEntry;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn menu(labels: &[&str], selected: usize) -> ScreenMenu {
        let entry =
            |(index, label): (usize, &&str)| MenuEntry::new((index + 1).to_string(), *label);
        ScreenMenu::of_rows(labels.iter().enumerate().map(entry).collect(), selected)
    }

    fn press(name: &str) -> SelectionStep {
        SelectionStep::Press(name.parse().unwrap())
    }

    fn failed(entry: &str, pressed: bool) -> SelectionStep {
        SelectionStep::Failed(AnswerError::NotSelected { entry: entry.to_owned(), pressed })
    }

    #[test]
    fn enter_is_pressed_only_when_the_entry_is_seen_to_be_selected() {
        let labels = ["a", "b", "c"];
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&menu(&labels, 0)), s(0)), press("Down"));
        assert_eq!(way.feed(Some(&menu(&labels, 0)), s(1)), SelectionStep::Wait(KEY_TIMEOUT));
        assert_eq!(way.feed(None, s(1)), SelectionStep::Wait(s(1) + KEY_TIMEOUT), "it is painted");
        assert_eq!(way.feed(Some(&menu(&labels, 1)), s(2)), press("Down"));
        let enter = SelectionStep::Selected(vec!["Enter".parse().unwrap()], None);
        assert_eq!(way.feed(Some(&menu(&labels, 2)), s(2)), enter);
        let mut way = EntrySelection::new("1".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&menu(&labels, 2)), s(0)), press("Up"));
    }

    #[test]
    fn enter_is_not_pressed_where_it_takes_what_another_key_chooses() {
        let radio = |cursor: usize, chosen: [bool; 2]| {
            menu(&["one", "two"], cursor).with_chosen(chosen.to_vec())
        };
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&radio(0, [true, false])), s(0)), press("Down"));
        assert_eq!(way.feed(Some(&radio(1, [true, false])), s(1)), failed("2", true));
        // Where the choice follows the cursor, Enter takes it.
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&radio(0, [true, false])), s(0)), press("Down"));
        let enter = SelectionStep::Selected(vec!["Enter".parse().unwrap()], None);
        assert_eq!(way.feed(Some(&radio(1, [false, true])), s(1)), enter);
    }

    /// Qwen draws its own prompt into the entry that takes a text, once that is selected.
    #[test]
    fn an_entry_that_is_drawn_otherwise_when_it_is_selected_is_the_same() {
        let mut way = EntrySelection::new("2".to_owned(), Some("mine".to_owned()), Vec::new());
        assert_eq!(way.feed(Some(&menu(&["Red", "Type something..."], 0)), s(0)), press("Down"));
        let selected = menu(&["Red", "> Type something..."], 1);
        let typed = SelectionStep::Selected(Vec::new(), Some("mine".to_owned()));
        assert_eq!(way.feed(Some(&selected), s(1)), typed);
        assert!(!has_same_words("delete", "delete all") && !has_same_words("→", "←"));
    }

    #[test]
    fn an_entry_that_says_something_else_meanwhile_is_not_chosen() {
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&menu(&["keep", "delete", "cancel"], 0)), s(0)), press("Down"));
        let sorted = ["keep", "cancel", "delete"];
        let wait = SelectionStep::Wait(s(1) + KEY_TIMEOUT);
        assert_eq!(way.feed(Some(&menu(&sorted, 1)), s(1)), wait);
        assert_eq!(way.feed(Some(&menu(&sorted, 2)), s(1) + KEY_TIMEOUT), failed("3", true));
    }

    #[test]
    fn a_menu_that_does_not_move_or_goes_away_is_given_up() {
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        way.feed(Some(&menu(&["a", "b"], 0)), s(0));
        assert_eq!(way.feed(Some(&menu(&["a", "b"], 0)), KEY_TIMEOUT), failed("2", true));
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        way.feed(Some(&menu(&["a", "b"], 0)), s(0));
        assert_eq!(way.feed(Some(&menu(&["a", "b"], 0)), KEY_TIMEOUT), failed("3", false));
        // One that skips the entry.
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        let mut now = 0;
        let last = loop {
            let step =
                way.feed(Some(&menu(&["a", "b", "c"], if now % 2 == 0 { 0 } else { 2 })), s(now));
            if matches!(step, SelectionStep::Failed(_)) || now > 20 {
                break step;
            }
            now += 1;
        };
        assert_eq!(last, failed("2", true));
    }

    #[test]
    fn a_text_is_typed_after_the_keys_of_its_entry() {
        let keys = vec!["Tab".parse().unwrap()];
        let mut way = EntrySelection::new("1".to_owned(), Some("green".to_owned()), keys.clone());
        let selected = SelectionStep::Selected(keys, Some("green".to_owned()));
        assert_eq!(way.feed(Some(&menu(&["a", "b"], 0)), s(0)), selected);
    }
}
