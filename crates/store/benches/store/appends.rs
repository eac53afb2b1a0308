//! Durable facts per second, from one session and from a hundred at once, beside files that are
//! appended to and synced without anything else.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use coven_model::{AttemptId, SessionEvent, TaskId};
use coven_store::{BaseDir, SealKey, Session, seal_facts};

use crate::{CONCURRENT_SESSIONS, FACT_TIME, Plan, authority, id};

pub(crate) struct Appends {
    pub(crate) raw_one: Rate,
    pub(crate) one: Rate,
    /// Ten facts in each write.
    pub(crate) batches: Rate,
    pub(crate) raw_many: Rate,
    pub(crate) many: Rate,
    /// How long sealing a fact takes, its checkpoint included.
    pub(crate) sealing: Duration,
}

/// How many in which time, in the best round.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    /// How long the one in the middle and the one at 99 of 100 took, of all rounds.
    pub(crate) median: Duration,
    pub(crate) p99: Duration,
}

/// Times of single appends.
#[derive(Default)]
struct Times {
    best: f64,
    all: Vec<Duration>,
}

impl Times {
    fn add(&mut self, count: usize, wall: Duration, mut each: Vec<Duration>) {
        self.best = self.best.max(count as f64 / wall.as_secs_f64());
        self.all.append(&mut each);
    }

    fn rate(mut self) -> Rate {
        self.all.sort();
        let at = |part: usize| self.all.get(self.all.len() * part / 100).copied();
        let (median, p99) = (at(50).unwrap_or_default(), at(99).unwrap_or_default());
        Rate { per_second: self.best, median, p99 }
    }
}

/// A fact of the usual size: about 250 bytes as a line.
fn fact() -> io::Result<SessionEvent> {
    let job = AttemptId { task: TaskId::new("build.3").map_err(io::Error::other)?, attempt: 1 };
    let reason =
        "exit code 0, and the result says that it is done: 3 files changed, all tests pass";
    Ok(SessionEvent::TaskReleased { job, reason: reason.to_owned() })
}

/// As many bytes as the fact has as a line.
fn line() -> io::Result<Vec<u8>> {
    let fact = serde_json::to_vec(&fact()?)?;
    let mut line = vec![b'x'; fact.len() + 45];
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn measure(plan: &Plan) -> io::Result<Appends> {
    let (mut raw_one, mut one, mut batches) = <(Times, Times, Times)>::default();
    let (mut raw_many, mut many) = <(Times, Times)>::default();
    for _ in 0..plan.rounds {
        let directory = tempfile::tempdir()?;
        let base = BaseDir::create(directory.path()).map_err(io::Error::other)?;
        run(1, plan.single, &mut raw_one, |_| raw(directory.path(), 0))?;
        run(1, plan.single, &mut one, |number| session(&base, number, 1))?;
        run(1, plan.single / 10, &mut batches, |number| session(&base, 1000 + number, 10))?;
        run(CONCURRENT_SESSIONS, plan.each, &mut raw_many, |number| {
            raw(directory.path(), 1 + number)
        })?;
        run(CONCURRENT_SESSIONS, plan.each, &mut many, |number| session(&base, 2000 + number, 1))?;
    }
    let mut batches = batches.rate();
    batches.per_second *= 10.0;
    Ok(Appends {
        raw_one: raw_one.rate(),
        one: one.rate(),
        batches,
        raw_many: raw_many.rate(),
        many: many.rate(),
        sealing: sealing(plan)?,
    })
}

/// How long sealing one fact takes, without recording it.
fn sealing(plan: &Plan) -> io::Result<Duration> {
    let (key, json) = (SealKey::from_secret(&[7; 32]), serde_json::to_vec(&fact()?)?);
    let directory = tempfile::tempdir()?;
    let count = plan.single as u64;
    let mut best = Duration::MAX;
    for _ in 0..plan.rounds {
        let begun = Instant::now();
        seal_facts(&key, directory.path(), &json, count).map_err(io::Error::other)?;
        best = best.min(begun.elapsed() / plan.single as u32);
    }
    Ok(best)
}

/// Something that records once each time it is called.
type Recorder = Box<dyn FnMut() -> io::Result<()> + Send>;

fn raw(directory: &Path, number: usize) -> io::Result<Recorder> {
    let mut file = File::create(directory.join(format!("raw{number}")))?;
    let line = line()?;
    Ok(Box::new(move || {
        file.write_all(&line)?;
        file.sync_data()
    }))
}

fn session(base: &BaseDir, number: usize, batch: usize) -> io::Result<Recorder> {
    let mut session =
        Session::create(base, &authority(base), &id(number)?).map_err(io::Error::other)?;
    let facts = vec![fact()?; batch];
    Ok(Box::new(move || session.append(FACT_TIME, &facts).map(drop).map_err(io::Error::other)))
}

/// Lets so many threads record so many times each, all beginning together.
fn run(
    threads: usize,
    count: usize,
    times: &mut Times,
    make: impl Fn(usize) -> io::Result<Recorder>,
) -> io::Result<()> {
    let barrier = Barrier::new(threads + 1);
    let recorders: Vec<Recorder> = (0..threads).map(make).collect::<io::Result<_>>()?;
    let (wall, each) = thread::scope(|scope| {
        let running: Vec<_> = recorders
            .into_iter()
            .map(|mut record| {
                let barrier = &barrier;
                scope.spawn(move || -> io::Result<Vec<Duration>> {
                    barrier.wait();
                    let mut each = Vec::with_capacity(count);
                    for _ in 0..count {
                        let start = Instant::now();
                        record()?;
                        each.push(start.elapsed());
                    }
                    Ok(each)
                })
            })
            .collect();
        barrier.wait();
        let start = Instant::now();
        let ended: Vec<_> = running.into_iter().map(thread::ScopedJoinHandle::join).collect();
        (start.elapsed(), ended)
    });
    let mut all = Vec::with_capacity(threads * count);
    for ended in each {
        all.append(&mut ended.map_err(|_| io::Error::other("a thread panicked"))??);
    }
    times.add(threads * count, wall, all);
    Ok(())
}
