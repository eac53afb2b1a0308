//! What is told of a process that closes its output and lives on, and what is left of a holder that
//! has ended.

use std::time::Instant;

use coven_runtime::LocalDomain;
use coven_runtime::domain::{Connection, Domain, Pane};
use coven_runtime::hold::HolderFolder;
use coven_testkit::panes::{self, PaneOutput};

use crate::holder::{Attempts, adopted, domain, read_for};

/// Its standard error is open, and it still reads.
const CLOSES: &str = "echo begun; exec >&-; read line; echo over >&2";

fn is_told(pane: &mut dyn Pane) {
    let deadline = Instant::now() + panes::DEADLINE;
    let mut buffer = [0; 1024];
    while !pane.output_is_closed() {
        assert!(Instant::now() < deadline, "nobody is told that the output was closed");
        pane.read(&mut buffer).unwrap();
        std::thread::yield_now();
    }
    assert!(pane.is_alive());
}

fn ends(pane: &mut dyn Pane) {
    panes::write_all(pane, b"\n");
    panes::read_until(pane, &mut PaneOutput::default(), |_| false);
}

#[test]
fn a_process_that_closed_its_output_and_lives_is_told_also_to_who_comes_later() {
    let attempts = Attempts::new();
    let config = attempts.config(CLOSES, Connection::Pipes);
    let mut first = domain().spawn(&config).unwrap();
    read_for(&mut *first, "begun\n");
    is_told(&mut *first);
    drop(first);
    let mut second = adopted(&config, 0);
    is_told(&mut second);
    ends(&mut second);
}

#[test]
fn a_local_process_that_closed_its_output_and_lives_is_told() {
    let attempts = Attempts::new();
    let config = attempts.config(CLOSES, Connection::Pipes);
    let mut pane = LocalDomain::new().spawn(&config).unwrap();
    is_told(&mut *pane);
    ends(&mut *pane);
}

#[test]
fn an_ended_holder_does_not_stay_as_a_defunct_child() {
    let attempts = Attempts::new();
    let config = attempts.config("read line", Connection::Pipes);
    let domain = domain();
    let mut pane = domain.spawn(&config).unwrap();
    let folder = HolderFolder::new(config.folder.clone().unwrap());
    let holder = folder.spawn_record().unwrap().unwrap().holder.unwrap();
    ends(&mut *pane);
    drop(pane);
    let status = format!("/proc/{}/stat", holder.pid);
    let deadline = Instant::now() + panes::DEADLINE;
    while std::path::Path::new(&status).exists() {
        assert!(Instant::now() < deadline, "it is still there");
        std::thread::yield_now();
    }
    drop(domain);
}

/// The daemon lets go of an agent that lives on, and is not told of its end.
#[test]
fn a_holder_that_ends_after_its_pane_was_let_go_does_not_stay_as_a_defunct_child() {
    let attempts = Attempts::new();
    let config = attempts.config("read line", Connection::Pipes);
    let domain = domain();
    let pane = domain.spawn(&config).unwrap();
    let folder = HolderFolder::new(config.folder.clone().unwrap());
    let holder = folder.spawn_record().unwrap().unwrap().holder.unwrap();
    drop(pane);
    let mut second = adopted(&config, 0);
    ends(&mut second);
    drop(second);
    let status = format!("/proc/{}/stat", holder.pid);
    let deadline = Instant::now() + panes::DEADLINE;
    while std::path::Path::new(&status).exists() {
        assert!(Instant::now() < deadline, "it is still there");
        std::thread::yield_now();
    }
    drop(domain);
}
