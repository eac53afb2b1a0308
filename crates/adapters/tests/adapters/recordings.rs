//! Every recording of a real program is read right at every mark, however its bytes are cut.

use std::time::Duration;

use coven_adapters::replay::{ReplayEvent, replay};
use coven_model::AgentState;
use coven_terminal::recording::{EventData, RecordingEvent};
use coven_terminal::signals::{ProgramState, SignalTap, TerminalSignal};
use coven_testkit::random::Random;

use super::casts::{self, Cast, History, changed_rules, rules};

#[test]
fn every_mark_of_every_recording_is_read_right() {
    let (mut marks, mut wrong) = (0, Vec::new());
    for cast in casts::all() {
        let history = cast.read();
        marks += history.meaningful();
        wrong.extend(history.wrong().into_iter().map(|line| format!("{:<9} {line}", cast.kind)));
    }
    assert!(marks > 100, "only {marks} marks");
    assert!(wrong.is_empty(), "{} of {marks} marks wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What a program itself said it was doing, from when on.
fn told_by_program(cast: &Cast) -> Vec<(f64, Option<AgentState>)> {
    let mut tap = SignalTap::new();
    let mut told = Vec::new();
    for RecordingEvent { time, data } in &cast.events {
        let EventData::Output(text) = data else { continue };
        tap.feed(text.as_bytes(), |signal| {
            if let TerminalSignal::Status(status) = signal {
                let state = match status.state {
                    ProgramState::Idle | ProgramState::Done => Some(AgentState::Idle),
                    ProgramState::Working => Some(AgentState::Working),
                    ProgramState::Blocked => Some(AgentState::Awaiting),
                    ProgramState::Error => Some(AgentState::Error),
                    ProgramState::Clear => None,
                };
                told.push((*time, state));
            }
        });
    }
    told
}

/// For how many seconds a program told its state, and for how many of these we said the same.
fn agreement(cast: &Cast, rules: &std::sync::Arc<coven_adapters::ScreenRules>) -> (f64, f64) {
    let told = told_by_program(cast);
    let end = cast.events.last().map_or(0.0, |event| event.time);
    let history = cast.read_by(rules);
    let ours: Vec<(f64, AgentState)> = history
        .verdicts
        .iter()
        .map(|(time, verdict)| (time.as_secs_f64(), verdict.state))
        .collect();
    let mut cuts: Vec<f64> = told.iter().map(|(time, _)| *time).collect();
    cuts.extend(ours.iter().map(|(time, _)| *time));
    cuts.push(end);
    cuts.retain(|cut| *cut <= end);
    cuts.sort_by(f64::total_cmp);
    let (mut all, mut same) = (0.0, 0.0);
    for pair in cuts.windows(2) {
        let at = |time: f64| move |entry: &&(f64, _)| entry.0 <= time;
        let Some((_, Some(theirs))) = told.iter().rev().find(at(pair[0])) else { continue };
        let our = ours.iter().rev().find(|entry| entry.0 <= pair[0]);
        all += pair[1] - pair[0];
        if our.is_some_and(|(_, state)| state == theirs) {
            same += pair[1] - pair[0];
        }
    }
    (all, same)
}

/// The share of time in which all recordings of a kind agree with what the program says.
fn share(kind: &str, change: &str) -> f64 {
    let rules = changed_rules(kind, change);
    let (mut all, mut same) = (0.0, 0.0);
    for cast in casts::all().iter().filter(|cast| cast.kind == kind) {
        let (seconds, agreed) = agreement(cast, &rules);
        all += seconds;
        same += agreed;
    }
    assert!(all > 10.0, "{kind} told its state for {all} s only");
    println!("{kind} with {change}: {:.2} % of {all:.1} s", 100.0 * same / all);
    same / all
}

#[test]
fn what_is_read_agrees_with_what_the_program_tells_by_osc_7501() {
    for kind in ["claude", "codex"] {
        let share = share(kind, "{}");
        assert!(share >= 0.99, "{kind}: {share}");
    }
}

/// Where the terminal does not answer the query, Claude tells nothing, and the screen must do.
#[test]
fn without_osc_7501_the_screen_and_the_title_say_nearly_the_same() {
    let claude = share("claude", r#"{"signals": {"osc7501": false}}"#);
    assert!(claude > 0.94, "claude by its screen: {claude}");
    let codex = share("codex", r#"{"signals": {"osc7501": false}}"#);
    assert!(codex > 0.93, "codex by its title: {codex}");
}

/// The same recording with each output event in pieces.
fn in_pieces(cast: &Cast, mut piece: impl FnMut(usize) -> usize) -> Cast {
    let mut events = Vec::new();
    for event in &cast.events {
        let EventData::Output(text) = &event.data else {
            events.push(event.clone());
            continue;
        };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let length = piece(rest.chars().count()).max(1);
            let cut = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
            let (now, later) = rest.split_at(cut);
            events
                .push(RecordingEvent { time: event.time, data: EventData::Output(now.to_owned()) });
            rest = later;
        }
    }
    Cast { events, ..cast.clone() }
}

/// The same verdicts with the same digests, at about the same time: where pieces end decides
/// which of them changed the screen, and so when it is looked at and what was seen half painted.
fn assert_same(one: &History, other: &History) {
    let all = |history: &History| -> Vec<_> {
        let verdicts = history.verdicts.iter();
        verdicts.map(|(_, verdict)| (casts::word(verdict), verdict.digest.clone())).collect()
    };
    assert_eq!(all(one), all(other), "{}", one.cast);
    assert_eq!(one.at_marks(), other.at_marks(), "{}", one.cast);
    for ((here, _), (there, _)) in one.verdicts.iter().zip(&other.verdicts) {
        assert!(here.abs_diff(*there) <= Duration::from_millis(150), "{}: {here:?}", one.cast);
    }
}

#[test]
fn a_recording_in_single_characters_is_read_the_same() {
    for cast in casts::all().into_iter().filter(|cast| cast.to_bytes().len() < 40_000) {
        let rules = rules(&cast.kind);
        assert_same(&in_pieces(&cast, |_| 1).read_by(&rules), &cast.read_by(&rules));
    }
}

#[test]
fn a_recording_in_random_pieces_is_read_the_same() {
    for (seed, cast) in casts::all().into_iter().enumerate() {
        let rules = rules(&cast.kind);
        let mut random = Random::new(seed as u64);
        let pieces = in_pieces(&cast, |length| 1 + random.below(length));
        assert_same(&pieces.read_by(&rules), &cast.read_by(&rules));
    }
}

/// Bytes on a busy machine come later, and not all at once.
#[test]
fn a_recording_whose_bytes_trickle_in_is_read_the_same_at_every_mark() {
    let mut wrong = Vec::new();
    for (seed, cast) in casts::all().into_iter().enumerate() {
        let mut random = Random::new(seed as u64);
        let mut late = in_pieces(&cast, |length| 1 + random.below(length));
        let mut last = 0.0_f64;
        let times: Vec<f64> = late.events.iter().map(|event| event.time).collect();
        for (index, event) in late.events.iter_mut().enumerate() {
            // Never later than the next event of the recording, so that marks keep their place.
            let next = times[index..].iter().find(|time| **time > event.time).unwrap_or(&f64::MAX);
            let delay = f64::from(u32::try_from(random.below(20_000)).unwrap()) / 1e6;
            if matches!(event.data, EventData::Output(_)) {
                event.time = (event.time + delay).min(next - 1e-6);
            }
            event.time = event.time.max(last);
            last = event.time;
        }
        wrong.extend(late.read().wrong());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_recording_that_ends_anywhere_is_read_as_far_as_it_goes() {
    for cast in casts::all() {
        let rules = rules(&cast.kind);
        let whole = cast.told(&rules);
        // All of a short recording; as many places of a long one as take the same time.
        let bytes: usize = cast.to_bytes().len();
        let cuts = (400_000 / bytes).clamp(2, cast.events.len());
        for cut in (0..cast.events.len()).step_by(cast.events.len().div_ceil(cuts)) {
            let mut short = cast.clone();
            short.events.truncate(cut);
            let end = Duration::from_secs_f64(short.events.last().map_or(0.0, |event| event.time));
            let told = short.told(&rules);
            let before = |told: &&ReplayEvent| match told {
                ReplayEvent::Verdict(time, _)
                | ReplayEvent::Painted(time, _)
                | ReplayEvent::Mark(time, _) => *time < end,
            };
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (told.iter().filter(before).collect(), whole.iter().filter(before).collect());
            assert_eq!(ours, theirs, "{} cut after {cut} events", cast.name);
        }
    }
}

#[test]
fn any_recording_of_any_program_can_be_replayed() {
    let text = concat!(
        "{\"version\": 2, \"width\": 20, \"height\": 3, \"theme\": {}}\n",
        "[0.1, \"o\", \"hello\"]\n",
        "[0.2, \"z\", \"a kind of event that nobody knows\"]\n",
        "[0.3, \"r\", \"200x50\"]\n",
        "[0.25, \"o\", \"a clock that runs backwards\"]\n",
        "[0.4, \"m\", \"idle:not-really\"]\n",
        "[0.5, \"r\", \"1x1\"]\n",
        "[0.6, \"o\", \"\\u001b]0;\\u0007\\u001b[2J\"]\n",
    );
    for kind in coven_adapters::builtin::types() {
        let mut told = Vec::new();
        replay(rules(kind), text.as_bytes(), |fact| told.push(fact)).unwrap();
        let verdicts = told.iter().filter(|fact| matches!(fact, ReplayEvent::Verdict(..))).count();
        assert!(verdicts >= 1, "{kind} says at least that it was started");
    }
}

#[test]
fn a_recording_without_events_says_that_the_agent_was_started() {
    let words = Cast::new("claude", 80, 24).read().words();
    assert_eq!(words, ["starting"]);
}

#[test]
fn a_file_that_is_no_recording_is_an_error_and_what_came_before_is_told() {
    let mut told = 0;
    let broken = "{\"version\": 2, \"width\": 80, \"height\": 24}\n[0.1, \"o\", \"x\"]\n[0.2, oh";
    replay(rules("claude"), broken.as_bytes(), |_| told += 1).unwrap_err();
    assert_eq!(told, 1);
    replay(rules("claude"), "".as_bytes(), |_| ()).unwrap_err();
    replay(rules("claude"), &b"\x00\xff\xfe"[..], |_| ()).unwrap_err();
}
