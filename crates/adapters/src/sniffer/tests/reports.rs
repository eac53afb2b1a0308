//! What an agent reports by itself counts as that of a witness: it never ends a turn or hides a
//! question alone.

use super::*;

const WORK: HookEvent = HookEvent::PostToolUse;

/// A sniffer whose agent has been seen to work on the screen.
fn at_work() -> ScreenSniffer {
    let mut sniffer = sniffer();
    settled(&mut sniffer, "esc to interrupt", 0);
    sniffer
}

fn evidence(sniffer: &ScreenSniffer) -> (EvidenceSource, &str) {
    let evidence = &sniffer.verdict().evidence;
    (evidence.source, &evidence.rule)
}

#[test]
fn reported_work_counts_over_a_title_and_a_screen_that_rest() {
    let mut sniffer = sniffer();
    sniffer.signal(&title("ready"), ms(0));
    assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Idle);
    sniffer.printed(ms(1000));
    sniffer.report(HookEvent::UserPromptSubmit, ms(1000));
    sniffer.look_at_text(">", ms(1000));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
    assert_eq!(evidence(&sniffer), (EvidenceSource::Channel, "hook:UserPromptSubmit"));
    let conflicts = &sniffer.verdict().evidence.conflicts;
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!(
        (conflicts[0].source, conflicts[0].state),
        (EvidenceSource::Title, AgentState::Idle)
    );
}

#[test]
fn the_programs_status_counts_over_what_was_reported() {
    for (said, reported, state) in [
        (ProgramState::Working, HookEvent::Stop, AgentState::Working),
        (ProgramState::Idle, WORK, AgentState::Idle),
    ] {
        let mut sniffer = sniffer();
        sniffer.signal(&status(said), ms(0));
        sniffer.report(reported, ms(1));
        assert_eq!(settled(&mut sniffer, ">", 2), state);
        assert_eq!(sniffer.verdict().evidence.source, EvidenceSource::Signal);
        let conflicts = &sniffer.verdict().evidence.conflicts;
        assert!(conflicts.iter().any(|other| other.source == EvidenceSource::Channel), "{said:?}");
    }
}

#[test]
fn a_reported_end_does_not_end_work_that_the_screen_shows() {
    let mut sniffer = at_work();
    for event in [HookEvent::Stop, HookEvent::StopFailure] {
        sniffer.report(event, ms(1000));
        assert_eq!(settled(&mut sniffer, "esc to interrupt", 1000), AgentState::Working);
        assert_eq!(evidence(&sniffer), (EvidenceSource::Screen, "execution_running"));
    }
    // The title alone keeps it at work as well.
    sniffer.signal(&title("working"), ms(3000));
    assert_eq!(settled(&mut sniffer, ">", 3000), AgentState::Working);
    sniffer.signal(&title("rest"), ms(6000));
    assert_eq!(settled(&mut sniffer, ">", 6000), AgentState::Error, "as it reported");
    assert_eq!(evidence(&sniffer), (EvidenceSource::Channel, "hook:StopFailure"));
}

/// A child of the agent can report, so that a person would never hear of such a screen.
#[test]
fn a_report_decides_nothing_about_a_screen_that_nobody_knows() {
    for event in HookEvent::ALL {
        let mut sniffer = sniffer();
        assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Idle);
        sniffer.printed(ms(1000));
        sniffer.report(event, ms(1000));
        let state = settled(&mut sniffer, "something that nobody knows", 1000);
        assert_eq!(state, AgentState::Unknown, "{event:?}");
        assert_ne!(sniffer.verdict().evidence.source, EvidenceSource::Channel, "{event:?}");
    }
}

#[test]
fn no_report_takes_a_question_away_or_answers_it() {
    let mut sniffer = sniffer();
    sniffer.look_at_text("Run rm?", ms(0));
    let asked = sniffer.verdict().digest.clone();
    assert!(asked.is_some());
    for (time, event) in (1..).zip(HookEvent::ALL) {
        sniffer.report(event, ms(time * 1000));
        assert_eq!(
            settled(&mut sniffer, "Run rm?", time * 1000),
            AgentState::Awaiting,
            "{event:?}"
        );
        assert_eq!(sniffer.verdict().digest, asked, "{event:?}");
    }
    assert_eq!(sniffer.questions_asked(), 1);
}

#[test]
fn reported_work_hides_no_question_that_no_rule_knows() {
    let mut sniffer = sniffer();
    sniffer.report(WORK, ms(0));
    sniffer.look_at_text("Overwrite it? [y/N]", ms(0));
    sniffer.tick(ms(1000));
    assert_eq!(sniffer.verdict().state, AgentState::Awaiting);
}

#[test]
fn a_request_for_leave_says_nothing_but_that_the_agent_does_not_work() {
    let mut sniffer = sniffer();
    sniffer.printed(ms(0));
    sniffer.report(WORK, ms(0));
    assert_eq!(settled(&mut sniffer, ">", 0), AgentState::Working);
    sniffer.report(HookEvent::PermissionRequest, ms(1000));
    assert_eq!(settled(&mut sniffer, ">", 1000), AgentState::Idle);
    assert_eq!(evidence(&sniffer), (EvidenceSource::Screen, "interaction_idle"));
}

#[test]
fn what_is_typed_ends_what_was_reported() {
    let mut sniffer = sniffer();
    for event in [WORK, HookEvent::Stop] {
        sniffer.report(event, ms(0));
        sniffer.typed(ms(1));
        assert_eq!(sniffer.reported(), None);
    }
    // As after an interrupt, which is never reported.
    assert_eq!(settled(&mut sniffer, ">", 1000), AgentState::Idle);
}

#[test]
fn reported_work_does_not_outlast_silence() {
    let mut sniffer = sniffer();
    sniffer.report(WORK, ms(0));
    sniffer.look_at_text(">", ms(0));
    sniffer.printed(ms(5000));
    sniffer.look_at_text(">", ms(5000));
    sniffer.tick(ms(14_999));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
    assert_eq!(sniffer.deadline(), Some(ms(15_000)));
    sniffer.tick(ms(15_000));
    let settled = sniffer.deadline().unwrap();
    sniffer.tick(settled);
    assert_eq!(sniffer.verdict().state, AgentState::Idle, "{:?}", sniffer.verdict());
    assert_eq!(evidence(&sniffer), (EvidenceSource::Screen, "interaction_idle"));
}

#[test]
fn a_sniffer_that_takes_over_knows_what_was_reported() {
    let mut sniffer = ScreenSniffer::resumed(compiled(RULES), &[], Some(WORK), 0);
    assert!(!sniffer.take_worked(), "that was noticed before");
    sniffer.look_at_text(">", ms(1));
    assert_eq!(sniffer.verdict().state, AgentState::Working);
}
