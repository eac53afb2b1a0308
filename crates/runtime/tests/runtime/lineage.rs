//! Who belongs to a job, whatever its processes do to themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_runtime::domain::{Connection, Domain, Pane, Sandbox, StopMode};
use coven_runtime::hold::{HolderEntry, HolderRegistry};
use coven_runtime::lineage::{JobSign, Lineage, lineage, lineage_among};
use coven_runtime::processes::Identity;
use coven_runtime::sandbox::scopes_signals;
use coven_testkit::skip::{skip, skip_optional};

use crate::holder::{Attempts, domain, kill_holder, read_for};
use crate::limits::run_alone;

/// Makes a process that cannot be looked into, waits for the number of another one and prints its own.
const HIDDEN: &str = "import ctypes, os, sys; ctypes.CDLL(None).prctl(4, 0); \
                      print(os.getpid(), flush=True); sys.stdin.read()";

struct RegisteredJob {
    attempts: Attempts,
    registry: HolderRegistry,
    config: coven_runtime::domain::SpawnConfig,
    pane: Box<dyn Pane>,
}

impl RegisteredJob {
    fn start(script: &str, sandbox: Option<Sandbox>) -> Self {
        let attempts = Attempts::new();
        let registry = HolderRegistry::new(&attempts.path().join("state"));
        let mut config = attempts.config(script, Connection::Pipes);
        config.sandbox = sandbox;
        let pane = domain().with_registry(registry.clone()).spawn(&config).unwrap();
        Self { attempts, registry, config, pane }
    }

    /// The number that the job prints first.
    fn printed_pid(&mut self) -> i32 {
        let said = read_for(&mut *self.pane, "\n");
        said.text().trim().parse().unwrap_or_else(|_| panic!("{:?}", said.text()))
    }
}

#[test]
fn a_process_that_cannot_be_looked_into_is_known_by_its_ancestors() {
    let script = format!("exec env -i /usr/bin/python3 -c '{HIDDEN}'");
    let mut job = RegisteredJob::start(&script, None);
    let pid = job.printed_pid();
    assert_eq!(lineage(pid, &job.registry), Lineage::Job(JobSign::Holder));
    job.pane.close_input().unwrap();
}

#[test]
fn a_process_without_parent_session_and_environment_is_known_by_its_holder() {
    let script = "(env -i setsid sh -c 'echo $$; exec sleep 1000' &); cat";
    let mut job = RegisteredJob::start(script, None);
    let pid = job.printed_pid();
    assert_eq!(lineage(pid, &job.registry), Lineage::Job(JobSign::Holder));
    job.pane.close_input().unwrap();
}

fn gone(pid: i32, path: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while Identity::of(pid).is_some() {
        assert!(Instant::now() < end, "{} was left", path.display());
        std::thread::yield_now();
    }
}

/// A job that left a process which nothing but the record of its tree names.
const ORPHAN: &str = "(env -i setsid sh -c 'echo $$; exec sleep 1000' &); sleep 1000";

#[test]
fn what_a_killed_holder_left_is_ended_before_anybody_is_judged() {
    let mut job = RegisteredJob::start(ORPHAN, None);
    let pid = job.printed_pid();
    let seen = job.registry.refresh().unwrap().remove(0);
    assert!(seen.tree.iter().any(|process| process.pid == pid), "{seen:?}");
    kill_holder(&job.config);
    assert!(Identity::of(pid).is_some(), "the holder took it along");
    let own = Identity::own().unwrap();
    assert_eq!(lineage(own.pid, &job.registry), Lineage::Outside);
    gone(pid, job.attempts.path());
    let [entry] = &job.registry.entries().unwrap()[..] else { panic!("the loss is kept") };
    assert!(entry.lost);
}

/// What has no control group of its own: it is confined.
fn ungrouped() -> Sandbox {
    Sandbox { signals_only: true, ..Sandbox::default() }
}

/// The orphan was never seen below its holder, and no environment names its job.
#[test]
fn what_a_killed_holder_left_unseen_is_ended_by_its_control_group() {
    let mut job = RegisteredJob::start(ORPHAN, None);
    let pid = job.printed_pid();
    let [entry] = &job.registry.entries().unwrap()[..] else { panic!("one holder is known") };
    if entry.cgroup.is_none() {
        job.pane.stop(StopMode::Force).unwrap();
        return skip_optional("no control group can be had here");
    }
    assert!(entry.tree.is_empty(), "it was seen: {entry:?}");
    kill_holder(&job.config);
    assert!(Identity::of(pid).is_some(), "the holder took it along");
    assert_eq!(lineage_among(pid, std::slice::from_ref(entry)), Lineage::Job(JobSign::Cgroup));
    let own = Identity::own().unwrap();
    assert_eq!(lineage(own.pid, &job.registry), Lineage::Outside);
    gone(pid, job.attempts.path());
    assert_eq!(group_folders(entry), Vec::<PathBuf>::new(), "the group is removed");
}

/// The folders of an entry's control group that are there.
fn group_folders(entry: &HolderEntry) -> Vec<PathBuf> {
    let group = serde_json::to_value(&entry.cgroup).unwrap();
    let folder = group["folder"].as_str().map(PathBuf::from);
    folder.into_iter().filter(|folder| folder.exists()).collect()
}

#[test]
fn a_control_group_goes_with_its_job_and_what_is_in_it() {
    let script =
        "trap '' TERM; (trap '' TERM; setsid sleep 1000 &); echo $$; while :; do read x; done";
    let mut job = RegisteredJob::start(script, None);
    job.printed_pid();
    let [entry] = &job.registry.entries().unwrap()[..] else { panic!("one holder is known") };
    if entry.cgroup.is_none() {
        job.pane.stop(StopMode::Force).unwrap();
        return skip_optional("no control group can be had here");
    }
    assert_eq!(group_folders(entry).len(), 1);
    job.pane.stop(StopMode::Force).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !job.registry.entries().unwrap().is_empty() {
        assert!(Instant::now() < end, "the holder does not end");
        std::thread::yield_now();
    }
    assert_eq!(group_folders(entry), Vec::<PathBuf>::new(), "the group is left");
}

/// The same for what is known by nothing else.
#[test]
fn what_a_killed_holder_left_unseen_is_known_by_its_limit() {
    let mut job = RegisteredJob::start(ORPHAN, Some(ungrouped()));
    let pid = job.printed_pid();
    kill_holder(&job.config);
    let orphan = Identity::of(pid).expect("the orphan lives");
    assert_eq!(lineage(pid, &job.registry), Lineage::Job(JobSign::Limit));
    let own = Identity::own().unwrap();
    assert_eq!(lineage(own.pid, &job.registry), Lineage::Outside);
    orphan.signal(rustix::process::Signal::KILL).unwrap();
    gone(pid, job.attempts.path());
}

/// A program of any name with the arguments of a holder, which no daemon wrote down.
#[test]
fn the_name_of_the_program_does_not_decide() {
    let mut job = RegisteredJob::start("sleep 1000 & echo $!; cat", None);
    let pid = job.printed_pid();
    assert_eq!(lineage(pid, &job.registry), Lineage::Job(JobSign::Holder));
    let signs = lineage_among(pid, &[]);
    assert!(matches!(signs, Lineage::Job(JobSign::Environment)), "{signs:?}");
    job.pane.close_input().unwrap();
}

#[test]
fn a_confined_process_cannot_signal_its_holder() {
    if !scopes_signals() {
        return skip("this kernel does not confine signals");
    }
    let script = "kill -9 $PPID 2>/dev/null && echo killed || echo refused; \
                  sleep 1000 & kill $! && echo own";
    let sandbox = Sandbox { signals_only: true, ..Sandbox::default() };
    let mut job = RegisteredJob::start(script, Some(sandbox));
    assert_eq!(read_for(&mut *job.pane, "own").text(), "refused\nown\n");
}

#[test]
fn a_job_with_confined_signals_writes_where_it_likes() {
    let sandbox = Sandbox { signals_only: true, ..Sandbox::default() };
    let mut job = RegisteredJob::start("touch anywhere && echo made", Some(sandbox));
    assert_eq!(read_for(&mut *job.pane, "made").text(), "made\n");
    assert!(job.attempts.path().join("anywhere").exists());
}

/// Reading, as a confined job: what is hidden, what is beside it, and what is shown in it.
#[test]
fn a_confined_job_does_not_read_what_is_hidden() {
    if !scopes_signals() {
        return skip("this kernel has no Landlock that is new enough");
    }
    let attempts = Attempts::new();
    let root: PathBuf = fs::canonicalize(attempts.path()).unwrap();
    for (path, text) in
        [("home/.ssh/key", "key"), ("home/notes", "notes"), ("home/.ssh/own/mine", "mine")]
    {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("home/link")).unwrap();
    let script = "cd home; cat notes .ssh/own/mine; cat .ssh/key link/key 2>&1 | grep -c denied; ls .ssh; echo end";
    let mut config = attempts.config(script, Connection::Pipes);
    config.cwd.clone_from(&root);
    let own = config.folder.clone().unwrap();
    config.sandbox = Some(Sandbox {
        hide: vec![root.join("home/.ssh")],
        show: vec![root.join("home/.ssh/own"), own],
        ..Sandbox::default()
    });
    let mut pane = domain().spawn(&config).unwrap();
    assert_eq!(read_for(&mut *pane, "end\n").text(), "notesmine2\nkey\nown\nend\n");
}

#[test]
fn a_confined_job_connects_to_the_ports_that_it_may() {
    if !scopes_signals() {
        return skip("this kernel has no Landlock that is new enough");
    }
    let attempts = Attempts::new();
    let open = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let script = format!(
        "for port in {} {}; do (: < /dev/tcp/127.0.0.1/$port) 2>/dev/null && echo yes || echo no; done; echo end",
        port(&open),
        port(&closed)
    );
    let mut config = attempts.config("", Connection::Pipes);
    config.argv = vec!["bash".into(), "-c".into(), script.into()];
    config.sandbox = Some(Sandbox { ports: Some(vec![port(&open)]), ..Sandbox::default() });
    let mut pane = domain().spawn(&config).unwrap();
    assert_eq!(read_for(&mut *pane, "end\n").text(), "yes\nno\nend\n");
}

/// Where /proc hides the processes of other users, it also hides those of one's own that cannot be
/// looked into. A child of such a process must not count as one that nobody started.
#[test]
fn a_process_behind_hidden_ancestors_is_unknown() {
    let script = "mount -t proc -o hidepid=2 proc /proc && \
                  exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    let through = ["unshare", "--mount", "sh", "-c", script, "sh"];
    let mut may = std::process::Command::new(through[0]);
    if !may.args(&through[1..]).arg("true").output().is_ok_and(|said| said.status.success()) {
        return skip("only root can mount a /proc that hides processes");
    }
    assert!(run_alone("lineage::hidden_ancestors_alone", &through));
}

#[test]
#[ignore = "needs a /proc that hides processes; another test starts it in one"]
fn hidden_ancestors_alone() {
    use std::io::BufRead;
    if std::env::var_os("COVEN_TEST_ALONE").is_none() {
        return;
    }
    let hides = coven_runtime::machine::process(1).is_none();
    assert!(hides, "this /proc shows the first process");
    let parent = "import ctypes, subprocess, sys; ctypes.CDLL(None).prctl(4, 0); \
                  child = subprocess.Popen(['sleep', '1000']); print(child.pid, flush=True); \
                  sys.stdin.read(); child.kill(); child.wait()";
    let mut hidden = std::process::Command::new("python3")
        .args(["-c", parent])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufReader::new(hidden.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let child: i32 = line.trim().parse().unwrap();
    assert_eq!(coven_runtime::machine::process(hidden.id() as i32), None, "it is hidden");
    assert_eq!(lineage_among(child, &[]), Lineage::Unknown);
    assert_eq!(lineage_among(Identity::own().unwrap().pid, &[]), Lineage::Unknown);
    drop(hidden.stdin.take());
    hidden.wait().unwrap();
}
