//! Killed at every record, and at any moment between: whatever the moment, the next process ends
//! the run as if nothing had happened. Nothing that was done is done again, nothing is lost,
//! nothing is left behind.
//!
//! The test command tries a few moments. `cargo xtask soak` tries every record and hundreds of
//! random moments.

mod branches;
mod keeper;
mod proof;
mod reviews;
mod rounds;
mod trees;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use coven_testkit::random::Random;

use self::keeper::{Place, Play, wait_until};
use self::proof::Proof;

/// Every record is tried if this is set, and a few if it is not.
const EVERY_RECORD_VARIABLE: &str = "COVEN_TEST_EVERY_RECORD";

/// How many kills at random moments there are, if not a handful.
const KILLS_VARIABLE: &str = "COVEN_TEST_KILLS";

/// What the random moments come from, if not from the clock.
const SEED_VARIABLE: &str = "COVEN_TEST_SEED";

/// What the run leaves when it is not killed, and how long it takes.
fn undisturbed(play: Play) -> (Proof, Duration) {
    let place = Place::new(play);
    let begun = Instant::now();
    place.finish("nothing");
    let took = begun.elapsed();
    let proof = Proof::collect(&place, "nothing");
    assert!(!proof.commands.is_empty() || !proof.prompts.is_empty(), "there is no evidence");
    (proof, took)
}

/// Kills the keeper after its n-th record, lets another one end the run, and compares everything.
/// Says whether there was something to kill.
fn kill_after(play: Play, record: usize, wanted: &Proof) -> bool {
    let place = Place::new(play);
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
    !ended
}

/// Kills keepers of the run after one record in so many, or after every one.
fn kill_through(play: Play, from: usize, step: usize) {
    let (wanted, _) = undisturbed(play);
    let every = std::env::var_os(EVERY_RECORD_VARIABLE).is_some();
    let (mut at, step) = if every { (1, 1) } else { (from, step) };
    let mut kills = 0;
    while kill_after(play, at, &wanted) {
        kills += 1;
        at += step;
    }
    eprintln!("{kills} kills of {play:?}, up to record {at}");
    assert!(kills > 1, "the run was hardly killed at all");
}

/// Spec: C0.8.2
#[test]
fn a_run_that_is_killed_at_any_record_ends_as_if_it_had_not_been() {
    kill_through(Play::Everything, 4, 13);
}

/// Spec: C0.8.2
#[test]
fn the_demo_killed_at_any_record_ends_as_if_it_had_not_been() {
    kill_through(Play::Demo, 7, 22);
}

/// Spec: C0.8.2
#[test]
fn a_conversation_killed_at_any_record_hears_every_message_once() {
    kill_through(Play::Talk, 3, 5);
}

/// Where no small disk can be mounted, the limit of a process does as well: a write beyond it fails
/// as one on a full disk does, perhaps half-way.
#[test]
fn a_keeper_that_can_write_no_more_waits_says_so_and_goes_on_when_it_can() {
    let place = Place::new(Play::Waits);
    let mut keeper = place.keeper();
    wait_until("the job", || place.base().join("log.txt").exists());
    let journal = place.sessions()[0].join("journal.jsonl");
    let before = std::fs::read(&journal).unwrap();
    if !keeper.limit(&(before.len() + 10).to_string()) {
        return coven_testkit::skip::skip("there is no `prlimit`");
    }
    std::fs::write(place.base().join("go.txt"), "").unwrap();
    wait_until("that nothing can be written down", || {
        assert!(!keeper.has_ended(), "it should wait");
        place.told().exists()
    });
    wait_until("what the problem is", || !std::fs::read(place.told()).unwrap().is_empty());
    let problem = std::fs::read_to_string(place.told()).unwrap();
    assert!(problem.contains("no room is left on the disk"), "{problem}");
    let after = std::fs::read(&journal).unwrap();
    assert_eq!(after[..before.len()], before, "what was acknowledged is there");
    assert!(keeper.limit("unlimited"));
    wait_until("the end", || keeper.has_ended());
    let proof = Proof::collect(&place, "a full disk");
    assert_eq!(proof.log(), ["begun", "last"], "the run went on, and nothing was done twice");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap())
}

/// Spec: C0.8.2
#[test]
fn a_run_that_is_killed_again_and_again_at_random_moments_ends_as_if_it_had_not_been() {
    let kills = number(KILLS_VARIABLE).unwrap_or(5);
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    let seed = number(SEED_VARIABLE).unwrap_or_else(|| u64::from(clock));
    eprintln!("{kills} kills from the seed {seed}");
    let mut random = Random::new(seed);
    // Seeds that are near each other begin with numbers that are.
    for _ in 0..8 {
        random.next();
    }
    let plays = [Play::Everything, Play::Demo, Play::Talk];
    let usual: Vec<_> = plays.iter().map(|play| undisturbed(*play)).collect();
    let mut done = 0;
    while done < kills {
        let chosen = random.below(plays.len());
        let (wanted, took) = &usual[chosen];
        let place = Place::new(plays[chosen]);
        // Several for one run, so that some fall into recovery; short lives, so that many do.
        let most = 1 + random.below(5);
        let longest = usize::try_from(took.as_micros()).unwrap() / most.min(3);
        let mut moments = Vec::new();
        for _ in 0..most {
            let moment = Duration::from_micros(random.below(longest) as u64);
            moments.push(moment);
            if place.kill_at(moment) {
                done += 1;
            }
        }
        let what = format!("kills of {:?} at {moments:?}, seed {seed}", plays[chosen]);
        place.finish(&what);
        assert_eq!(&Proof::collect(&place, &what), wanted, "after {what}");
        if kills > 20 {
            eprintln!("{done} of {kills}: {what}");
        }
    }
}
