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
    /// Its name on the tape.
    pub(super) name: Option<String>,
    /// What the menu was when it was first seen.
    first: Option<FirstSight>,
    /// The text that is typed once it is selected.
    text: Option<String>,
    /// The keys that are pressed before the text.
    text_keys: Vec<KeyPress>,
    /// What was selected when the last key was pressed, and when that was.
    moved: Option<(usize, Duration)>,
    moves: usize,
    /// Whether the arrow keys move nothing and Tab does instead, as between buttons.
    uses_tab: bool,
    /// Since when the menu of the question is not to be seen.
    hidden: Option<Duration>,
    /// Why it is not selected, while the mark is brought back to where it was.
    given_up: Option<AnswerError>,
    moves_back: usize,
}

/// A menu as it was before the first key.
#[derive(Debug)]
struct FirstSight {
    selected: usize,
    entries: usize,
    /// What they said, by their ids. Entries may change places while the mark moves.
    labels: Vec<(String, String)>,
    /// What stood above the entries.
    question: Vec<String>,
}

/// Why an entry cannot be selected in a menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MenuMismatch {
    Entry,
    Question,
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
        Self {
            target,
            name: None,
            first: None,
            text,
            text_keys,
            moved: None,
            moves: 0,
            uses_tab: false,
            hidden: None,
            given_up: None,
            moves_back: 0,
        }
    }

    /// The same with a name on the tape.
    pub(crate) fn named(self, name: Option<String>) -> Self {
        Self { name, ..self }
    }

    /// Goes on, now that the menu is this one.
    pub(crate) fn feed(&mut self, menu: Option<&ScreenMenu>, now: Duration) -> SelectionStep {
        if self.given_up.is_some() {
            return self.bring_back(menu, now);
        }
        let position = menu.map_or(Err(MenuMismatch::Entry), |menu| self.position(menu));
        let (Some(menu), Ok(target)) = (menu, position) else {
            let due = *self.hidden.get_or_insert(now) + KEY_TIMEOUT;
            if now < due {
                return SelectionStep::Wait(due);
            }
            let error = match position {
                Err(MenuMismatch::Question) => {
                    AnswerError::QuestionChanged { pressed: self.moves > 0 }
                }
                _ => self.not_selected(),
            };
            return self.give_up(error, menu, now);
        };
        self.hidden = None;
        if menu.selected == target && menu.may_take_other() {
            return self.give_up(self.not_selected(), Some(menu), now);
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
            if now < due {
                return SelectionStep::Wait(due);
            }
            if self.uses_tab || menu.layout == MenuLayout::Rows {
                return self.give_up(self.not_selected(), Some(menu), now);
            }
            self.uses_tab = true;
        }
        // A menu that goes round and round is not followed for ever.
        if self.moves > 2 * menu.entries.len() {
            return self.give_up(self.not_selected(), Some(menu), now);
        }
        self.moves += 1;
        self.moved = Some((menu.selected, now));
        SelectionStep::Press(self.key_towards(menu, target))
    }

    /// Where the entry stands now: the one by its id, as long as that and the question above the
    /// entries say the same as before. A selected entry may be drawn with marks of its own around its
    /// words.
    fn position(&mut self, menu: &ScreenMenu) -> Result<usize, MenuMismatch> {
        let position = menu.position(&self.target).ok_or(MenuMismatch::Entry)?;
        let first = self.first.get_or_insert_with(|| FirstSight::of(menu));
        if first.question != menu.question {
            return Err(MenuMismatch::Question);
        }
        if first.has_entries_of(menu) { Ok(position) } else { Err(MenuMismatch::Entry) }
    }

    pub(super) fn not_selected(&self) -> AnswerError {
        AnswerError::NotSelected { entry: self.target.clone(), pressed: self.moves > 0 }
    }

    fn give_up(
        &mut self,
        error: AnswerError,
        menu: Option<&ScreenMenu>,
        now: Duration,
    ) -> SelectionStep {
        self.moved = None;
        self.given_up = Some(error);
        self.bring_back(menu, now)
    }

    /// Brings the mark back to where it was, as far as the menu lets itself be followed: a person who
    /// presses Enter there next has seen it at that entry. In another menu no key is pressed.
    fn bring_back(&mut self, menu: Option<&ScreenMenu>, now: Duration) -> SelectionStep {
        let is_same = |first: &&FirstSight| menu.is_some_and(|menu| first.is_of(menu));
        let first = self.first.as_ref().filter(is_same).map(|first| first.selected);
        if let (Some(menu), Some(selected)) = (menu, first)
            && menu.selected != selected
        {
            match self.moved {
                Some((before, at)) if before == menu.selected => {
                    let due = at + KEY_TIMEOUT;
                    if now < due {
                        return SelectionStep::Wait(due);
                    }
                }
                _ if self.moves_back < self.moves => {
                    self.moves_back += 1;
                    self.moved = Some((menu.selected, now));
                    return SelectionStep::Press(self.key_towards(menu, selected));
                }
                _ => {}
            }
        }
        SelectionStep::Failed(self.given_up.clone().unwrap_or_else(|| self.not_selected()))
    }

    /// The key that moves the mark of a menu towards an entry.
    fn key_towards(&self, menu: &ScreenMenu, target: usize) -> KeyPress {
        plain(match (menu.layout, target > menu.selected) {
            (MenuLayout::Rows, true) => KeyCode::Down,
            (MenuLayout::Rows, false) => KeyCode::Up,
            (MenuLayout::Columns, _) if self.uses_tab => KeyCode::Tab,
            (MenuLayout::Columns, true) => KeyCode::Right,
            (MenuLayout::Columns, false) => KeyCode::Left,
        })
    }
}

impl FirstSight {
    fn of(menu: &ScreenMenu) -> Self {
        let labels = menu.entries.iter().map(|entry| (entry.id.clone(), entry.label.clone()));
        Self {
            selected: menu.selected,
            entries: menu.entries.len(),
            labels: labels.collect(),
            question: menu.question.clone(),
        }
    }

    /// Whether every entry that was there before still says the same, as far as it is on the screen:
    /// a long menu scrolls.
    fn has_entries_of(&self, menu: &ScreenMenu) -> bool {
        let is_same = |(index, (id, label)): (usize, &(String, String))| {
            let Some(position) = menu.position(id) else { return true };
            let shown = &menu.entries[position].label;
            let is_described = |long, short, is_selected| is_selected && is_short(long, short);
            shown == label
                || has_same_words(label, shown)
                || is_described(shown, label, menu.selected == position)
                || is_described(label, shown, self.selected == index)
        };
        self.labels.iter().enumerate().all(is_same)
    }

    /// Whether this is the same menu from its title to its last entry.
    fn is_of(&self, menu: &ScreenMenu) -> bool {
        let has_all = self.entries == menu.entries.len();
        has_all && self.question == menu.question && self.has_entries_of(menu)
    }
}

/// Whether one label is the other without the hint in brackets that some programs show behind the
/// entry that is selected, and only there.
fn is_short(long: &str, short: &str) -> bool {
    let hint = long.strip_prefix(short).map(str::trim_start);
    !short.is_empty() && hint.is_some_and(|hint| hint.starts_with('(') && hint.ends_with(')'))
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
        assert_eq!(way.feed(Some(&radio(1, [true, false])), s(1)), press("Up"), "it goes back");
        assert_eq!(way.feed(Some(&radio(0, [true, false])), s(2)), failed("2", true));
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

    /// Clack describes the entry that is selected, and no other.
    #[test]
    fn an_entry_with_a_hint_only_while_it_is_selected_is_the_same() {
        let enter = || SelectionStep::Selected(vec!["Enter".parse().unwrap()], None);
        let shown = |selected: usize| match selected {
            0 => menu(&["Rust (fast)", "Go", "C"], 0),
            1 => menu(&["Rust", "Go (small)", "C"], 1),
            _ => menu(&["Rust", "Go", "C"], 2),
        };
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&shown(0)), s(0)), press("Down"));
        assert_eq!(way.feed(Some(&shown(1)), s(1)), press("Down"));
        assert_eq!(way.feed(Some(&shown(2)), s(2)), enter());
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&shown(2)), s(0)), press("Up"));
        assert_eq!(way.feed(Some(&shown(1)), s(1)), enter());
        // What an entry that is not selected says in brackets is a part of it.
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&shown(0)), s(0)), press("Down"));
        let other = menu(&["Rust", "Go", "C (all files)"], 1);
        assert_eq!(way.feed(Some(&other), s(1)), SelectionStep::Wait(s(1) + KEY_TIMEOUT));
    }

    #[test]
    fn an_entry_that_says_something_else_meanwhile_is_not_chosen() {
        let mut way = EntrySelection::new("3".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&menu(&["keep", "delete", "cancel"], 0)), s(0)), press("Down"));
        let sorted = ["keep", "cancel", "delete"];
        let wait = SelectionStep::Wait(s(1) + KEY_TIMEOUT);
        assert_eq!(way.feed(Some(&menu(&sorted, 1)), s(1)), wait);
        let due = s(1) + KEY_TIMEOUT;
        let given_up = failed("3", true);
        assert_eq!(way.feed(Some(&menu(&sorted, 1)), due), given_up, "no key for another menu");
    }

    #[test]
    fn enter_is_not_pressed_where_the_question_above_the_entries_has_changed() {
        let about = |question: &str, selected: usize| {
            menu(&["No", "Yes"], selected).with_question(vec![question.to_owned()])
        };
        let changed = SelectionStep::Failed(AnswerError::QuestionChanged { pressed: true });
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&about("staging?", 0)), s(0)), press("Down"));
        let other = about("PRODUCTION?", 1);
        // It may be painted in pieces.
        let due = s(1) + KEY_TIMEOUT;
        assert_eq!(way.feed(Some(&other), s(1)), SelectionStep::Wait(due));
        assert_eq!(way.feed(Some(&other), due), changed, "no key for another menu");
    }

    #[test]
    fn between_buttons_that_no_arrow_moves_tab_does() {
        let buttons = |selected: usize| {
            let mut buttons = menu(&["Yes", "No"], selected);
            buttons.layout = MenuLayout::Columns;
            buttons
        };
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        assert_eq!(way.feed(Some(&buttons(0)), s(0)), press("Right"));
        assert_eq!(way.feed(Some(&buttons(0)), s(1)), SelectionStep::Wait(KEY_TIMEOUT));
        assert_eq!(way.feed(Some(&buttons(0)), KEY_TIMEOUT), press("Tab"));
        let enter = SelectionStep::Selected(vec!["Enter".parse().unwrap()], None);
        assert_eq!(way.feed(Some(&buttons(1)), s(4)), enter);
        // Where neither does, Enter is not pressed.
        let mut way = EntrySelection::new("2".to_owned(), None, Vec::new());
        way.feed(Some(&buttons(0)), s(0));
        way.feed(Some(&buttons(0)), KEY_TIMEOUT);
        assert_eq!(way.feed(Some(&buttons(0)), KEY_TIMEOUT * 2), failed("2", true));
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
