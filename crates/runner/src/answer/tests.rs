//! Keys one after another, held answers, and what a question that stays means.

use super::*;
use crate::delivery::InputReader;

const GONE: ShownQuestion<'_> = ShownQuestion::Asked(None);

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn key(name: &str) -> KeyPress {
    name.parse().unwrap()
}

fn digest(text: &str) -> ContentDigest {
    ContentDigest::of_bytes(text.as_bytes())
}

/// The question as it is before and after its first key, as far as that is to be seen.
fn sight() -> QuestionSight {
    QuestionSight {
        words: Some(vec!["asked".to_owned()]),
        reader: InputReader::MayRead,
        ..QuestionSight::default()
    }
}

fn pressing(names: &[&str]) -> PendingAnswer<&'static str> {
    let keys = names.iter().map(|name| key(name)).collect();
    PendingAnswer::Pressing(KeySequence::new(keys), "caller")
}

#[test]
fn each_key_is_pressed_when_the_one_before_it_has_changed_the_screen() {
    let mut answer = pressing(&["Down", "Enter"]);
    let (first, second) = (AnswerEffect::Press(key("Down")), AnswerEffect::Press(key("Enter")));
    let asked = digest("asked");
    let asked = ShownQuestion::Asked(Some(&asked));
    assert_eq!(answer.feed(1, asked, &sight(), s(0)), [first, AnswerEffect::Wake(KEY_TIMEOUT)]);
    assert_eq!(
        answer.feed(1, asked, &sight(), s(1)),
        [AnswerEffect::Wake(KEY_TIMEOUT)],
        "it is not pressed twice"
    );
    let settled = s(2) + Duration::from_millis(200);
    assert_eq!(answer.feed(2, asked, &sight(), s(2)), [AnswerEffect::Wake(settled)]);
    let due = settled + TAKEN_TIMEOUT;
    assert_eq!(answer.feed(2, asked, &sight(), settled), [second, AnswerEffect::Wake(due)]);
    assert!(answer.is_pressed());
    assert_eq!(
        answer.feed(3, asked, &sight(), s(3)),
        [AnswerEffect::Wake(due)],
        "it is still asked"
    );
    assert_eq!(answer.feed(4, GONE, &sight(), s(4)), [AnswerEffect::Ended("caller", Ok(()))]);
    assert!(answer.is_none());
    assert_eq!(answer.feed(5, GONE, &sight(), s(5)), []);
}

#[test]
fn an_answer_after_which_the_same_is_asked_was_not_taken() {
    let mut answer = pressing(&["Enter"]);
    let asked = digest("asked");
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), &sight(), s(0));
    let failed = [AnswerEffect::Ended("caller", Err(AnswerError::StillAsked))];
    assert_eq!(answer.feed(2, ShownQuestion::Asked(Some(&asked)), &sight(), TAKEN_TIMEOUT), failed);
    let mut answer = pressing(&["Enter"]);
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), &sight(), s(0));
    let again = digest("asked again");
    assert_eq!(answer.feed(2, ShownQuestion::Again(&again), &sight(), s(3)), failed);
    // One that counted as asked again before is answered like any other.
    let mut answer = pressing(&["Enter"]);
    let wait = AnswerEffect::Wake(s(3) + TAKEN_TIMEOUT);
    let pressed = answer.feed(2, ShownQuestion::Again(&again), &sight(), s(3));
    assert_eq!(pressed, [AnswerEffect::Press(key("Enter")), wait]);
    assert_eq!(answer.feed(3, GONE, &sight(), s(4)), [AnswerEffect::Ended("caller", Ok(()))]);
    // Another question is the next one.
    let mut answer = pressing(&["Enter"]);
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), &sight(), s(0));
    let ended = [AnswerEffect::Ended("caller", Ok(()))];
    assert_eq!(
        answer.feed(2, ShownQuestion::Asked(Some(&digest("another"))), &sight(), s(1)),
        ended
    );
}

#[test]
fn after_a_key_without_effect_the_rest_is_not_pressed() {
    let mut answer = pressing(&["Down", "Down", "Enter"]);
    answer.feed(1, GONE, &sight(), s(0));
    answer.feed(2, GONE, &sight(), s(1));
    answer.feed(2, GONE, &sight(), s(2));
    let error = AnswerError::NotTaken { number: 2, of: 3 };
    assert_eq!(answer.feed(2, GONE, &sight(), s(5)), [AnswerEffect::Ended("caller", Err(error))]);
    assert_eq!(answer.feed(3, GONE, &sight(), s(6)), []);
}

#[test]
fn an_answer_is_held_until_its_question_has_settled_or_is_gone() {
    let held = |is_early: bool| {
        let action = AnswerAction::Choose(InterventionChoice::Approve);
        let answer = GivenAnswer { digest: digest("asked"), action, name: None, typed: 0 };
        PendingAnswer::Held(HeldAnswer {
            answer,
            reply: "caller",
            due: s(2),
            patience: None,
            is_early,
        })
    };
    let asked = digest("asked");
    let mut answer = held(false);
    assert_eq!(answer.feed(1, GONE, &sight(), s(0)), [], "no key is pressed before");
    assert!(matches!(answer.release(Some(&asked), s(1)), Release::Wait(due) if due == s(2)));
    assert!(matches!(answer.release(Some(&asked), s(2)), Release::Give(_)));
    assert!(matches!(answer.release(Some(&asked), s(3)), Release::None));
    for other in [None, Some(&digest("another"))] {
        assert!(matches!(held(false).release(other, s(1)), Release::Give(_)));
    }
    // What an agent asks that was just taken over is not known at once.
    assert!(matches!(held(true).release(None, s(1)), Release::Wait(due) if due == s(2)));
    assert!(matches!(held(true).release(None, s(2)), Release::Give(_)));
    assert!(matches!(held(true).release(Some(&asked), s(1)), Release::Give(_)));
    assert_eq!(held(false).abandon(), Some("caller"));
    assert_eq!(pressing(&["Enter"]).abandon(), Some("caller"));
}

#[test]
fn keys_that_are_pressed_are_not_released_as_a_held_answer() {
    let mut answer = pressing(&["Enter"]);
    assert!(matches!(answer.release(None, s(1)), Release::None));
    assert!(answer.is_pressing());
}

/// How an answer of two keys ends whose first was pressed at the first sight, if it shows the second
/// for longer than a repaint takes; nothing if the second key is pressed.
fn ended_after(
    first: &str,
    asked: &QuestionSight,
    then: &QuestionSight,
) -> Option<Result<(), AnswerError>> {
    let mut answer = pressing(&[first, "Enter"]);
    answer.feed(1, GONE, asked, s(0));
    assert_eq!(answer.feed(2, GONE, then, s(1)).len(), 1, "it is looked at again");
    let hidden = answer.feed(2, GONE, then, s(2));
    if hidden.contains(&AnswerEffect::Press(key("Enter"))) {
        return None;
    }
    let ended = answer.feed(2, GONE, then, s(3));
    match ended.into_iter().next() {
        Some(AnswerEffect::Ended(_, result)) => Some(result),
        other => panic!("{other:?}"),
    }
}

/// Spec: C0.14.2
#[test]
fn a_key_is_pressed_only_while_the_question_of_the_first_one_is_asked() {
    let sight = |words: &[&str], row: u64, line: &str| QuestionSight {
        words: (!words.is_empty()).then(|| words.iter().map(|word| (*word).to_owned()).collect()),
        asked_row: (!words.is_empty()).then_some(row),
        row,
        line: line.to_owned(),
        screen: Vec::new(),
        scrolled: 0,
        collects_lines: false,
        reader: InputReader::MayRead,
    };
    let lines = |sight: QuestionSight| QuestionSight { collects_lines: true, ..sight };
    let asked = sight(&["Run", "A?"], 3, "RunA?");
    let moved_on = Some(Err(AnswerError::MovedOn { number: 1, of: 2 }));
    // It stands behind the question, whether or not that is still known as one.
    for then in [sight(&["Run", "A?"], 3, "RunA?y"), sight(&[], 3, "RunA?y")] {
        assert_eq!(ended_after("y", &asked, &then), None);
        assert_eq!(ended_after("y", &lines(asked.clone()), &lines(then)), None);
    }
    // Only a mark has moved.
    let menu = sight(&["A?", "❯", "Yes", "No", "selected:0"], 3, "");
    assert_eq!(ended_after("Down", &menu, &sight(&["A?", "Yes", "❯", "No"], 3, "")), None);
    // The mark has moved, and another rule knows the question by that.
    let shows = |sight: QuestionSight, line: &str, scrolled| {
        let screen = bare_words(["A?", line, "2. No"].into_iter());
        QuestionSight { screen, scrolled, ..sight }
    };
    let dialog = shows(sight(&["A?"], 3, ""), "❯ 1. Yes", 7);
    let other = |line, scrolled| shows(sight(&["Enter to confirm"], 5, ""), line, scrolled);
    assert_eq!(ended_after("Down", &dialog, &other("  1. Yes", 7)), None);
    assert_eq!(ended_after("Down", &dialog, &other("  1. Yes", 9)), moved_on);
    assert_eq!(ended_after("Down", &dialog, &other("  1. Delete", 7)), moved_on);
    // It was all that the program has read.
    let next =
        [sight(&["Run", "B?"], 4, "RunB?"), sight(&["Run", "A?"], 4, "RunA?"), sight(&[], 4, "")];
    for then in &next {
        assert_eq!(ended_after("y", &asked, then), Some(Ok(())));
        assert_eq!(ended_after("Down", &asked, then), moved_on);
        assert_eq!(ended_after("y", &lines(asked.clone()), &lines(then.clone())), moved_on);
    }
    // The same is asked again in the same place, without what was typed.
    assert_eq!(ended_after("y", &asked, &asked), Some(Ok(())));
    // Before its end nobody has read a line: it was painted over.
    assert_eq!(ended_after("y", &lines(asked.clone()), &lines(asked.clone())), None);
    // It stands where the next question is answered.
    assert_eq!(ended_after("y", &asked, &sight(&["Run", "B?"], 4, "RunB?y")), moved_on);
}
