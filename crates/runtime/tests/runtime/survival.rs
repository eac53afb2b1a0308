//! What must hold when the process that started a job is killed: every byte, the exact screen, the
//! exit status, and no process left. The number of runs is small here and large in `cargo xtask
//! soak` (`COVEN_SOAK_RUNS`, `COVEN_SOAK_BYTES`).

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use coven_runtime::domain::{
    Domain, ExitStatus, Pane as _, ReadOutcome, SpawnConfig, SpawnError, StopMode,
};
use coven_runtime::hold::{Adopted, HolderFolder, ScreenSnap, adopt, rebuild};
use coven_runtime::processes;
use coven_tape::{ReadAt, TapeReader};
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_testkit::panes::{self, PaneOutput};
use coven_testkit::random::Random;

use crate::holder::{Attempts, domain};

/// Runs in the soak, or a few.
fn runs(few: u64) -> u64 {
    number("COVEN_SOAK_RUNS", few)
}

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// A line of the flood is `seq` with seven digits: eight bytes, nine on a terminal.
const LINE_BYTES: u64 = 9;

fn flood(lines: u64) -> String {
    format!("seq 1000000 {}; exit 7", 1_000_000 + lines - 1)
}

fn flooded(lines: u64) -> impl Iterator<Item = String> {
    (1_000_000..1_000_000 + lines).map(|number| format!("{number}\r\n"))
}

/// The process that is killed: it starts a job, follows it, saves its screen, and would go on.
/// Run by the tests below in a process of its own.
#[test]
#[ignore = "is the creator that other tests start and kill"]
fn creator() {
    let Some(request) = std::env::var_os("COVEN_TEST_CREATOR") else { return };
    let attempts = Attempts::at(request.as_ref());
    let lines = number("COVEN_TEST_LINES", 1);
    let mut config = attempts.config(&flood(lines), panes::terminal());
    config.folder = Some(attempts.path().join("attempt"));
    config.job = std::env::var("COVEN_TEST_JOB").unwrap();
    let mut pane = domain().spawn(&config).unwrap();
    std::mem::forget(attempts);
    let folder = HolderFolder::new(config.folder.clone().unwrap());
    let mut screen = Screen::new(GridSize::default());
    let mut buffer = vec![0; 64 * 1024];
    let (mut offset, mut saved) = (0, 0);
    loop {
        match pane.read(&mut buffer).unwrap() {
            ReadOutcome::Data(_, length) => {
                screen.feed(&buffer[..length]);
                offset += length as u64;
                if offset - saved > 512 * 1024 {
                    ScreenSnap::of(&mut screen, offset).save(&folder).unwrap();
                    saved = offset;
                }
            }
            ReadOutcome::Pending => panes::wait_ready(&*pane, Instant::now() + panes::DEADLINE),
            ReadOutcome::End => {
                // Stays until it is killed.
                std::io::stdin().read_line(&mut String::new()).ok();
            }
        }
    }
}

fn start_creator(attempts: &Attempts, job: &str, lines: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "survival::creator", "--ignored", "--nocapture", "--test-threads=1"])
        .env("COVEN_TEST_CREATOR", attempts.path())
        .env("COVEN_TEST_LINES", lines.to_string())
        .env("COVEN_TEST_JOB", job)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the tape of a folder has grown beyond an offset, or ended.
fn wait_for_output(folder: &HolderFolder, offset: u64) {
    let deadline = Instant::now() + panes::DEADLINE;
    let reached =
        || TapeReader::open(folder.path()).is_ok_and(|reader| reader.range().end > offset);
    while !reached() {
        assert!(Instant::now() < deadline, "no output beyond {offset}");
        std::thread::yield_now();
    }
}

fn read_tape(folder: &HolderFolder) -> Vec<u8> {
    let mut reader = TapeReader::open(folder.path()).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        match reader.read_at(bytes.len() as u64, &mut buffer).unwrap() {
            ReadAt::Data { len } => bytes.extend_from_slice(&buffer[..len]),
            ReadAt::Gap { to } => panic!("a gap up to {to}"),
            ReadAt::End => return bytes,
        }
    }
}

/// Spec: RT.3, RT.4
#[test]
fn a_creator_killed_during_a_flood_loses_nothing() {
    let lines = number("COVEN_SOAK_BYTES", 2_000_000) / LINE_BYTES;
    let mut expected_screen = Screen::new(GridSize::default());
    let mut expected = Vec::new();
    for line in flooded(lines) {
        expected_screen.feed(line.as_bytes());
        expected.extend_from_slice(line.as_bytes());
    }
    for run in 0..runs(3) {
        let attempts = Attempts::new();
        let folder = HolderFolder::new(attempts.path().join("attempt"));
        let job = attempts.job();
        let mut creator = start_creator(&attempts, &job, lines);
        let cut = Random::new(run).below(expected.len()) as u64;
        wait_for_output(&folder, cut);
        creator.kill().unwrap();
        creator.wait().unwrap();

        let mut rebuilt = rebuild(&folder, &Options::default()).unwrap();
        assert!(rebuilt.exact, "run {run}");
        let status = match adopt(&folder, rebuilt.offset).unwrap() {
            Adopted::Alive(mut pane) => {
                let (printed, status) = panes::run_to_end(&mut pane);
                rebuilt.screen.feed(&printed.output);
                status
            }
            Adopted::Exited(exit) => {
                // It may have gone on after the screen was rebuilt.
                rebuilt = rebuild(&folder, &Options::default()).unwrap();
                Some(exit.status)
            }
            Adopted::Gone { ended } => panic!("run {run}: gone, {ended:?}"),
        };
        assert_eq!(status, Some(ExitStatus::Code(7)), "run {run}");
        assert!(read_tape(&folder) == expected, "run {run}: the tape differs");
        assert_eq!(rebuilt.screen.snapshot(), expected_screen.snapshot(), "run {run}");
        assert_eq!(processes::of_job(&job), [], "run {run}");
    }
}

/// Spec: RT.9
#[test]
fn hostile_children_never_survive_a_stop() {
    for run in 0..runs(5) {
        let attempts = Attempts::new();
        let config = attempts.config(panes::HOSTILE, panes::terminal());
        let mut pane = domain().spawn(&config).unwrap();
        let mut printed = PaneOutput::default();
        let early = run % 3 == 0;
        if !early {
            panes::read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
        }
        let stop = if run % 2 == 0 {
            StopMode::Force
        } else {
            StopMode::Polite { grace: Duration::from_millis(20) }
        };
        pane.stop(stop).unwrap();
        panes::wait_gone(&mut *pane);
        assert_eq!(processes::of_job(&config.job), [], "run {run}");
    }
}

#[test]
fn a_killed_holder_leaves_nothing_after_adoption() {
    for run in 0..runs(3) {
        let attempts = Attempts::new();
        let config: SpawnConfig = attempts.config(panes::HOSTILE, panes::terminal());
        let mut pane = domain().spawn(&config).unwrap();
        let mut printed = PaneOutput::default();
        if run % 2 == 0 {
            panes::read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
        }
        drop(pane);
        crate::holder::kill_holder(&config);
        let folder = HolderFolder::new(config.folder.clone().unwrap());
        match adopt(&folder, 0).unwrap() {
            Adopted::Gone { ended } => assert!(ended.left.is_empty(), "run {run}: {ended:?}"),
            other => panic!("run {run}: {other:?}"),
        }
        assert_eq!(processes::of_job(&config.job), [], "run {run}");
    }
}

/// A file system that is full, where we may make one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn new(size: &str) -> Option<Self> {
        let folder = coven_testkit::folders::temporary().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

#[test]
fn a_full_disk_does_not_stop_the_job_and_the_loss_is_declared() {
    on_a_full_disk(false);
}

#[test]
fn the_end_is_recorded_on_a_disk_that_stays_full() {
    on_a_full_disk(true);
}

fn on_a_full_disk(full_to_the_end: bool) {
    // Only root may mount; elsewhere the tape's own tests show the same with a failing file.
    let Some(disk) = SmallDisk::new("1m") else {
        return coven_testkit::skip::skip("only root may mount a small disk");
    };
    let attempts = Attempts::new();
    let script = "read line; seq 1 400000; read line; echo after; exit 3";
    let mut config = attempts.config(script, coven_runtime::domain::Connection::Pipes);
    config.folder = Some(disk.0.path().join("attempt"));
    let ballast = disk.0.path().join("ballast");
    let mut pane = domain().spawn(&config).unwrap();
    let mut file = std::fs::File::create(&ballast).unwrap();
    // Fill what is left, so that not even the first records fit.
    while file.write_all(&[0; 4096]).is_ok() {}
    panes::write_all(&mut *pane, b"\n");
    let mut printed = PaneOutput::default();
    panes::read_until(&mut *pane, &mut printed, |printed| !printed.output.is_empty());
    drop(pane);
    let deadline = Instant::now() + panes::DEADLINE;
    while processes::of_job(&config.job).len() > 1 {
        assert!(Instant::now() < deadline, "the flood does not end");
    }
    // A client that comes late gets only what the disk took, and is told what it did not.
    let folder = HolderFolder::new(config.folder.clone().unwrap());
    let Adopted::Alive(mut pane) = adopt(&folder, 0).unwrap() else { panic!("not alive") };
    let mut buffer = vec![0; 16 * 1024];
    while pane.lost() < 1_000_000 {
        if pane.read(&mut buffer).unwrap() == ReadOutcome::Pending && pane.lost() < 1_000_000 {
            panes::wait_ready(&pane, deadline);
        }
    }
    if !full_to_the_end {
        std::fs::remove_file(&ballast).unwrap();
    }
    panes::write_all(&mut pane, b"\n");
    let (rest, status) = panes::run_to_end(&mut pane);
    assert!(rest.text().contains("after"), "{}", rest.text());
    assert_eq!(status, Some(ExitStatus::Code(3)));
    assert_eq!(folder.exit().unwrap().unwrap().status, ExitStatus::Code(3));
    if full_to_the_end {
        return;
    }
    let reader = TapeReader::open(&disk.0.path().join("attempt")).unwrap();
    let gaps = reader
        .records(0)
        .filter(|record| matches!(record.as_ref().unwrap().event, coven_tape::TapeEvent::Gap(_)));
    assert!(gaps.count() >= 1, "the loss is declared");
}

/// How much room there is to start in: from none to enough, in steps of one page.
const PAGES: usize = 24;

#[test]
fn a_start_that_finds_no_room_leaves_nothing_and_works_when_there_is_some() {
    let (mut refused, mut started) = (0, 0);
    for pages in 0..PAGES {
        let Some(disk) = SmallDisk::new("1m") else {
            return coven_testkit::skip::skip("only root may mount a small disk");
        };
        let attempts = Attempts::new();
        let mark = attempts.path().join("ran");
        let script = format!("echo ran >> {}; exit 3", mark.display());
        let mut config = attempts.config(&script, coven_runtime::domain::Connection::Pipes);
        let folder = disk.0.path().join("attempt");
        std::fs::create_dir(&folder).unwrap();
        config.folder = Some(folder.clone());
        let registry = coven_runtime::hold::HolderRegistry::new(&disk.0.path().join("state"));
        let domain = domain().with_registry(registry.clone());
        std::fs::create_dir_all(disk.0.path().join("state/holders")).unwrap();
        let (room, ballast) = (disk.0.path().join("room"), disk.0.path().join("ballast"));
        std::fs::write(&room, vec![0; pages * 4096]).unwrap();
        let mut file = std::fs::File::create(&ballast).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        // A file that is open keeps its room when it is removed.
        drop(file);
        std::fs::remove_file(&room).unwrap();

        let mut pane = match domain.spawn(&config) {
            Ok(pane) => {
                started += 1;
                pane
            }
            Err(SpawnError::Full { reason }) => {
                refused += 1;
                assert!(reason.contains("no room"), "{pages} pages: {reason}");
                assert!(!mark.exists(), "{pages} pages: the process ran");
                assert_eq!(processes::of_job(&config.job), [], "{pages} pages");
                let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().collect();
                assert!(left.is_empty(), "{pages} pages: {left:?}");
                assert_eq!(registry.entries().unwrap(), [], "{pages} pages");
                std::fs::remove_file(&ballast).unwrap();
                domain.spawn(&config).unwrap()
            }
            Err(error) => panic!("{pages} pages: {error:?}"),
        };
        std::fs::remove_file(&ballast).ok();
        let (_, status) = panes::run_to_end(&mut *pane);
        assert_eq!(status, Some(ExitStatus::Code(3)), "{pages} pages");
        assert_eq!(std::fs::read_to_string(&mark).unwrap(), "ran\n", "{pages} pages: it ran once");
        assert_eq!(adopt_status(&folder), ExitStatus::Code(3));
    }
    assert!(refused > 0 && started > 0, "{refused} refused, {started} started");
}

/// How the process of a folder ended, as its holder recorded it.
fn adopt_status(folder: &std::path::Path) -> ExitStatus {
    let folder = HolderFolder::new(folder);
    let record = folder.spawn_record().unwrap().unwrap();
    assert!(record.holder.is_some() && record.process.is_some(), "{record:?}");
    folder.exit().unwrap().unwrap().status
}
