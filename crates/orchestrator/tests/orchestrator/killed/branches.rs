//! Steps side by side whose keeper is killed: branches meet half-way, which they can only at the same
//! time, and each is run once.

use coven_model::WorkflowStatus;
use coven_model::event::SessionEvent;

use super::EVERY_RECORD_VARIABLE;
use super::keeper::{GIVEN, Place, Play, wait_until};
use super::proof::Proof;

/// Each branch leaves a file and waits for that of the other. `both` needs the two and an agent
/// beside them; `early` needs one alone.
const MEETING: &str = r"
name: meeting
description: Two branches that wait for each other.
defaults: {adapter: demo, mode: headless, permissions: all}
steps:
  - name: left
    type: script
    needs: []
    command: 'echo left >> log.txt; touch left.txt; until test -e right.txt; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done; echo met'
    output: met
  - name: right
    type: script
    needs: []
    command: 'echo right >> log.txt; touch right.txt; until test -e left.txt; do read -r -t 0.05 _ < <(tail -f /dev/null) || true; done'
  - {name: agent, type: agent, needs: [], prompt: disobey echo agent >> log.txt; say done}
  - {name: early, type: script, needs: [right], command: echo early >> log.txt}
  - {name: both, type: script, needs: [left, early, agent], command: 'echo both ${met} >> log.txt'}
";

fn place() -> Place {
    let place = Place::new(Play::Given);
    std::fs::write(place.base().with_file_name(GIVEN), MEETING).unwrap();
    place
}

/// What is the same in each run: which branch is done first is not.
fn proof(place: &Place, after: &str) -> Proof {
    Proof::collect(place, after).in_any_order()
}

/// Lets a run be killed at a record; whether there was something to kill.
fn kill_at(record: usize, wanted: &Proof) -> bool {
    let place = place();
    let mut first = place.keeper();
    let mut ended = false;
    wait_until("the record to be killed at", || {
        ended = first.has_ended();
        ended || place.records() >= record
    });
    first.kill();
    let what = format!("a kill at record {record}");
    place.finish(&what);
    assert_eq!(&proof(&place, &what), wanted, "after {what}");
    !ended
}

#[test]
fn branches_that_meet_half_way_do_so_also_if_their_keeper_is_killed() {
    let undisturbed = place();
    undisturbed.finish("nothing");
    let wanted = proof(&undisturbed, "nothing");
    assert_eq!(wanted.status(), WorkflowStatus::Completed);
    assert_eq!(wanted.log(), ["agent", "both met", "early", "left", "right"]);
    let facts = super::proof::all_facts(&undisturbed);
    let starts = |name: &str| {
        let is_start = |fact: &SessionEvent| match fact {
            SessionEvent::StepStarted { step, .. } => step == name,
            _ => false,
        };
        facts.iter().position(is_start).unwrap()
    };
    let first_end = facts.iter().position(|fact| matches!(fact, SessionEvent::TaskEnded(_)));
    for step in ["left", "right", "agent"] {
        assert!(Some(starts(step)) < first_end, "{step} starts before another ends");
    }
    let every = std::env::var_os(EVERY_RECORD_VARIABLE).is_some();
    let (mut at, step) = if every { (1, 1) } else { (3, 8) };
    let mut kills = 0;
    while kill_at(at, &wanted) {
        kills += 1;
        at += step;
    }
    eprintln!("{kills} kills, up to record {at}");
    assert!(kills > 1, "the run was hardly killed at all");
}
