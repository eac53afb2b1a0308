//! Keys one after another, held answers, and what a question that stays means.

use super::*;

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
    assert_eq!(answer.feed(1, asked, s(0)), [first, AnswerEffect::Wake(KEY_TIMEOUT)]);
    assert_eq!(
        answer.feed(1, asked, s(1)),
        [AnswerEffect::Wake(KEY_TIMEOUT)],
        "it is not pressed twice"
    );
    let due = s(2) + TAKEN_TIMEOUT;
    assert_eq!(answer.feed(2, asked, s(2)), [second, AnswerEffect::Wake(due)]);
    assert!(answer.is_pressed());
    assert_eq!(answer.feed(3, asked, s(3)), [AnswerEffect::Wake(due)], "it is still asked");
    assert_eq!(answer.feed(4, GONE, s(4)), [AnswerEffect::Ended("caller", Ok(()))]);
    assert!(answer.is_none());
    assert_eq!(answer.feed(5, GONE, s(5)), []);
}

#[test]
fn an_answer_after_which_the_same_is_asked_was_not_taken() {
    let mut answer = pressing(&["Enter"]);
    let asked = digest("asked");
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), s(0));
    let failed = [AnswerEffect::Ended("caller", Err(AnswerError::StillAsked))];
    assert_eq!(answer.feed(2, ShownQuestion::Asked(Some(&asked)), TAKEN_TIMEOUT), failed);
    let mut answer = pressing(&["Enter"]);
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), s(0));
    let again = digest("asked again");
    assert_eq!(answer.feed(2, ShownQuestion::Again(&again), s(3)), failed);
    // One that counted as asked again before is answered like any other.
    let mut answer = pressing(&["Enter"]);
    let wait = AnswerEffect::Wake(s(3) + TAKEN_TIMEOUT);
    let pressed = answer.feed(2, ShownQuestion::Again(&again), s(3));
    assert_eq!(pressed, [AnswerEffect::Press(key("Enter")), wait]);
    assert_eq!(answer.feed(3, GONE, s(4)), [AnswerEffect::Ended("caller", Ok(()))]);
    // Another question is the next one.
    let mut answer = pressing(&["Enter"]);
    answer.feed(1, ShownQuestion::Asked(Some(&asked)), s(0));
    let ended = [AnswerEffect::Ended("caller", Ok(()))];
    assert_eq!(answer.feed(2, ShownQuestion::Asked(Some(&digest("another"))), s(1)), ended);
}

#[test]
fn after_a_key_without_effect_the_rest_is_not_pressed() {
    let mut answer = pressing(&["Down", "Down", "Enter"]);
    answer.feed(1, GONE, s(0));
    answer.feed(2, GONE, s(1));
    let error = AnswerError::NotTaken { number: 2, of: 3 };
    assert_eq!(answer.feed(2, GONE, s(4)), [AnswerEffect::Ended("caller", Err(error))]);
    assert_eq!(answer.feed(3, GONE, s(5)), []);
}

#[test]
fn an_answer_is_held_until_its_question_has_settled_or_is_gone() {
    let held = || {
        let action = AnswerAction::Choose(InterventionChoice::Approve);
        let answer = GivenAnswer { digest: digest("asked"), action, name: None, typed: 0 };
        PendingAnswer::Held(HeldAnswer { answer, reply: "caller", due: s(2), patience: None })
    };
    let asked = digest("asked");
    let mut answer = held();
    assert_eq!(answer.feed(1, GONE, s(0)), [], "no key is pressed before");
    assert!(matches!(answer.release(Some(&asked), s(1)), Release::Wait(due) if due == s(2)));
    assert!(matches!(answer.release(Some(&asked), s(2)), Release::Give(_)));
    assert!(matches!(answer.release(Some(&asked), s(3)), Release::None));
    for other in [None, Some(&digest("another"))] {
        assert!(matches!(held().release(other, s(1)), Release::Give(_)));
    }
    assert_eq!(held().abandon(), Some("caller"));
    assert_eq!(pressing(&["Enter"]).abandon(), Some("caller"));
}

#[test]
fn keys_that_are_pressed_are_not_released_as_a_held_answer() {
    let mut answer = pressing(&["Enter"]);
    assert!(matches!(answer.release(None, s(1)), Release::None));
    assert!(answer.is_pressing());
}
