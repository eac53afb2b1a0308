//! The holder domain: the checks every domain must pass, and what only a holder can do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_runtime::HolderDomain;
use coven_runtime::domain::{
    Connection, Domain, ExitStatus, Pane, ReadOutcome, SpawnConfig, SpawnError, StopMode,
};
use coven_runtime::hold::{
    Adopted, HolderFolder, HolderPane, ScreenSnap, adopt, rebuild, take_back,
};
use coven_runtime::machine;
use coven_runtime::processes::{self, Identity};
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_testkit::panes::{self, PaneOutput};
use coven_testkit::programs::TestProgram;

pub(crate) fn domain() -> HolderDomain {
    HolderDomain::new(TestProgram::Holder.path())
}

/// A folder for attempts that leaves no process behind, whatever a test does.
pub(crate) struct Attempts {
    path: PathBuf,
    jobs: std::cell::RefCell<Vec<String>>,
    _root: Option<tempfile::TempDir>,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        let root = coven_testkit::folders::temporary().unwrap();
        Self {
            path: root.path().to_owned(),
            jobs: std::cell::RefCell::default(),
            _root: Some(root),
        }
    }

    /// In a folder that belongs to someone else.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), jobs: std::cell::RefCell::default(), _root: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A job that is ended with us.
    pub(crate) fn job(&self) -> String {
        self.config("", Connection::Pipes).job
    }

    pub(crate) fn config(&self, script: &str, connection: Connection) -> SpawnConfig {
        let mut config = panes::shell(script, connection, &self.path);
        config.folder = Some(self.path.join(&config.job));
        self.jobs.borrow_mut().push(config.job.clone());
        config
    }
}

impl Drop for Attempts {
    fn drop(&mut self) {
        for job in self.jobs.borrow().iter() {
            // Without its process a holder ends too.
            processes::end_all(|| processes::of_job(job), Duration::from_secs(5));
        }
    }
}

fn folder(config: &SpawnConfig) -> HolderFolder {
    HolderFolder::new(config.folder.clone().unwrap())
}

pub(crate) fn adopted(config: &SpawnConfig, offset: u64) -> HolderPane {
    match adopt(&folder(config), offset).unwrap() {
        Adopted::Alive(pane) => pane,
        other => panic!("not alive: {other:?}"),
    }
}

fn check(check: panes::Check) {
    let attempts = Attempts::new();
    check(&domain(), &|script, connection| attempts.config(script, connection));
}

coven_testkit::domain_checks!(check);

/// Kills a holder and waits until it is dead.
pub(crate) fn kill_holder(config: &SpawnConfig) {
    let holder = folder(config).spawn_record().unwrap().unwrap().holder.unwrap();
    holder.signal(rustix::process::Signal::KILL).unwrap();
    let deadline = Instant::now() + panes::DEADLINE;
    while holder.is_running() {
        assert!(Instant::now() < deadline, "a killed holder lives on");
        std::thread::yield_now();
    }
}

fn start(config: &SpawnConfig) -> Box<dyn Pane> {
    domain().spawn(config).unwrap()
}

pub(crate) fn read_for(pane: &mut dyn Pane, text: &str) -> PaneOutput {
    let mut printed = PaneOutput::default();
    panes::read_until(pane, &mut printed, |printed| printed.text().contains(text));
    printed
}

#[test]
fn a_polite_stop_turns_into_force_by_itself() {
    let attempts = Attempts::new();
    let config = attempts.config(panes::HOSTILE, panes::terminal());
    let mut pane = start(&config);
    read_for(&mut *pane, "ready");
    pane.stop(StopMode::Polite { grace: Duration::from_millis(50) }).unwrap();
    drop(pane);
    // No client is connected any more; the holder does it alone.
    let deadline = Instant::now() + panes::DEADLINE;
    while folder(&config).exit().unwrap().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    let exit = folder(&config).exit().unwrap().unwrap();
    assert!(exit.stopped);
    assert!(exit.ended.forced.len() >= 6, "{exit:?}");
    assert!(exit.ended.left.is_empty(), "{exit:?}");
    assert_eq!(exit.status, ExitStatus::Signal(9));
}

#[test]
fn a_process_outlives_its_creator_and_is_adopted_with_every_byte() {
    let attempts = Attempts::new();
    let script = "echo one; read line; echo \"got $line\"; read line; exit 4";
    let config = attempts.config(script, Connection::Pipes);
    let mut first = start(&config);
    read_for(&mut *first, "one\n");
    drop(first);

    let mut second = adopted(&config, 0);
    panes::write_all(&mut second, b"two\n");
    let printed = read_for(&mut second, "got two\n");
    assert_eq!(printed.text(), "one\ngot two\n", "from the beginning");
    let offset = second.offset();
    drop(second);

    let mut third = adopted(&config, offset);
    panes::write_all(&mut third, b"three\n");
    let (printed, status) = panes::run_to_end(&mut third);
    assert_eq!(printed.text(), "", "only what is new");
    assert_eq!(status, Some(ExitStatus::Code(4)));
    match adopt(&folder(&config), 0).unwrap() {
        Adopted::Exited(exit) => assert_eq!(exit.status, ExitStatus::Code(4)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_clients_see_the_same_and_a_slow_one_holds_nobody_up() {
    let attempts = Attempts::new();
    let config = attempts.config("seq 1 400000; echo end; read line", Connection::Pipes);
    let mut slow = start(&config);
    let mut quick = adopted(&config, 0);
    let mut seen = PaneOutput::default();
    panes::read_until(&mut quick, &mut seen, |printed| printed.output.ends_with(b"end\n"));
    // The slow one has read nothing so far.
    panes::write_all(&mut quick, b"\n");
    let (rest, _) = panes::run_to_end(&mut quick);
    seen.output.extend(rest.output);
    let (late, status) = panes::run_to_end(&mut *slow);
    assert!(late.output == seen.output, "{} and {} bytes", late.output.len(), seen.output.len());
    assert_eq!(status, Some(ExitStatus::Code(0)));
}

#[test]
fn whoever_reads_only_after_the_holder_has_left_still_gets_every_byte() {
    let attempts = Attempts::new();
    let config = attempts.config("seq 1 400000; exit 3", Connection::Pipes);
    let mut pane = start(&config);
    let mut begun = PaneOutput::default();
    panes::read_until(&mut *pane, &mut begun, |printed| !printed.output.is_empty());
    let holder = folder(&config).spawn_record().unwrap().unwrap().holder.unwrap();
    let deadline = Instant::now() + panes::DEADLINE;
    while holder.is_running() {
        assert!(Instant::now() < deadline, "a holder waits for its client for ever");
        std::thread::yield_now();
    }
    let (rest, status) = panes::run_to_end(&mut *pane);
    begun.output.extend(rest.output);
    let all: String = (1..=400_000).map(|number| format!("{number}\n")).collect();
    assert!(begun.output == all.as_bytes(), "{} of {} bytes", begun.output.len(), all.len());
    assert_eq!(status, Some(ExitStatus::Code(3)));
}

#[test]
fn a_killed_holder_leaves_nothing_after_the_next_look() {
    let attempts = Attempts::new();
    let config = attempts.config(panes::HOSTILE, panes::terminal());
    let mut pane = start(&config);
    read_for(&mut *pane, "ready");
    kill_holder(&config);
    panes::wait_gone(&mut *pane);
    assert_eq!(pane.exit_status(), None, "nobody knows how it ended");
    assert_eq!(processes::of_job(&config.job), []);
    assert!(matches!(adopt(&folder(&config), 0).unwrap(), Adopted::Gone { .. }));
}

#[test]
fn what_a_killed_holder_left_is_ended_by_adopting() {
    let attempts = Attempts::new();
    let config = attempts.config(panes::HOSTILE, panes::terminal());
    let mut pane = start(&config);
    read_for(&mut *pane, "ready");
    drop(pane);
    kill_holder(&config);
    match adopt(&folder(&config), 0).unwrap() {
        Adopted::Gone { ended } => assert!(ended.left.is_empty(), "{ended:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(processes::of_job(&config.job), []);
}

#[test]
fn a_reused_process_id_and_another_boot_are_not_mistaken_for_the_holder() {
    let attempts = Attempts::new();
    let config = attempts.config("read line", Connection::Pipes);
    drop(start(&config));
    let path = config.folder.clone().unwrap().join("spawn.json");
    let text = fs::read_to_string(&path).unwrap();
    let record = folder(&config).spawn_record().unwrap().unwrap();
    let holder = record.holder.unwrap();

    // The same id with another start time is another process.
    let start = format!("\"start\": {}", holder.start);
    fs::write(&path, text.replace(&start, "\"start\": 1")).unwrap();
    assert!(matches!(adopt(&folder(&config), 0).unwrap(), Adopted::Gone { .. }));

    let config = attempts.config("read line", Connection::Pipes);
    drop(self::start(&config));
    let path = config.folder.clone().unwrap().join("spawn.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&record.boot_id, "another-boot")).unwrap();
    assert!(matches!(adopt(&folder(&config), 0).unwrap(), Adopted::Gone { .. }));
}

#[test]
fn what_was_stopped_before_it_started_never_starts() {
    let attempts = Attempts::new();
    let config = attempts.config("echo no", Connection::Pipes);
    folder(&config).mark_killed().unwrap();
    let Err(SpawnError::Refused(reason)) = domain().spawn(&config) else { panic!("it started") };
    assert!(reason.contains("was stopped before it started"), "{reason}");
}

/// The record of a start whose creator died before its holder took over.
fn half_started(attempts: &Attempts, script: &str, ticket: &str) -> SpawnConfig {
    let config = attempts.config(script, Connection::Pipes);
    let path = config.folder.clone().unwrap();
    fs::create_dir_all(&path).unwrap();
    let record = serde_json::json!({
        "version": 1, "job": config.job, "argv": [], "cwd": "", "env": [],
        "bootId": machine::boot_id().unwrap(), "ticket": ticket,
    });
    fs::write(path.join("spawn.json"), record.to_string()).unwrap();
    config
}

fn late_holder(config: &SpawnConfig, ticket: &str) -> std::process::Output {
    std::process::Command::new(TestProgram::Holder.path())
        .arg("hold")
        .arg(config.folder.clone().unwrap())
        .args(["--job", &config.job, "--pipes", "--ticket", ticket, "--"])
        .args(&config.argv)
        .current_dir(&config.cwd)
        .output()
        .unwrap()
}

#[test]
fn a_start_of_which_nothing_came_is_taken_back_and_a_late_holder_starts_nothing() {
    let attempts = Attempts::new();
    let config = half_started(&attempts, "echo once >> ran.txt", "1-1");
    assert!(take_back(&folder(&config)).unwrap());
    let ran = config.cwd.join("ran.txt");
    // Its holder comes only now, after the start was taken back.
    let late = late_holder(&config, "1-1");
    assert!(String::from_utf8_lossy(&late.stdout).contains("not wanted any more"), "{late:?}");
    assert!(!ran.exists());
    // The folder can be used for another start.
    panes::run_to_end(&mut *start(&config));
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    let late = late_holder(&config, "1-1");
    assert!(String::from_utf8_lossy(&late.stdout).contains("not wanted any more"), "{late:?}");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "once\n");
    assert!(!take_back(&folder(&config)).unwrap(), "this one came to something");
}

#[test]
fn a_start_whose_holder_came_is_not_taken_back() {
    let attempts = Attempts::new();
    let config = attempts.config("read line", Connection::Pipes);
    let pane = start(&config);
    assert!(!take_back(&folder(&config)).unwrap());
    drop(pane);
    kill_holder(&config);
    assert!(!take_back(&folder(&config)).unwrap(), "its process may have run");
    assert!(matches!(adopt(&folder(&config), 0).unwrap(), Adopted::Gone { .. }));
}

#[test]
fn a_folder_is_used_once() {
    let attempts = Attempts::new();
    let config = attempts.config("exit 0", Connection::Pipes);
    panes::run_to_end(&mut *start(&config));
    assert!(matches!(domain().spawn(&config), Err(SpawnError::Refused(_))));
}

#[test]
fn what_cannot_be_started_says_why() {
    let attempts = Attempts::new();
    let error = |argv: &[&str], change: &dyn Fn(&mut SpawnConfig)| {
        let mut config = attempts.config("", Connection::Pipes);
        config.argv = argv.iter().map(Into::into).collect();
        change(&mut config);
        match domain().spawn(&config) {
            Ok(_) => panic!("{argv:?} was started"),
            Err(error) => error,
        }
    };
    assert!(matches!(error(&["no-such-program"], &|_| {}), SpawnError::NotFound { .. }));
    assert!(matches!(error(&["/etc/passwd"], &|_| {}), SpawnError::NotExecutable { .. }));
    let long = "x".repeat(200_000);
    assert!(matches!(error(&["true", &long], &|_| {}), SpawnError::TooLong { .. }));
    let cwd = error(&["true"], &|config| config.cwd = "/no/such".into());
    assert!(matches!(cwd, SpawnError::WorkingDirectory { .. }), "{cwd}");
    let config = attempts.config("true", Connection::Pipes);
    let Err(missing) = HolderDomain::new("/no/such/coven").spawn(&config) else { panic!("held") };
    assert!(missing.to_string().contains("/no/such/coven, which holds agents"), "{missing}");
    let none = error(&["true"], &|config| config.folder = None);
    assert!(matches!(none, SpawnError::Refused(_)), "{none}");
}

#[test]
fn a_folder_deeper_than_a_socket_path_may_be_long_works() {
    let attempts = Attempts::new();
    let mut config = attempts.config("echo deep; read line", Connection::Pipes);
    let deep: PathBuf = config.folder.clone().unwrap().join("d/".repeat(150)).join("x".repeat(100));
    config.folder = Some(deep);
    let mut pane = start(&config);
    read_for(&mut *pane, "deep");
    drop(pane);
    let mut pane = adopted(&config, 0);
    panes::write_all(&mut pane, b"\n");
    let (printed, status) = panes::run_to_end(&mut pane);
    assert_eq!((printed.text().as_str(), status), ("deep\n", Some(ExitStatus::Code(0))));
}

#[test]
fn everything_in_the_folder_is_for_its_user_alone_and_has_no_secret() {
    let attempts = Attempts::new();
    let mut config = attempts.config("read line", Connection::Pipes);
    config.env.insert("API_KEY".into(), "very secret".into());
    let mut pane = start(&config);
    let path = config.folder.clone().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("sock")), 0o600);
    assert_eq!(mode(&path.join("spawn.json")), 0o600);
    let record = fs::read_to_string(path.join("spawn.json")).unwrap();
    assert!(record.contains("API_KEY") && !record.contains("secret"), "{record}");
    pane.stop(StopMode::Force).unwrap();
    panes::wait_gone(&mut *pane);
    assert!(!path.join("sock").exists());
}

#[test]
fn a_client_that_speaks_nonsense_is_turned_away_and_the_job_goes_on() {
    use std::io::{Read, Write};
    let attempts = Attempts::new();
    let config = attempts.config("cat", Connection::Pipes);
    let mut pane = start(&config);
    let mut odd =
        std::os::unix::net::UnixStream::connect(config.folder.clone().unwrap().join("sock"))
            .unwrap();
    odd.set_read_timeout(Some(panes::DEADLINE)).unwrap();
    odd.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let ended = odd.read(&mut [0; 16]);
    assert!(matches!(ended, Ok(0)) || ended.is_err(), "{ended:?}");
    panes::write_all(&mut *pane, b"still here\n");
    read_for(&mut *pane, "still here\n");
}

#[test]
fn the_screen_is_rebuilt_exactly_from_snap_and_tape() {
    let attempts = Attempts::new();
    let script = "printf 'one\\033[31m'; read line; printf 'two\\r\\n\\033]0;title\\007'; read line; \
                  stty size; printf '\\033[?1049halt'; read line";
    let config = attempts.config(script, panes::terminal());
    let mut pane = start(&config);
    let mut screen = Screen::new(GridSize::default());
    let follow = |pane: &mut dyn Pane, screen: &mut Screen, text: &str| {
        let mut printed = PaneOutput::default();
        panes::read_until(pane, &mut printed, |printed| printed.text().contains(text));
        screen.feed(&printed.output);
        printed.output.len() as u64
    };
    let mut offset = follow(&mut *pane, &mut screen, "one");
    ScreenSnap::of(&mut screen, offset).save(&folder(&config)).unwrap();
    panes::write_all(&mut *pane, b"\n");
    offset += follow(&mut *pane, &mut screen, "title");
    pane.resize(GridSize::new(100, 30)).unwrap();
    screen.resize(GridSize::new(100, 30));
    panes::write_all(&mut *pane, b"\n");
    offset += follow(&mut *pane, &mut screen, "alt");

    let mut rebuilt = rebuild(&folder(&config), &Options::default()).unwrap();
    assert!(rebuilt.exact);
    assert_eq!(rebuilt.offset, offset);
    assert_eq!(rebuilt.screen.snapshot(), screen.snapshot());
    fs::remove_file(config.folder.clone().unwrap().join("screen.snap")).unwrap();
    let mut rebuilt = rebuild(&folder(&config), &Options::default()).unwrap();
    assert_eq!(rebuilt.screen.snapshot(), screen.snapshot(), "from the tape alone");
    assert!(rebuilt.screen.take_replies().is_empty());
}

#[test]
fn a_signal_to_the_holder_ends_the_job_and_is_recorded() {
    let attempts = Attempts::new();
    let config = attempts
        .config("trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done", Connection::Pipes);
    let mut pane = start(&config);
    read_for(&mut *pane, "ready");
    let holder: Identity = folder(&config).spawn_record().unwrap().unwrap().holder.unwrap();
    holder.signal(rustix::process::Signal::TERM).unwrap();
    let (_, status) = panes::run_to_end(&mut *pane);
    assert_eq!(status, Some(ExitStatus::Code(9)));
}

#[test]
fn a_process_that_closes_its_terminal_and_lives_on_is_still_held() {
    let attempts = Attempts::new();
    let script = "echo before; exec 0<&- 1>&- 2>&-; sleep 0.3; exec 1>/dev/tty; echo after; exit 6";
    let config = attempts.config(script, panes::terminal());
    let (printed, status) = panes::run_to_end(&mut *start(&config));
    assert_eq!(printed.text(), "before\r\nafter\r\n");
    assert_eq!(status, Some(ExitStatus::Code(6)));
}

#[test]
fn a_grandchild_that_writes_after_its_parent_is_heard() {
    let attempts = Attempts::new();
    let config = attempts.config("(sleep 0.2; echo late) & echo early; exit 0", Connection::Pipes);
    let (printed, status) = panes::run_to_end(&mut *start(&config));
    assert_eq!(printed.text(), "early\nlate\n");
    assert_eq!(status, Some(ExitStatus::Code(0)));
}

#[test]
fn an_idle_holder_is_not_woken() {
    let attempts = Attempts::new();
    let config = attempts.config("read line", panes::terminal());
    let mut pane = start(&config);
    let holder = folder(&config).spawn_record().unwrap().unwrap().holder.unwrap();
    let wakes = || -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", holder.pid)).unwrap();
        text.split(' ').nth(2).unwrap().trim().parse().unwrap()
    };
    // The hello was answered once this is there, and then there is nothing to do.
    panes::wait_ready(&*pane, Instant::now() + panes::DEADLINE);
    assert_eq!(pane.read(&mut [0; 16]).unwrap(), ReadOutcome::Pending);
    let before = wakes();
    for _ in 0..100 {
        assert_eq!(pane.read(&mut [0; 16]).unwrap(), ReadOutcome::Pending);
    }
    assert!(wakes() - before <= 1, "it was woken for nothing");
}

#[test]
fn a_job_whose_folder_is_gone_ends_with_its_last_client() {
    let attempts = Attempts::new();
    let config = attempts.config("echo ready; while :; do sleep 0.05; done", Connection::Pipes);
    let mut pane = start(&config);
    read_for(&mut *pane, "ready");
    fs::remove_dir_all(config.folder.clone().unwrap()).unwrap();
    assert!(pane.is_alive());
    drop(pane);
    let deadline = Instant::now() + panes::DEADLINE;
    while !processes::of_job(&config.job).is_empty() {
        assert!(Instant::now() < deadline, "it lives on unseen");
        std::thread::yield_now();
    }
}

#[test]
fn the_screen_survives_the_loss_of_the_beginning_with_nobody_connected() {
    let attempts = Attempts::new();
    // A colour set at the very beginning, then more output than is kept, a part at a time.
    let script =
        "stty raw -echo; printf '\\033[31mred'; while read -r go; do seq 100000 199999; done";
    let mut config = attempts.config(script, panes::terminal());
    config.keep = Some(4 * 1024 * 1024);
    let mut pane = start(&config);
    read_for(&mut *pane, "red");
    let mut end = 8;
    for _ in 0..8 {
        // Only what is written counts; nothing is read.
        panes::write_all(&mut *pane, b"go\n");
        end += 7 * 100_000;
        let deadline = Instant::now() + panes::DEADLINE;
        let due = 1024 * 1024;
        let saved = || ScreenSnap::load(&folder(&config)).map_or(0, |snap| snap.offset);
        let reached = || {
            coven_tape::TapeReader::open(folder(&config).path())
                .is_ok_and(|reader| reader.range().end >= end)
        };
        while !reached() || end - saved().min(end) > 2 * due {
            assert!(Instant::now() < deadline, "saved up to {} of {end}", saved());
            std::thread::yield_now();
        }
    }
    let reader = coven_tape::TapeReader::open(folder(&config).path()).unwrap();
    assert!(reader.range().start > 0, "the beginning is gone");
    let mut rebuilt = rebuild(&folder(&config), &Options::default()).unwrap();
    assert!(rebuilt.exact);
    assert_eq!(rebuilt.offset, end);
    let mut expected = Screen::new(GridSize::default());
    expected.feed(b"\x1b[31mred");
    for _ in 0..8 {
        let lines: String = (100_000..200_000).map(|number| format!("{number}\n")).collect();
        expected.feed(lines.as_bytes());
    }
    assert_eq!(rebuilt.screen.snapshot(), expected.snapshot());
    // A client that wants the beginning is told what is missing.
    let mut late = adopted(&config, 0);
    let mut printed = PaneOutput::default();
    panes::read_until(&mut late, &mut printed, |printed| {
        printed.output.ends_with(b"199999\n") && printed.output.len() > 1_000_000
    });
    assert!(late.lost() > 0);
}
