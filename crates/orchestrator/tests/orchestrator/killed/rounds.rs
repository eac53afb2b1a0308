//! A loop of several steps whose keeper is killed: each step of each round is run once, and the round
//! that was under way is gone on with.

use coven_model::WorkflowStatus;
use coven_model::event::{LoopVerdict, SessionEvent};

use super::EVERY_RECORD_VARIABLE;
use super::keeper::{GIVEN, Place, Play, wait_until};
use super::proof::Proof;

/// Three rounds: the test fails twice, and passes in the third.
const ROUNDS: &str = r#"
name: rounds
description: Tests and mends until the test passes.
defaults: {adapter: demo, mode: headless, permissions: all}
steps:
  - name: green
    type: loop
    until: steps.test.exit_code == 0
    output: green
    steps:
      - name: test
        type: script
        on_failure: continue
        command: 'echo "test ${iteration}" >> log.txt; test "$(cat mended.txt 2>/dev/null)" = 2 && echo green'
      - name: mend
        type: agent
        when: steps.test.exit_code != 0
        prompt: disobey echo mend ${iteration} >> log.txt; write mended.txt ${iteration}; say mended
  - {name: after, type: script, command: 'echo "after ${green}" >> log.txt'}
"#;

fn place() -> Place {
    let place = Place::new(Play::Given);
    std::fs::write(place.base().with_file_name(GIVEN), ROUNDS).unwrap();
    place
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
    assert_eq!(&Proof::collect(&place, &what), wanted, "after {what}");
    assert_eq!(verdicts(&place), VERDICTS, "after {what}");
    !ended
}

const VERDICTS: [(u32, LoopVerdict); 3] =
    [(1, LoopVerdict::Actionable), (2, LoopVerdict::Actionable), (3, LoopVerdict::Done)];

fn verdicts(place: &Place) -> Vec<(u32, LoopVerdict)> {
    let facts = super::proof::all_facts(place);
    let judged = facts.iter().filter_map(|fact| match fact {
        SessionEvent::LoopJudged { round, verdict, .. } => Some((*round, *verdict)),
        _ => None,
    });
    judged.collect()
}

#[test]
fn each_step_of_each_round_is_run_once_also_if_its_keeper_is_killed() {
    let undisturbed = place();
    undisturbed.finish("nothing");
    let wanted = Proof::collect(&undisturbed, "nothing");
    assert_eq!(wanted.status(), WorkflowStatus::Completed);
    assert_eq!(wanted.log(), ["after green", "mend 1", "mend 2", "test 1", "test 2", "test 3"]);
    assert_eq!(verdicts(&undisturbed), VERDICTS);
    let every = std::env::var_os(EVERY_RECORD_VARIABLE).is_some();
    let (mut at, step) = if every { (1, 1) } else { (3, 7) };
    let mut kills = 0;
    while kill_at(at, &wanted) {
        kills += 1;
        at += step;
    }
    eprintln!("{kills} kills, up to record {at}");
    assert!(kills > 1, "the run was hardly killed at all");
}
