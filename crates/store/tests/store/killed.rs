//! A process that is killed while it records facts: everything it was told is recorded, is.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use coven_store::{BaseDir, Session};
use coven_testkit::random::Random;

use super::{Base, FACT_TIME, Fact, authority, facts, id, said};

const FOLDER: &str = "COVEN_TEST_BASE";

/// How often a process is killed.
const KILLS: usize = 25;

/// The facts of the batch that begins with this number.
fn batch(first: u64) -> Vec<Fact> {
    let text = "é\"\\\n".repeat((first % 97) as usize * 3);
    (0..=first % 4).map(|n| if n == 0 { Fact::Counted(first) } else { said(&text) }).collect()
}

/// The process that is killed. It says the number of the last fact after each that is recorded.
#[test]
#[ignore = "the child of the test below, which runs it"]
fn appends_until_it_is_killed() {
    let base = BaseDir::create(env::var_os(FOLDER).unwrap().as_ref()).unwrap();
    let mut session = Session::open(&base, &authority(&base), &id(1)).unwrap();
    let mut out = std::io::stderr();
    loop {
        let facts = batch(session.last() + 1);
        let seqs = session.append(FACT_TIME, &facts).unwrap().seqs;
        writeln!(out, "recorded {}", seqs.end - 1).unwrap();
    }
}

/// Spec: C0.8.2
#[test]
fn every_fact_that_was_acknowledged_survives_a_kill_at_any_moment() {
    let base = Base::new();
    Session::create(&base.dir(), &base.authority(), &id(1)).unwrap();
    let mut random = Random::new(7);
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["killed::appends_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, base.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut told = lines.filter_map(|line| line.strip_prefix("recorded ")?.parse().ok());
        let mut last: u64 = told.by_ref().nth(random.below(40)).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // What the child had printed before it died and this test had not read yet.
        last = told.last().unwrap_or(last);

        let session = Session::open(&base.dir(), &base.authority(), &id(1)).unwrap();
        assert!(session.last() >= last, "kill {kill}: {} of {last}", session.last());
        check(&facts(&mut session.reader()));
    }
}

/// Every batch is as it was made, but for the last, of which the end may be missing.
fn check(all: &[Fact]) {
    let mut rest = all;
    while let [Fact::Counted(first), ..] = rest {
        let expected = batch(*first);
        let have = expected.len().min(rest.len());
        // A batch of which only the beginning is there is followed by one that begins anew.
        let same = (1..=have).rev().find(|len| rest[..*len] == expected[..*len]).unwrap();
        rest = &rest[same..];
    }
    assert_eq!(rest, []);
}
