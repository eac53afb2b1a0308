//! Many panes: what it takes to start them, to leave them alone, and to stop them. Each case has a
//! process of its own, this program started again, so that none profits from another's memory.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io};

use coven_runtime::domain::ReadOutcome;
use coven_runtime::processes::Identity;
use coven_terminal::screen::{GridSize, Screen};
use coven_testkit::bench::cpu;
use coven_testkit::panes;
use rustix::event::{Timespec, epoll};
use serde::{Deserialize, Serialize};

use crate::fleet::{DEADLINE, Fleet, Kind, wait_ready};
use crate::proc::{self, Memory};

/// Followed by the number of panes, milliseconds and a domain: be such a process.
pub(crate) const ARGUMENT: &str = "--scale";

/// What one case gave. Times in seconds, memory in KiB per pane.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scale {
    pub(crate) count: usize,
    pub(crate) spawn: Cost,
    pub(crate) stop: Cost,
    pub(crate) threads: u64,
    pub(crate) descriptors: usize,
    /// Growth of our own process.
    pub(crate) own: f64,
    /// The same with a screen for each pane.
    pub(crate) own_with_screens: f64,
    pub(crate) holder: Option<Holder>,
    pub(crate) idle: Option<Idle>,
}

/// Time on the clock, and CPU time: our own and that of all holders.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) wall: f64,
    pub(crate) own: f64,
    pub(crate) holders: Option<f64>,
}

/// Memory of a holder, on average.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    pub(crate) resident: f64,
    pub(crate) proportional: f64,
    pub(crate) private: f64,
    pub(crate) page_tables: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Idle {
    pub(crate) cost: Cost,
    /// How often something happened, though nothing should.
    pub(crate) wakeups: u64,
}

/// All domains at all scales.
pub(crate) fn measure(scales: &[(usize, Duration)]) -> io::Result<Vec<(Kind, Scale)>> {
    let mut measured = Vec::new();
    for (count, idle) in scales {
        for kind in Kind::ALL {
            eprintln!("{count} panes, {}", kind.name());
            let child = Command::new(env::current_exe()?)
                .args([ARGUMENT, &count.to_string(), &idle.as_millis().to_string(), kind.name()])
                .stderr(Stdio::inherit())
                .output()?;
            measured.push((kind, serde_json::from_slice(&child.stdout)?));
        }
    }
    Ok(measured)
}

/// One case. Prints what it gave.
pub(crate) fn child(kind: Kind, count: usize, idle: Duration) -> io::Result<()> {
    let directory = coven_testkit::folders::temporary()?;
    let mut fleet = Fleet::new(kind, directory.path());
    fleet.panes.reserve(count);
    let before = Memory::of("self")?.resident;
    let meter = Meter::start(&[])?;
    for _ in 0..count {
        fleet.spawn(panes::command(&["cat"], panes::terminal(), directory.path()))?;
    }
    let holders = fleet.holders()?;
    let spawn = meter.stop(&holders)?;
    settle(&mut fleet)?;
    let own = Memory::of("self")?.resident;
    let each = |now: u64| (now as f64 - before as f64) / count as f64;
    let threads = proc::threads()?;
    let descriptors = proc::descriptors()?;
    let idle = if idle.is_zero() { None } else { Some(leave_alone(&mut fleet, &holders, idle)?) };
    let holder = if holders.is_empty() { None } else { Some(Holder::average(&holders)?) };
    let screens: Vec<Screen> = (0..count).map(|_| Screen::new(GridSize::default())).collect();
    let own_with_screens = each(Memory::of("self")?.resident);
    drop(black_box(screens));
    let stop = stop(&mut fleet, &holders)?;
    let scale = Scale {
        count,
        spawn,
        stop,
        threads,
        descriptors,
        own: each(own),
        own_with_screens,
        holder,
        idle,
    };
    println!("{}", serde_json::to_string(&scale)?);
    Ok(())
}

/// Stops all. What holders took is known once they are reaped.
fn stop(fleet: &mut Fleet, holders: &[Identity]) -> io::Result<Cost> {
    let (so_far, reaped) = (together(holders)?, proc::children_time()?);
    let meter = Meter::start(&[])?;
    fleet.stop()?;
    let cost = meter.stop(&[])?;
    let used = proc::children_time()?.saturating_sub(reaped + so_far);
    Ok(Cost { holders: (!holders.is_empty()).then_some(used.as_secs_f64()), ..cost })
}

impl Holder {
    fn average(holders: &[Identity]) -> io::Result<Self> {
        let mut sums = [0; 4];
        for holder in holders {
            let process = holder.pid.to_string();
            let memory = Memory::of(&process)?;
            sums[0] += memory.resident;
            sums[1] += memory.proportional;
            sums[2] += memory.private;
            sums[3] += proc::page_tables(&process)?;
        }
        let [resident, proportional, private, page_tables] =
            sums.map(|sum| sum as f64 / holders.len() as f64);
        Ok(Self { resident, proportional, private, page_tables })
    }
}

/// Runs while something is measured.
struct Meter {
    clock: Instant,
    own: Duration,
    holders: Duration,
}

impl Meter {
    fn start(holders: &[Identity]) -> io::Result<Self> {
        let holders = together(holders)?;
        Ok(Self { clock: Instant::now(), own: cpu::own(), holders })
    }

    fn stop(self, holders: &[Identity]) -> io::Result<Cost> {
        let (wall, own) = (self.clock.elapsed(), cpu::own().saturating_sub(self.own));
        let used = together(holders)?.saturating_sub(self.holders);
        Ok(Cost {
            wall: wall.as_secs_f64(),
            own: own.as_secs_f64(),
            holders: (!holders.is_empty()).then_some(used.as_secs_f64()),
        })
    }
}

/// CPU time of all holders.
fn together(holders: &[Identity]) -> io::Result<Duration> {
    holders.iter().map(|holder| cpu::of_process(holder.pid)).sum()
}

/// Reads until no pane has anything more to say, so that what comes later is not the start.
fn settle(fleet: &mut Fleet) -> io::Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = [0; 4096];
    for pane in &mut fleet.panes {
        // A holder greets its client; a terminal with `cat` says nothing.
        if pane.write(b"x\n")? == 0 {
            return Err(io::Error::other("a pane takes no input"));
        }
        let mut echoed = 0;
        // The terminal echoes the line, and `cat` repeats it.
        while echoed < 6 {
            match pane.read(&mut buffer)? {
                ReadOutcome::Data(_, length) => echoed += length,
                ReadOutcome::Pending => wait_ready(&**pane, deadline)?,
                ReadOutcome::End => return Err(io::Error::other("a pane has ended early")),
            }
        }
    }
    Ok(())
}

/// Waits for all panes at once, and sees what that costs.
fn leave_alone(fleet: &mut Fleet, holders: &[Identity], time: Duration) -> io::Result<Idle> {
    let waiting = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (index, pane) in fleet.panes.iter().enumerate() {
        let readiness =
            pane.readiness().ok_or_else(|| io::Error::other("a pane cannot be waited for"))?;
        let data = epoll::EventData::new_u64(index as u64);
        epoll::add(&waiting, readiness, data, epoll::EventFlags::IN)?;
    }
    let mut events = Vec::with_capacity(fleet.panes.len());
    let mut buffer = [0; 4096];
    let mut wakeups = 0;
    let end = Instant::now() + time;
    let meter = Meter::start(holders)?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Idle { cost: meter.stop(holders)?, wakeups });
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        events.clear();
        epoll::wait(&waiting, rustix::buffer::spare_capacity(&mut events), Some(&timeout))?;
        for event in &events {
            wakeups += 1;
            let pane = &mut fleet.panes[event.data.u64() as usize];
            while let ReadOutcome::Data(..) = pane.read(&mut buffer)? {}
        }
    }
}
