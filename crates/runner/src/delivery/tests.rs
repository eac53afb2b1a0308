//! Deliveries against agents that misbehave at each step.

use super::question::REAPPEAR_TIME;
use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn view<'a>(state: AgentState, screen: &'a str, prompt: &'a str, worked: bool) -> PromptView<'a> {
    let (shown_since, obstacle, written) = (None, PromptObstacle::None, true);
    let (draft, line, asked) = (None, None, None);
    PromptView {
        state,
        shown_since,
        obstacle,
        draft,
        screen,
        prompt,
        line,
        row: 0,
        before_cursor: "",
        stability: StateStability::Settled,
        asked_words: None,
        printed: OutputSinceTyped::Nothing,
        work: WorkSigns::Rules,
        worked,
        written,
        asked,
        collects_lines: false,
        reader: InputReader::MayRead,
    }
}

fn typed(text: &str) -> Delivery {
    let mut delivery = Delivery::new(1, Message::new(text), s(0));
    let idle = view(AgentState::Idle, "", "", false);
    assert_eq!(delivery.step(&idle, s(0)), DeliveryStep::Type);
    delivery
}

fn submitted(text: &str) -> Delivery {
    let mut delivery = typed(text);
    let shown = squeeze(text);
    let echo = view(AgentState::Idle, &shown, &shown, false);
    assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.stage(), DeliveryStage::Echoed);
    assert_eq!(delivery.step(&echo, s(2)), DeliveryStep::Submit);
    delivery
}

fn failed(reached: DeliveryStage, missing: DeliveryStage) -> DeliveryStep {
    DeliveryStep::Failed(DeliveryError::Unverified { reached, missing })
}

#[test]
fn an_agent_that_is_not_ready_is_not_typed_at() {
    let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
    let starting = view(AgentState::Starting, "", "", false);
    assert_eq!(delivery.step(&starting, s(1)), DeliveryStep::Wait(READY_TIMEOUT));
    let error = DeliveryError::NotReady { state: AgentState::Starting };
    assert_eq!(delivery.step(&starting, READY_TIMEOUT), DeliveryStep::Failed(error));
    let mut puzzled = Delivery::new(1, Message::new("hello"), s(0));
    let unknown = view(AgentState::Unknown, "What?", "What?", false);
    assert_eq!(puzzled.step(&unknown, s(1)), DeliveryStep::Wait(UNKNOWN_TIMEOUT));
    let error = DeliveryError::NotReady { state: AgentState::Unknown };
    assert_eq!(puzzled.step(&unknown, UNKNOWN_TIMEOUT), DeliveryStep::Failed(error));
}

#[test]
fn text_that_is_not_taken_or_not_shown_fails_at_that_step_and_is_not_typed_again() {
    let mut stuck = typed("hello");
    let unwritten = PromptView { written: false, ..view(AgentState::Idle, "", "", false) };
    assert!(matches!(stuck.step(&unwritten, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(
        stuck.step(&unwritten, s(60)),
        failed(DeliveryStage::Accepted, DeliveryStage::Typed)
    );

    let mut unseen = typed("hello");
    let blank = view(AgentState::Idle, "", "", false);
    assert!(matches!(unseen.step(&blank, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(unseen.step(&blank, s(60)), failed(DeliveryStage::Typed, DeliveryStage::Echoed));
}

#[test]
fn words_that_were_on_the_screen_before_are_no_echo() {
    let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
    let before = view(AgentState::Idle, "hello", "", false);
    assert_eq!(delivery.step(&before, s(0)), DeliveryStep::Type);
    assert!(matches!(delivery.step(&before, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.stage(), DeliveryStage::Typed);
    let after = view(AgentState::Idle, "hello>hello", "hello", false);
    delivery.step(&after, s(2));
    assert_eq!(delivery.stage(), DeliveryStage::Echoed);
}

#[test]
fn a_placeholder_for_a_long_paste_is_an_echo() {
    let mut delivery = typed("one\ntwo\nthree");
    let pasted = view(AgentState::Idle, "[Pasted~3lines]", "[Pasted~3lines]", false);
    delivery.step(&pasted, s(1));
    assert_eq!(delivery.stage(), DeliveryStage::Echoed);
}

#[test]
fn a_text_that_stays_in_the_prompt_was_not_submitted() {
    let mut delivery = submitted("hello");
    let still = view(AgentState::Idle, "hello", "hello", false);
    assert!(matches!(delivery.step(&still, s(3)), DeliveryStep::Wait(_)));
    assert_eq!(
        delivery.step(&still, s(60)),
        failed(DeliveryStage::Echoed, DeliveryStage::Submitted)
    );
}

#[test]
fn an_agent_that_does_not_begin_to_work_is_told() {
    let mut delivery = submitted("hello");
    let gone = view(AgentState::Idle, "hello", "", false);
    assert!(matches!(delivery.step(&gone, s(3)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.stage(), DeliveryStage::Submitted);
    assert_eq!(
        delivery.step(&gone, s(90)),
        failed(DeliveryStage::Submitted, DeliveryStage::TurnStarted)
    );
}

#[test]
fn a_turn_that_was_over_before_anybody_looked_still_started() {
    let mut delivery = submitted("hello");
    let done = view(AgentState::Idle, "hello answer", "", true);
    assert_eq!(delivery.step(&done, s(3)), DeliveryStep::Done);
    assert_eq!(delivery.stage(), DeliveryStage::TurnStarted);
}

#[test]
fn a_command_of_the_program_needs_no_turn_and_may_end_it() {
    let quit = Message::new("/quit");
    for (state, ended) in [(AgentState::Idle, false), (AgentState::Exited, true)] {
        let mut delivery = Delivery::new(1, quit.clone(), s(0));
        delivery.step(&view(AgentState::Idle, "", "", false), s(0));
        let echo = view(AgentState::Idle, "/quit", "/quit", false);
        delivery.step(&echo, s(1));
        assert_eq!(delivery.step(&echo, s(2)), DeliveryStep::Submit);
        assert_eq!(
            delivery.step(&view(state, "bye", "", false), s(3)),
            DeliveryStep::Done,
            "{ended}"
        );
    }
}

#[test]
fn an_agent_that_asks_or_has_ended_gets_nothing() {
    for (state, error) in [
        (AgentState::Awaiting, DeliveryError::Awaiting),
        (AgentState::Exited, DeliveryError::Ended),
    ] {
        let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
        assert_eq!(delivery.step(&view(state, "", "", false), s(0)), DeliveryStep::Failed(error));
    }
}

#[test]
fn nothing_is_typed_into_a_prompt_that_has_only_just_appeared() {
    let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
    let shown_since =
        PromptView { shown_since: Some(s(3)), ..view(AgentState::Idle, "", "", false) };
    assert_eq!(delivery.step(&shown_since, s(3)), DeliveryStep::Wait(s(4)));
    let dialog = view(AgentState::Awaiting, "", "", false);
    let mut other = Delivery::new(2, Message::new("hello"), s(0));
    assert!(matches!(other.step(&shown_since, s(3)), DeliveryStep::Wait(_)));
    assert_eq!(other.step(&dialog, s(4)), DeliveryStep::Failed(DeliveryError::Awaiting));
    assert_eq!(delivery.step(&shown_since, s(4)), DeliveryStep::Type);
}

#[test]
fn a_message_that_is_back_in_the_prompt_is_deleted_first_and_once() {
    let left = PromptView {
        obstacle: PromptObstacle::Leftover,
        ..view(AgentState::Idle, "", "old", false)
    };
    let mut delivery = Delivery::new(1, Message::new("new"), s(0));
    assert_eq!(delivery.step(&left, s(0)), DeliveryStep::Clear);
    assert!(matches!(delivery.step(&left, s(1)), DeliveryStep::Wait(_)));
    let gone = view(AgentState::Idle, "", "", false);
    assert_eq!(delivery.step(&gone, s(2)), DeliveryStep::Type);
    let mut stuck = Delivery::new(2, Message::new("new"), s(0));
    assert_eq!(stuck.step(&left, s(0)), DeliveryStep::Clear);
    assert_eq!(stuck.step(&left, s(60)), DeliveryStep::Failed(DeliveryError::Occupied));
}

#[test]
fn a_message_that_stands_in_the_prompt_already_is_only_submitted() {
    let there = Message { typed: true, ..Message::new("hello") };
    let mut delivery = Delivery::new(1, there.clone(), s(0));
    // A prompt with something in it may look like nothing that is known.
    let shown = view(AgentState::Unknown, ">hello", "hello", false);
    assert!(matches!(delivery.step(&shown, s(0)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.stage(), DeliveryStage::Echoed);
    assert_eq!(delivery.step(&shown, s(1)), DeliveryStep::Submit);
    let mut unseen = Delivery::new(2, there.clone(), s(0));
    let blank = view(AgentState::Unknown, "", "", false);
    assert!(matches!(unseen.step(&blank, s(0)), DeliveryStep::Wait(_)));
    assert_eq!(unseen.step(&blank, s(60)), failed(DeliveryStage::Typed, DeliveryStage::Echoed));
    // A prompt without it is empty: something has swallowed it, and it was never submitted.
    let mut swallowed = Delivery::new(3, there, s(0));
    let works = view(AgentState::Working, "busy", "", false);
    assert!(matches!(swallowed.step(&works, s(100)), DeliveryStep::Wait(_)));
    let idle = view(AgentState::Idle, ">", ">", false);
    assert_eq!(swallowed.step(&idle, s(100)), DeliveryStep::Wait(s(100) + REAPPEAR_TIME));
    assert_eq!(swallowed.step(&idle, s(102)), DeliveryStep::Type);
}

#[test]
fn a_message_waits_for_as_long_as_the_agent_asks_if_it_is_to() {
    let mut delivery = Delivery::new(1, Message { waits: true, ..Message::new("hello") }, s(0));
    let asks = view(AgentState::Awaiting, "sure?", "", false);
    assert!(matches!(delivery.step(&asks, s(1)), DeliveryStep::Wait(_)));
    assert!(matches!(delivery.step(&asks, s(10_000)), DeliveryStep::Wait(_)));
    let idle = view(AgentState::Idle, "", "", false);
    assert_eq!(delivery.step(&idle, s(10_001)), DeliveryStep::Type);
    let mut hasty = Delivery::new(1, Message::new("hello"), s(0));
    assert_eq!(hasty.step(&asks, s(1)), DeliveryStep::Failed(DeliveryError::Awaiting));
}

#[test]
fn a_message_that_is_submitted_when_the_agent_has_stopped_working_needs_a_turn_of_its_own() {
    let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
    assert_eq!(delivery.step(&view(AgentState::Working, "", "", false), s(0)), DeliveryStep::Type);
    let echo = view(AgentState::Idle, ">hello", ">hello", false);
    assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&echo, s(2)), DeliveryStep::Submit);
    let left = view(AgentState::Idle, "hello", ">", false);
    assert!(matches!(delivery.step(&left, s(3)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&view(AgentState::Working, "", "", true), s(4)), DeliveryStep::Done);
}

#[test]
fn a_second_message_waits_for_the_end_of_the_turn_that_has_one() {
    let mut delivery = Delivery::new(2, Message::new("second"), s(0));
    let works = view(AgentState::Working, "", "", false);
    let works = PromptView { obstacle: PromptObstacle::OtherMessage, ..works };
    assert!(matches!(delivery.step(&works, s(1)), DeliveryStep::Wait(_)));
    assert!(matches!(delivery.step(&works, s(10_000)), DeliveryStep::Wait(_)));
    let idle = view(AgentState::Idle, "", "", false);
    assert_eq!(delivery.step(&idle, s(10_001)), DeliveryStep::Type);
}

#[test]
fn commands_of_the_program_need_no_turn_and_what_is_sent_anyway_needs_nothing() {
    for text in ["/help", "!ls", "# remember this"] {
        let mut command = submitted(text);
        let gone = view(AgentState::Idle, "", "", false);
        assert_eq!(command.step(&gone, s(3)), DeliveryStep::Done, "{text}");
    }
    let message = Message { proof: DeliveryProof::None, ..Message::new("hello") };
    let mut blind = Delivery::new(1, message, s(0));
    let unknown = view(AgentState::Idle, "", "", false);
    assert_eq!(blind.step(&unknown, s(0)), DeliveryStep::Type);
    assert!(matches!(blind.step(&unknown, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(blind.step(&unknown, s(2)), DeliveryStep::Submit);
    assert_eq!(blind.step(&unknown, s(3)), DeliveryStep::Done);
}

#[test]
fn a_draft_of_a_person_is_left_and_said() {
    let behind = |state: AgentState| PromptView {
        obstacle: PromptObstacle::Draft,
        draft: Some("half a thought"),
        ..view(state, "", "", false)
    };
    for state in [AgentState::Idle, AgentState::Working] {
        let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
        assert_eq!(delivery.step(&behind(state), s(1)), DeliveryStep::Wait(s(1) + DRAFT_PATIENCE));
        let error = DeliveryError::Draft("half a thought".to_owned());
        assert!(!error.was_typed());
        assert_eq!(delivery.step(&behind(state), s(11)), DeliveryStep::Failed(error));
    }
    // What was just typed may not be there yet.
    let typing = PromptView {
        obstacle: PromptObstacle::Keys(s(2)),
        ..view(AgentState::Idle, "", "", false)
    };
    let mut delivery = Delivery::new(1, Message::new("hello"), s(1));
    assert_eq!(delivery.step(&typing, s(1)), DeliveryStep::Wait(s(2)));
    // It goes on once the person is done.
    let mut delivery = Delivery::new(1, Message::new("hello"), s(0));
    delivery.step(&behind(AgentState::Idle), s(1));
    assert_eq!(delivery.step(&view(AgentState::Idle, "", "", false), s(5)), DeliveryStep::Type);
    // Whoever says that it is to be sent anyway has read what stands there.
    let unverified =
        Message { proof: DeliveryProof::None, over_draft: true, ..Message::new("hello") };
    let mut delivery = Delivery::new(1, unverified, s(0));
    assert_eq!(delivery.step(&behind(AgentState::Idle), s(1)), DeliveryStep::Type);
}

#[test]
fn an_answer_was_taken_if_something_else_is_asked_right_below_it() {
    let (first, second) = (ContentDigest::of_bytes(b"name"), ContentDigest::of_bytes(b"colour"));
    let asking = |screen, asked| PromptView {
        asked: Some(asked),
        ..view(AgentState::Awaiting, screen, screen, false)
    };
    let mut delivery = Delivery::answer(1, Message::new("mary"), s(0));
    assert_eq!(delivery.step(&asking("name:", &first), s(0)), DeliveryStep::Type);
    assert!(matches!(delivery.step(&asking("name:mary", &first), s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&asking("name:mary", &first), s(2)), DeliveryStep::Submit);
    assert!(matches!(delivery.step(&asking("name:mary", &first), s(3)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&asking("name:marycolour:", &second), s(4)), DeliveryStep::Done);
}

/// An agent that was typed at while it worked asks something before the text is submitted.
#[test]
fn the_key_that_submits_a_message_is_not_pressed_in_a_question() {
    let mut delivery = Delivery::new(1, Message { waits: true, ..Message::new("hello") }, s(0));
    let works = view(AgentState::Working, "", "", false);
    assert_eq!(delivery.step(&works, s(0)), DeliveryStep::Type);
    let echo = view(AgentState::Working, ">hello", ">hello", false);
    assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
    // The text may still be on the screen, or not.
    let asks = view(AgentState::Awaiting, ">hello sure?1.Yes", "sure?1.Yes", false);
    assert!(matches!(delivery.step(&asks, s(2)), DeliveryStep::Wait(_)));
    let asks = view(AgentState::Awaiting, "sure?1.Yes", "sure?1.Yes", false);
    assert!(matches!(delivery.step(&asks, s(10_000)), DeliveryStep::Wait(_)));
    assert!(!delivery.is_about_to_be_submitted(), "a person's keys need not wait for it");
    // It is back once the question is gone, and rests before it is submitted.
    let again = delivery.step(&echo, s(10_000));
    assert_eq!(again, DeliveryStep::Wait(s(10_000) + ECHO_SETTLE_TIME));
    assert_eq!(delivery.step(&echo, s(10_002)), DeliveryStep::Submit);

    let mut hasty = typed("hello");
    let echo = view(AgentState::Idle, ">hello", ">hello", false);
    assert!(matches!(hasty.step(&echo, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(hasty.step(&asks, s(2)), DeliveryStep::Failed(DeliveryError::Awaiting));
}

/// A dialog that no rule knows takes the place of the prompt.
#[test]
fn a_message_that_is_no_longer_on_the_screen_is_not_submitted() {
    let mut delivery = typed("hello");
    let echo = view(AgentState::Idle, ">hello", ">hello", false);
    assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
    let other = view(AgentState::Idle, "a new dialog", "a new dialog", false);
    assert!(matches!(delivery.step(&other, s(2)), DeliveryStep::Wait(_)));
    assert_eq!(
        delivery.step(&other, s(60)),
        failed(DeliveryStage::Echoed, DeliveryStage::Submitted)
    );
}

#[test]
fn a_message_that_a_question_swallowed_is_typed_again_after_it() {
    let mut delivery = Delivery::new(1, Message { waits: true, ..Message::new("hello") }, s(0));
    let works = view(AgentState::Working, "busy", "", false);
    assert_eq!(delivery.step(&works, s(0)), DeliveryStep::Type);
    let asks = view(AgentState::Awaiting, "sure?1.Yes", "sure?1.Yes", false);
    assert!(matches!(delivery.step(&asks, s(1)), DeliveryStep::Wait(_)));
    assert!(matches!(delivery.step(&asks, s(1000)), DeliveryStep::Wait(_)));
    // It may come back a moment later.
    assert_eq!(delivery.step(&works, s(1000)), DeliveryStep::Wait(s(1000) + REAPPEAR_TIME));
    assert_eq!(delivery.step(&works, s(1002)), DeliveryStep::Type);
    let echo = view(AgentState::Working, ">hello", ">hello", false);
    assert!(matches!(delivery.step(&echo, s(1003)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&echo, s(1004)), DeliveryStep::Submit);
}

#[test]
fn a_line_that_is_done_before_anybody_looks_has_arrived() {
    let mut delivery = typed("print(1+1)");
    let lines = |screen, prompt, line| PromptView {
        line: Some(line),
        ..view(AgentState::Idle, screen, prompt, false)
    };
    let echo = lines(">>>print(1+1)", ">>>print(1+1)", ">>>print(1+1)");
    assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&echo, s(2)), DeliveryStep::Submit);
    // It may have printed nothing.
    let next = lines(">>>print(1+1)>>>", ">>>print(1+1)>>>", ">>>");
    assert_eq!(delivery.step(&next, s(3)), DeliveryStep::Wait(s(3) + LINE_TURN_TIME));
    assert_eq!(delivery.step(&next, s(4)), DeliveryStep::Done);
    assert_eq!(delivery.stage(), DeliveryStage::TurnStarted);
}

/// A shell has no sign of its work, and its line editor takes pastes.
#[test]
fn a_command_that_takes_the_prompt_away_has_arrived_where_there_is_no_other_sign() {
    let shell = |state, screen, line| PromptView {
        line: Some(line),
        work: WorkSigns::PromptOnly,
        ..view(state, screen, screen, false)
    };
    for state in [AgentState::Idle, AgentState::Unknown] {
        let mut delivery = typed("sleep 60");
        let echo = shell(AgentState::Idle, "$sleep60", "$sleep60");
        assert!(matches!(delivery.step(&echo, s(1)), DeliveryStep::Wait(_)));
        assert_eq!(delivery.step(&echo, s(2)), DeliveryStep::Submit);
        let gone = shell(state, "$sleep60", "");
        assert_eq!(delivery.step(&gone, s(3)), DeliveryStep::Wait(s(3) + LINE_TURN_TIME));
        assert_eq!(delivery.step(&gone, s(4)), DeliveryStep::Done);
    }
}

#[test]
fn what_is_sent_anyway_is_typed_whatever_the_agent_shows_but_a_question() {
    let anyway = Message { proof: DeliveryProof::None, ..Message::new("hello") };
    let mut delivery = Delivery::new(1, anyway.clone(), s(0));
    let unknown = view(AgentState::Unknown, "What?", "What?", false);
    assert_eq!(delivery.step(&unknown, s(0)), DeliveryStep::Type);
    assert!(matches!(delivery.step(&unknown, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&unknown, s(2)), DeliveryStep::Submit);
    let mut asked = Delivery::new(1, anyway, s(0));
    let asks = view(AgentState::Awaiting, "sure?", "sure?", false);
    assert_eq!(asked.step(&asks, s(0)), DeliveryStep::Failed(DeliveryError::Awaiting));
}

/// A program that counts down in the line of its question paints over what is typed there.
#[test]
fn a_line_that_is_painted_over_is_submitted_all_the_same() {
    let line = |screen| PromptView {
        line: Some(screen),
        collects_lines: true,
        reader: InputReader::MayRead,
        ..view(AgentState::Awaiting, screen, screen, false)
    };
    let mut delivery = Delivery::answer(1, Message::new("yes"), s(0));
    assert_eq!(delivery.step(&line("Sure?(9s)"), s(0)), DeliveryStep::Type);
    assert!(matches!(delivery.step(&line("Sure?(9s)yes"), s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&line("Sure?(8s)"), s(2)), DeliveryStep::Submit);
}

/// What is done about an answer that was typed behind a question, when the line of the cursor is this
/// in that row. The question stood in row 3.
fn answer_in_line(
    (asked, text): (&str, &str),
    (now, row): (&str, u64),
    collects_lines: bool,
) -> DeliveryStep {
    let mut delivery = Delivery::answer(1, Message::new(text), s(0));
    let lines = |screen, line, row| PromptView {
        line: Some(line),
        row,
        collects_lines,
        ..view(AgentState::Awaiting, screen, line, false)
    };
    assert_eq!(delivery.step(&lines(asked, asked, 3), s(0)), DeliveryStep::Type);
    let (typed, later) = ([asked, text].concat(), [asked, text, now].concat());
    assert!(matches!(delivery.step(&lines(&typed, &typed, 3), s(1)), DeliveryStep::Wait(_)));
    delivery.step(&lines(&later, now, row), s(2));
    delivery.step(&lines(&later, now, row), s(3))
}

#[test]
fn an_answer_is_not_submitted_to_another_question_than_it_was_typed_for() {
    for (asked, text, now, row) in [
        ("Deletefilenumber15?(yes/no)", "a15", "Deletefilenumber16?(yes/no)", 4),
        ("Deletefilenumber15?", "y", "Timedout.Deletefilenumber16?", 3),
        ("Sure?(y/n)", "y", "Sure?(y/n)", 4),
        ("Number15?", "n", "Number16?", 3),
    ] {
        let step = |lines| answer_in_line((asked, text), (now, row), lines);
        assert_eq!(step(true), DeliveryStep::Failed(DeliveryError::QuestionChanged), "{now}");
        // What reads single keys has read it.
        let read = match text.len() {
            1 => DeliveryStep::Done,
            _ => DeliveryStep::Failed(DeliveryError::MovedOn),
        };
        assert_eq!(step(false), read, "{now}");
    }
    for (asked, text, now, row) in [
        ("Continuein5s?", "n", "Continuein4s?", 3),
        ("Continuein5s?", "n", "Continuein4s?n", 3),
        ("Sure?y/n", "n", "Sure?y/nn", 3),
        ("Sure?", "yes", "Sure?yes", 5),
    ] {
        for lines in [true, false] {
            let step = answer_in_line((asked, text), (now, row), lines);
            assert!(matches!(step, DeliveryStep::Wait(_)), "{now}: it was submitted: {step:?}");
        }
    }
    let editor = answer_in_line(("?Name(John)", "Mary"), ("?NameMary", 3), false);
    assert!(matches!(editor, DeliveryStep::Wait(_)), "it was submitted: {editor:?}");
}

/// The next question may be there before the answer is seen.
#[test]
fn a_key_that_was_read_before_it_was_seen_is_not_submitted_to_the_next_question() {
    let mut delivery = Delivery::answer(1, Message::new("y"), s(0));
    let lines = |screen, line, row| PromptView {
        line: Some(line),
        row,
        ..view(AgentState::Awaiting, screen, line, false)
    };
    let first = "Deletefile1?[y/n]";
    assert_eq!(delivery.step(&lines(first, first, 0), s(0)), DeliveryStep::Type);
    let screen = "Deletefile1?[y/n]yDeletefile2?[y/n]";
    let second = lines(screen, "Deletefile2?[y/n]", 1);
    assert!(matches!(delivery.step(&second, s(1)), DeliveryStep::Wait(_)));
    assert_eq!(delivery.step(&second, s(2)), DeliveryStep::Done);
}
