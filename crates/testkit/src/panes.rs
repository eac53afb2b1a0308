//! What every domain that starts real processes must do, as checks that a domain's tests run.
//! Waits are for readiness, with a deadline.

#![expect(clippy::missing_panics_doc, reason = "to panic is what a check is for")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use coven_runtime::domain::{
    Connection, DiscardResult, Domain, ExitStatus, InputMode, Pane, PaneStream, ReadOutcome,
    ReaderActivity, SpawnConfig, StopMode,
};
use coven_runtime::processes;
use coven_terminal::screen::GridSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

/// Longer than anything here takes on a loaded machine; only a failure waits for it.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// A pane that tells nothing for this long has nothing to tell: buffers are passed on within
/// microseconds.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// A command for `sh -c` in a folder, with a small environment and a job of its own.
pub fn shell(script: &str, connection: Connection, folder: &Path) -> SpawnConfig {
    command(&["sh", "-c", script], connection, folder)
}

pub fn command(argv: &[&str], connection: Connection, folder: &Path) -> SpawnConfig {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let env = [("PATH", path), ("HOME", folder.into()), ("TERM", "xterm-256color".into())];
    SpawnConfig {
        argv: argv.iter().map(OsString::from).collect(),
        cwd: folder.to_owned(),
        env: env.into_iter().map(|(name, value)| (name.into(), value)).collect::<BTreeMap<_, _>>(),
        connection,
        input: None,
        sandbox: None,
        folder: None,
        keep: None,
        job: format!("test-{}-{next}", std::process::id()),
    }
}

/// Makes the configuration of a script, on a terminal or pipes.
pub type Config<'a> = &'a dyn Fn(&str, Connection) -> SpawnConfig;

/// Something every domain must do.
pub type Check = fn(&dyn Domain, Config<'_>);

/// A test for each thing every domain must do, run by a function that takes a [`Check`].
#[macro_export]
macro_rules! domain_checks {
    ($check:ident) => {
        $crate::domain_checks!(
            $check:
            pipes_keep_output_and_errors_apart,
            a_terminal_is_a_real_one,
            nothing_of_ours_is_inherited,
            input_arrives_and_can_be_closed,
            input_that_does_not_fit_is_awaited_and_arrives_whole,
            input_that_nobody_read_can_be_discarded,
            a_line_that_must_not_be_shown_is_known,
            a_terminal_that_is_set_up_long_after_the_last_word_is_known,
            a_program_that_watches_anything_but_its_terminal_reads_nothing,
            a_new_size_arrives,
            force_leaves_nothing,
            a_polite_stop_is_enough_for_most,
            what_is_left_behind_is_ended,
            a_flood_arrives_whole,
            a_signal_is_told,
        );
    };
    ($check:ident: $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                $check($crate::panes::$name);
            }
        )+
    };
}

/// A terminal of the usual size.
pub fn terminal() -> Connection {
    Connection::Terminal(GridSize::default())
}

/// Waits until a pane has something to tell.
pub fn wait_ready(pane: &dyn Pane, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    assert!(!left.is_zero(), "nothing happened before the deadline");
    let Some(readiness) = pane.readiness() else { return };
    let timeout = Timespec::try_from(left).ok();
    // A signal that interrupts changes nothing: the caller looks at the pane and waits again.
    poll(&mut [PollFd::new(&readiness, PollFlags::IN)], timeout.as_ref()).ok();
}

/// What a pane has printed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneOutput {
    /// Standard output or the terminal.
    pub output: Vec<u8>,
    pub error: Vec<u8>,
    /// Whether everything was read.
    pub ended: bool,
}

impl PaneOutput {
    /// The output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }
}

/// Reads until the condition holds or everything was read.
pub fn read_until(
    pane: &mut dyn Pane,
    printed: &mut PaneOutput,
    mut enough: impl FnMut(&PaneOutput) -> bool,
) {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = vec![0; 16 * 1024];
    while !printed.ended && !enough(printed) {
        match pane.read(&mut buffer) {
            Ok(ReadOutcome::Data(PaneStream::Output, length)) => {
                printed.output.extend_from_slice(&buffer[..length]);
            }
            Ok(ReadOutcome::Data(PaneStream::Error, length)) => {
                printed.error.extend_from_slice(&buffer[..length]);
            }
            Ok(ReadOutcome::Pending) => wait_ready(pane, deadline),
            Ok(ReadOutcome::End) => printed.ended = true,
            Err(error) => panic!("reading failed: {error}"),
        }
    }
}

/// Reads everything and waits for the end.
pub fn run_to_end(pane: &mut dyn Pane) -> (PaneOutput, Option<ExitStatus>) {
    let mut printed = PaneOutput::default();
    read_until(pane, &mut printed, |_| false);
    wait_gone(pane);
    (printed, pane.exit_status())
}

/// Waits until nothing of a pane runs any more.
pub fn wait_gone(pane: &mut dyn Pane) {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = vec![0; 16 * 1024];
    while pane.is_alive() {
        if pane.read(&mut buffer).is_ok_and(|outcome| outcome == ReadOutcome::Pending) {
            wait_ready(pane, deadline);
        }
        assert!(Instant::now() < deadline, "still alive at the deadline");
    }
}

/// Writes everything, and says how often it had to wait. What the pane prints meanwhile is lost.
pub fn write_all(pane: &mut dyn Pane, bytes: &[u8]) -> usize {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = vec![0; 16 * 1024];
    let (mut rest, mut waits) = (bytes, 0);
    loop {
        match pane.write(rest) {
            Ok(length) => rest = &rest[length..],
            Err(error) => panic!("writing failed: {error}"),
        }
        if rest.is_empty() {
            return waits;
        }
        waits += 1;
        wait_ready(pane, deadline);
        let read = pane.read(&mut buffer);
        assert!(read.is_ok(), "reading failed: {read:?}");
    }
}

/// Whether a pane has something to tell within this time.
fn becomes_ready(pane: &dyn Pane, limit: Duration) -> bool {
    let Some(readiness) = pane.readiness() else { return true };
    let timeout = Timespec::try_from(limit).ok();
    poll(&mut [PollFd::new(&readiness, PollFlags::IN)], timeout.as_ref()) == Ok(1)
}

fn start(domain: &dyn Domain, config: &SpawnConfig) -> Box<dyn Pane> {
    match domain.spawn(config) {
        Ok(pane) => pane,
        Err(error) => panic!("{:?} did not start: {error}", config.argv),
    }
}

/// Streams are apart on pipes, and the exit code is the program's.
pub fn pipes_keep_output_and_errors_apart(domain: &dyn Domain, config: Config<'_>) {
    let config = config("echo out; echo err >&2; exit 3", Connection::Pipes);
    let (printed, status) = run_to_end(&mut *start(domain, &config));
    assert_eq!(printed.text(), "out\n");
    assert_eq!(printed.error, b"err\n");
    assert_eq!(status, Some(ExitStatus::Code(3)));
}

/// A terminal is the controlling one, in a session of its own, of the wanted size.
pub fn a_terminal_is_a_real_one(domain: &dyn Domain, config: Config<'_>) {
    let script = "test -t 0 && test -t 1 && test -t 2 && echo tty; stty size </dev/tty; \
                  read -r pid comm state ppid pgrp session rest </proc/self/stat; \
                  test $session = $$ && echo leader";
    let config = config(script, Connection::Terminal(GridSize::new(97, 31)));
    let (printed, status) = run_to_end(&mut *start(domain, &config));
    assert_eq!(printed.text(), "tty\r\n31 97\r\nleader\r\n");
    assert_eq!(status, Some(ExitStatus::Code(0)));
}

/// Signals are as by default and no descriptor of ours is left open.
pub fn nothing_of_ours_is_inherited(domain: &dyn Domain, config: Config<'_>) {
    let leaked = std::fs::File::open("/dev/null").and_then(|file| {
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
        Ok(file)
    });
    assert!(leaked.is_ok(), "a descriptor that could be inherited: {leaked:?}");
    let script = "sed -n 's/^SigIgn:\t//p' /proc/self/status; ls /proc/$$/fd; echo \"$COVEN_JOB\"; \
                  env | cut -d= -f1 | grep -v -e '^_$' -e '^SHLVL$' | sort";
    let config = config(script, Connection::Pipes);
    let (printed, _) = run_to_end(&mut *start(domain, &config));
    let text = printed.text();
    let (ignored, rest) = text.split_once('\n').unwrap_or_default();
    // Signals above 31 that cannot be set belong to the C library.
    let ignored = u64::from_str_radix(ignored, 16).map(|ignored| ignored & 0x7fff_ffff);
    assert_eq!(ignored, Ok(0));
    let expected = format!("0\n1\n2\n{}\nCOVEN_JOB\nHOME\nPATH\nPWD\nTERM\n", config.job);
    assert_eq!(rest, expected);
}

/// The input stays open until it is closed, and both ends see the same bytes.
pub fn input_arrives_and_can_be_closed(domain: &dyn Domain, config: Config<'_>) {
    let mut pane = start(domain, &config("cat; echo end", Connection::Pipes));
    let mut printed = PaneOutput::default();
    write_all(&mut *pane, b"first\n");
    read_until(&mut *pane, &mut printed, |printed| printed.output == b"first\n");
    write_all(&mut *pane, b"second\n");
    read_until(&mut *pane, &mut printed, |printed| printed.output.ends_with(b"second\n"));
    assert!(pane.is_alive());
    if let Err(error) = pane.close_input() {
        panic!("closing failed: {error}");
    }
    read_until(&mut *pane, &mut printed, |_| false);
    assert_eq!(printed.text(), "first\nsecond\nend\n");
    wait_gone(&mut *pane);
    assert_eq!(pane.exit_status(), Some(ExitStatus::Code(0)));
    assert_eq!(pane.write(b"x").map_err(|error| error.kind()), Err(std::io::ErrorKind::BrokenPipe));
}

/// Input that a program does not read yet is no reason to wake up. When it reads, that is told,
/// and everything arrives in order, on a terminal and on pipes.
pub fn input_that_does_not_fit_is_awaited_and_arrives_whole(
    domain: &dyn Domain,
    config: Config<'_>,
) {
    // More than all buffers on the way take together.
    let text: Vec<u8> = (0..3 << 20).map(|byte| b'a' + (byte / 7 % 26) as u8).collect();
    for (connection, prepare) in [(terminal(), "stty raw -echo"), (Connection::Pipes, ":")] {
        let script = format!(
            "{prepare}; echo ready; until test -e go; do sleep 0.05; done; \
             head -c {} > got; rm go; echo done; sleep 1000",
            text.len()
        );
        let config = config(&script, connection);
        let mut pane = start(domain, &config);
        let mut printed = PaneOutput::default();
        read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
        let (mut rest, mut wakes) = (&text[..], 0);
        loop {
            match pane.write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(error) => panic!("writing failed: {error}"),
            }
            // Buffers empty into each other for a moment. Then nothing moves any more.
            if !becomes_ready(&*pane, QUIET_TIME) {
                break;
            }
            wakes += 1;
            let mut buffer = [0; 1024];
            let read = pane.read(&mut buffer);
            assert!(read.is_ok(), "reading failed: {read:?}");
        }
        assert!(!rest.is_empty(), "the program does not read");
        assert!(wakes < text.len() / 256, "it woke up {wakes} times for nothing");
        let told = std::fs::write(config.cwd.join("go"), "");
        assert!(told.is_ok(), "{told:?}");
        let waits = write_all(&mut *pane, rest);
        assert!(waits > 0 && waits < rest.len() / 256, "it woke up {waits} times");
        read_until(&mut *pane, &mut printed, |printed| printed.text().contains("done"));
        assert!(std::fs::read(config.cwd.join("got")).is_ok_and(|got| got == text));
        assert!(!becomes_ready(&*pane, Duration::ZERO), "nothing waits any more");
        let stopped = pane.stop(StopMode::Force);
        assert!(stopped.is_ok(), "{stopped:?}");
        wait_gone(&mut *pane);
    }
}

/// What a process has not read is thrown away, and what is written later arrives alone.
pub fn input_that_nobody_read_can_be_discarded(domain: &dyn Domain, config: Config<'_>) {
    let script = "stty raw -echo; printf ready; kill -STOP $$; dd bs=1 count=1 2>/dev/null";
    let config = config(script, terminal());
    let mut pane = start(domain, &config);
    let mut printed = PaneOutput::default();
    read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
    write_all(&mut *pane, b"xyz");
    // A terminal passes on what is written a moment later.
    let deadline = Instant::now() + DEADLINE;
    while discard(&mut *pane, 4) != (DiscardResult { unread: 3, discarded: false }) {
        assert!(Instant::now() < deadline, "what was written does not count as unread");
        becomes_ready(&*pane, QUIET_TIME);
    }
    assert_eq!(discard(&mut *pane, 3), DiscardResult { unread: 3, discarded: true });
    assert_eq!(discard(&mut *pane, 1), DiscardResult { unread: 0, discarded: false });
    write_all(&mut *pane, b"q");
    let deadline = Instant::now() + DEADLINE;
    while !printed.ended {
        assert!(Instant::now() < deadline, "still stopped at the deadline");
        for process in processes::of_job(&config.job) {
            // It may have ended by itself meanwhile.
            process.signal(Signal::CONT).ok();
        }
        let mut buffer = [0; 64];
        match pane.read(&mut buffer) {
            Ok(ReadOutcome::Data(_, length)) => printed.output.extend_from_slice(&buffer[..length]),
            Ok(ReadOutcome::Pending) => drop(becomes_ready(&*pane, QUIET_TIME)),
            Ok(ReadOutcome::End) => printed.ended = true,
            Err(error) => panic!("reading failed: {error}"),
        }
    }
    assert_eq!(printed.text(), "readyq");
}

fn discard(pane: &mut dyn Pane, at_least: u32) -> DiscardResult {
    let deadline = Instant::now() + DEADLINE;
    let asked = pane.discard_unread(at_least);
    assert!(asked.is_ok(), "{asked:?}");
    let mut buffer = [0; 64];
    loop {
        assert!(Instant::now() < deadline, "no answer before the deadline");
        assert!(!matches!(pane.read(&mut buffer), Ok(ReadOutcome::Data(..))));
        if let Some(result) = pane.discard_result() {
            return result;
        }
        becomes_ready(pane, QUIET_TIME);
    }
}

/// A program that reads a password is known by what it made of its terminal.
pub fn a_line_that_must_not_be_shown_is_known(domain: &dyn Domain, config: Config<'_>) {
    let script = "printf 'Key: '; stty -echo; read key; stty echo; printf again; read line";
    let mut pane = start(domain, &config(script, terminal()));
    await_mode(&mut *pane, InputMode::hides_line);
    write_all(&mut *pane, b"key\n");
    await_mode(&mut *pane, |mode| mode.echoes && mode.collects_lines);
    write_all(&mut *pane, b"\n");
    wait_gone(&mut *pane);
}

/// A program says nothing when it sets its terminal up, and on a busy machine it may do so late.
pub fn a_terminal_that_is_set_up_long_after_the_last_word_is_known(
    domain: &dyn Domain,
    config: Config<'_>,
) {
    let script = "printf 'Menu: '; sleep 0.6; stty raw; exec cat";
    let mut pane = start(domain, &config(script, terminal()));
    await_mode(&mut *pane, |mode| mode.collects_lines);
    await_mode(&mut *pane, |mode| !mode.collects_lines);
    if let Err(error) = pane.stop(StopMode::Force) {
        panic!("stopping failed: {error}");
    }
    wait_gone(&mut *pane);
}

/// Nobody reads what is typed while a program waits in `select` for something else, or for a time.
pub fn a_program_that_watches_anything_but_its_terminal_reads_nothing(
    domain: &dyn Domain,
    config: Config<'_>,
) {
    for (reads, script) in [
        (false, "exec bash -c 'exec 3<> <(:); printf ready; read -t 1000 -u 3 x'"),
        (true, "exec bash -c 'exec 3<> <(:); printf ready; read -t 1000 x'"),
        (true, "printf ready; exec cat"),
        (false, "printf ready; exec sleep 1000"),
    ] {
        let mut pane = start(domain, &config(script, terminal()));
        let mut printed = PaneOutput::default();
        read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
        let deadline = Instant::now() + DEADLINE;
        let mut buffer = [0; 64];
        // Right after its last word it may still be about to wait.
        let is_wanted = |pane: &dyn Pane| match pane.reader_activity() {
            Some(ReaderActivity::MayRead) => reads,
            Some(ReaderActivity::Busy { works, .. }) => !reads && !works,
            None => cfg!(not(target_os = "linux")),
        };
        while !is_wanted(&*pane) {
            assert!(Instant::now() < deadline, "{script}: {:?}", pane.reader_activity());
            if pane.read(&mut buffer).is_ok_and(|outcome| outcome == ReadOutcome::Pending) {
                becomes_ready(&*pane, QUIET_TIME);
            }
        }
        if let Err(error) = pane.stop(StopMode::Force) {
            panic!("stopping failed: {error}");
        }
        wait_gone(&mut *pane);
    }
}

fn await_mode(pane: &mut dyn Pane, is_wanted: fn(InputMode) -> bool) {
    let deadline = Instant::now() + DEADLINE;
    let mut buffer = [0; 1024];
    while !pane.input_mode().is_some_and(is_wanted) {
        assert!(Instant::now() < deadline, "the input is {:?}", pane.input_mode());
        if pane.read(&mut buffer).is_ok_and(|outcome| outcome == ReadOutcome::Pending) {
            becomes_ready(pane, QUIET_TIME);
        }
    }
}

/// A new size reaches the program.
pub fn a_new_size_arrives(domain: &dyn Domain, config: Config<'_>) {
    let script = "trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut pane = start(domain, &config(script, terminal()));
    let mut printed = PaneOutput::default();
    read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
    if let Err(error) = pane.resize(GridSize::new(132, 43)) {
        panic!("resizing failed: {error}");
    }
    read_until(&mut *pane, &mut printed, |_| false);
    assert!(printed.text().contains("43 132"), "{}", printed.text());
}

/// A tree of processes that ignore polite signals, leave the session, and fork twice.
pub const HOSTILE: &str = "trap '' TERM HUP INT; \
    sleep 1000 & \
    (trap '' TERM HUP; setsid sleep 1001 &) ; \
    (setsid sh -c 'trap \"\" TERM HUP; sleep 1002 & sleep 1003 & wait' &) ; \
    (sh -c '(sh -c \"trap \\\"\\\" TERM HUP; sleep 1004\" &)' &) ; \
    nohup sleep 1005 >/dev/null 2>&1 & \
    echo ready; while :; do sleep 1; done";

/// A polite stop is tried, and force leaves nothing behind, not even what fled.
pub fn force_leaves_nothing(domain: &dyn Domain, config: Config<'_>) {
    let config = config(HOSTILE, terminal());
    let mut pane = start(domain, &config);
    let mut printed = PaneOutput::default();
    read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
    let deadline = Instant::now() + DEADLINE;
    while processes::of_job(&config.job).len() < 6 {
        assert!(Instant::now() < deadline, "only {:?}", processes::of_job(&config.job));
    }
    let stopped = pane.stop(StopMode::Polite { grace: Duration::from_millis(100) });
    assert!(stopped.is_ok(), "{stopped:?}");
    let stopped = pane.stop(StopMode::Force);
    assert!(stopped.is_ok(), "{stopped:?}");
    wait_gone(&mut *pane);
    assert_eq!(processes::of_job(&config.job), []);
}

/// A program that ends when asked is not forced, and says so by its status.
pub fn a_polite_stop_is_enough_for_most(domain: &dyn Domain, config: Config<'_>) {
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut pane = start(domain, &config(script, terminal()));
    let mut printed = PaneOutput::default();
    read_until(&mut *pane, &mut printed, |printed| printed.text().contains("ready"));
    let stopped = pane.stop(StopMode::Polite { grace: DEADLINE });
    assert!(stopped.is_ok(), "{stopped:?}");
    read_until(&mut *pane, &mut printed, |_| false);
    assert!(printed.text().contains("bye"), "{}", printed.text());
    wait_gone(&mut *pane);
    assert_eq!(pane.exit_status(), Some(ExitStatus::Code(7)));
}

/// What a program leaves running when it ends is ended too.
pub fn what_is_left_behind_is_ended(domain: &dyn Domain, config: Config<'_>) {
    let config = config(
        "setsid sh -c 'trap \"\" TERM HUP; sleep 1006' & echo started; exit 5",
        Connection::Pipes,
    );
    let mut pane = start(domain, &config);
    let (printed, status) = run_to_end(&mut *pane);
    assert_eq!(printed.text(), "started\n");
    assert_eq!(status, Some(ExitStatus::Code(5)));
    assert_eq!(processes::of_job(&config.job), []);
}

/// Every byte of a large output arrives, in order.
pub fn a_flood_arrives_whole(domain: &dyn Domain, config: Config<'_>) {
    let (printed, status) =
        run_to_end(&mut *start(domain, &config("seq 1 300000", Connection::Pipes)));
    let expected: String = (1..=300_000).map(|number| format!("{number}\n")).collect();
    assert!(printed.output == expected.as_bytes(), "{} bytes", printed.output.len());
    assert_eq!(status, Some(ExitStatus::Code(0)));
    let (printed, _) = run_to_end(&mut *start(domain, &config("seq 1 50000", terminal())));
    let expected: String = (1..=50_000).map(|number| format!("{number}\r\n")).collect();
    assert!(printed.output == expected.as_bytes(), "{} bytes", printed.output.len());
}

/// How a program was ended by a signal is told.
pub fn a_signal_is_told(domain: &dyn Domain, config: Config<'_>) {
    let (_, status) = run_to_end(&mut *start(domain, &config("kill -USR1 $$", Connection::Pipes)));
    assert_eq!(status, Some(ExitStatus::Signal(10)));
}
