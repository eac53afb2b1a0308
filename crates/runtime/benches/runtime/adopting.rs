//! Adopting a job that has printed much: its screen rebuilt from the saved one and the tape, and
//! its holder reached.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use coven_runtime::domain::{Pane as _, ReadOutcome};
use coven_runtime::hold::{Adopted, HolderFolder, SNAP_EVERY, ScreenSnap, adopt, rebuild};
use coven_terminal::screen::Screen;
use coven_testkit::bench::cpu;
use coven_testkit::streams;

use crate::Plan;
use crate::fleet::{DEADLINE, Fleet, Kind, wait_ready};
use crate::output::{feed, follow, options, printer};

/// Where the saved screen stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Saved {
    /// At the very end: the job was quiet.
    AtTheEnd,
    /// As far back as it gets while a client follows a flood.
    FarBack,
    Never,
}

/// The least of many times.
pub(crate) struct Adoption {
    pub(crate) stream: &'static str,
    pub(crate) saved: Saved,
    pub(crate) rebuild: Duration,
    /// The same as CPU time, which other work on the machine does not stretch.
    pub(crate) rebuild_cpu: Duration,
    /// On the clock, until the holder has answered and there is nothing more to read.
    pub(crate) adopt: Duration,
}

pub(crate) fn measure(plan: &Plan, root: &Path) -> io::Result<Vec<Adoption>> {
    let streams = [("log", streams::log(plan.adopted)), ("TUI", streams::tui(plan.adopted))];
    let mut adoptions = Vec::new();
    for (name, bytes) in streams {
        eprintln!("adopting after {name}");
        let file = root.join("adopted");
        fs::write(&file, &bytes)?;
        let mut fleet = Fleet::new(Kind::Holder, root);
        let pane = fleet.spawn(printer(&file, root))?;
        follow(pane, 1, |_| ())?;
        pane.write(b"go\n")?;
        follow(pane, bytes.len(), |_| ())?;
        let folder = fleet.folder()?.clone();
        for saved in [Saved::Never, Saved::FarBack, Saved::AtTheEnd] {
            save(&folder, &bytes, saved)?;
            adoptions.push(adopt_often(&folder, name, saved, plan.adoptions)?);
        }
        fleet.stop()?;
        fs::remove_dir_all(folder.path())?;
    }
    Ok(adoptions)
}

/// Saves the screen as it was at some place.
fn save(folder: &HolderFolder, bytes: &[u8], saved: Saved) -> io::Result<()> {
    let until = match saved {
        Saved::Never => return Ok(()),
        Saved::FarBack => bytes.len().saturating_sub(SNAP_EVERY as usize),
        Saved::AtTheEnd => bytes.len(),
    };
    let mut screen = Screen::with_options(&options());
    feed(&mut screen, &bytes[..until]);
    // The job has printed one byte before the stream.
    ScreenSnap::of(&mut screen, until as u64 + 1).save(folder)
}

fn adopt_often(
    folder: &HolderFolder,
    stream: &'static str,
    saved: Saved,
    times: usize,
) -> io::Result<Adoption> {
    let mut least = Adoption {
        stream,
        saved,
        rebuild: Duration::MAX,
        rebuild_cpu: Duration::MAX,
        adopt: Duration::MAX,
    };
    for _ in 0..times {
        let (start, cpu) = (Instant::now(), cpu::now());
        let rebuilt = rebuild(folder, &options()).map_err(io::Error::other)?;
        least.rebuild = least.rebuild.min(start.elapsed());
        least.rebuild_cpu = least.rebuild_cpu.min(cpu::now().saturating_sub(cpu));
        let offset = black_box(&rebuilt).offset;
        let start = Instant::now();
        reach(folder, offset)?;
        least.adopt = least.adopt.min(start.elapsed());
    }
    Ok(least)
}

/// Adopts a job and reads until its holder has said all.
fn reach(folder: &HolderFolder, offset: u64) -> io::Result<()> {
    let Adopted::Alive(mut pane) = adopt(folder, offset).map_err(io::Error::other)? else {
        return Err(io::Error::other("the job has ended early"));
    };
    // Before it has greeted us there is nothing to read either.
    wait_ready(&pane, Instant::now() + DEADLINE)?;
    let mut buffer = vec![0; 64 * 1024];
    while let ReadOutcome::Data(..) = pane.read(&mut buffer)? {}
    Ok(())
}
