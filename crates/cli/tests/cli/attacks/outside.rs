//! Attacks that need root, namespaces or a program that a machine need not have: other users, a
//! `/proc` that hides processes, the program under another name, and other daemons as a way around.
//! `cargo xtask attack` runs them, and says which could not run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use coven_testkit::skip::{skip, skip_optional};
use serde_json::Value;

use super::arbiters::judged;
use super::{script, until};
use crate::home::{Home, Said};

/// The number of a user that is not us.
const OTHER: u32 = 65534;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A process that this test started and ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The program where other users can start it too.
fn copied_program(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    // By another process: a child that another test starts meanwhile would have our descriptor of
    // the file open for writing, and the program could not be started until it is gone.
    let mut copy = Command::new("cp");
    copy.arg(env!("CARGO_BIN_EXE_coven")).arg(&program);
    assert!(copy.status().unwrap().success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// A program of the search path or of the folders of the system's own.
fn find(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// The facts of all sessions of the project, as one text.
fn facts(home: &Home) -> String {
    let sessions = fs::read_dir(home.path("project/.coven/sessions")).unwrap().flatten();
    sessions.map(|entry| fs::read_to_string(entry.path().join("journal.jsonl")).unwrap()).collect()
}

/// Where `/proc` hides the processes of other users, no chain goes up to the first process. Then
/// nobody can be told from an agent on the socket, and nobody may change anything there.
#[test]
fn where_proc_hides_processes_a_peer_of_the_socket_counts_as_an_agent() {
    let hides = "mount -t proc -o hidepid=2 proc /proc && \
                 exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    let through = ["--mount", "sh", "-c", hides, "sh"];
    let may = Command::new("unshare").args(through).arg("true").output();
    if !may.is_ok_and(|said| said.status.success()) {
        return skip("only root can mount a /proc that hides processes");
    }
    let folder = tempfile::Builder::new().prefix("cv").tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("project")).unwrap();
    let program = copied_program(root, "coven");
    for path in [root.to_owned(), root.join("project")] {
        std::os::unix::fs::chown(path, Some(OTHER), Some(OTHER)).unwrap();
    }
    // The daemon sees what it is asked by processes that see as little as itself.
    let script = "cd \"$HOME/project\"\n\
                  coven daemon start >/dev/null 2>&1 || echo no daemon\n\
                  coven ls >/dev/null && echo looked\n\
                  coven new demo 'say hi' --detach && echo started\n\
                  coven daemon status --json | tr -d '\\n '; echo\n";
    let output = Command::new("unshare")
        .args(through)
        .args(["sh", "-c", script])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()))
        .env("HOME", root)
        .env("XDG_STATE_HOME", root.join("state"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = Said::of(&output);
    let status = said.out.lines().last().unwrap_or_default();
    let status: Value = serde_json::from_str(status).unwrap_or_else(|_| panic!("{said:?}"));
    let daemon = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let daemon = rustix::process::Pid::from_raw(daemon).unwrap();
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    assert!(said.out.starts_with("looked\n") && !said.out.contains("started"), "{said:?}");
    assert!(said.err.contains("cannot be read"), "{said:?}");
    assert!(!root.join("project/.coven/sessions").exists(), "{said:?}");
}

/// The daemon, its holders and its clients are a program whose name says nothing.
#[test]
fn an_agent_is_one_also_where_the_program_has_another_name() {
    let home = Home::new();
    let program = copied_program(home.root(), "witch");
    let witch = |args: &[&str]| {
        let mut command = Command::new(&program);
        let like = home.command(args);
        command.args(args).current_dir(like.get_current_dir().unwrap()).stdin(Stdio::null());
        command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Said::of(&command.output().unwrap())
    };
    let command = format!(
        "env -u COVEN_JOB {} new demo hi --detach >said.txt 2>&1; touch asked.txt",
        program.display()
    );
    let started = witch(&["new", "demo", &format!("approve {command}"), "--detach"]).ok();
    let name = started.out.trim();
    witch(&["wait", name, "--until", "blocked", "--timeout", "60s"]).code(3);
    witch(&["approve", name]).ok();
    until("the command to end", || home.path("project/asked.txt").exists());
    let said = fs::read_to_string(home.path("project/said.txt")).unwrap();
    assert!(said.contains("under a holder"), "{said}");
    assert_eq!(home.names().len(), 1, "an agent started another: {said}");
    witch(&["stop", name]).ok();
}

/// Everything above the state folder is open to others, as homes often are.
#[test]
fn another_user_reads_nothing_and_gets_nothing_by_our_port() {
    if !is_root() {
        return skip("only root can be another user");
    }
    let home = Home::new();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(home.path("tmp"), fs::Permissions::from_mode(0o777)).unwrap();
    let name = home.agent("say hi");
    let found = Command::new("find")
        .args([home.path("state").as_path(), Path::new("-type"), Path::new("f")])
        .args(["-readable", "-print"])
        .uid(OTHER)
        .gid(OTHER)
        .current_dir("/")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "files that another user reads");
    let coven = copied_program(home.root(), "coven");
    let mut other = Command::new(coven);
    other.args(["stop", &name]).current_dir("/").env_clear().uid(OTHER).gid(OTHER);
    other.env("HOME", home.path("tmp")).env("XDG_STATE_HOME", home.path("state"));
    let said = Said::of(&other.stdin(Stdio::null()).output().unwrap());
    assert_ne!(said.code, 0, "{said:?}");
    let live = &home.coven(&["show", &name, "--json"]).ok().json()["tasks"][0]["live"];
    assert_eq!(*live, Value::Bool(true), "{said:?}");
    let port = port(&home);
    home.coven(&["daemon", "stop", "--agents"]).ok();
    // The other user has the port now, and counts who comes.
    let listens = "import socket, sys\n\
                   s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
                   s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen(); s.setblocking(False)\n\
                   print('bound', flush=True); sys.stdin.readline()\n\
                   n = 0\n\
                   try:\n    while True: s.accept(); n += 1\n\
                   except BlockingIOError: print(n, flush=True)\n";
    let mut listener = Command::new("python3");
    listener.args(["-c", listens, &port.to_string()]).uid(OTHER).gid(OTHER).current_dir("/");
    let mut listener =
        Ended(listener.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(listener.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "bound");
    home.coven(&["daemon", "start"]).ok();
    home.coven(&["ls"]).ok();
    let status = home.coven(&["daemon", "status"]).ok();
    assert!(status.out.contains(&port.to_string()), "the loss is told: {}", status.out);
    listener.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "0", "something of ours was sent there");
}

fn port(home: &Home) -> u64 {
    let status = home.coven(&["daemon", "status", "--json"]).ok().json();
    let address = status["address"].as_str().unwrap_or_default().to_owned();
    let port = address.trim_end_matches('/').rsplit(':').next().unwrap_or_default();
    port.parse().unwrap_or_else(|_| panic!("{status:#}"))
}

/// The socket of a tmux server is a file, and connecting to it is what Landlock confines from version
/// 9 on. Until then the way is open, and the job's event says so.
#[test]
fn a_tmux_server_outside_is_told_as_open_where_a_confined_job_gets_there() {
    let Some(tmux) = find("tmux") else { return skip_optional("there is no tmux") };
    let home = Home::new();
    let socket = home.path("tmux.sock");
    let run = |args: &[&str]| {
        let mut command = Command::new(&tmux);
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(args).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8").current_dir("/");
        assert!(command.status().unwrap().success(), "{args:?}");
    };
    run(&["new-session", "-d", "-s", "outside", "exec cat"]);
    let direct = home.path("direct");
    let report = judged(
        &home,
        &format!(
            "touch {direct} && echo written\n\
             tmux -S {socket} run-shell 'touch {direct}' && echo reached || echo refused",
            direct = direct.display(),
            socket = socket.display()
        ),
    );
    run(&["kill-server"]);
    assert!(!report.contains("written"), "{report}");
    assert_eq!(direct.exists(), report.ends_with("reached\n"), "{report}");
    if direct.exists() {
        let facts = facts(&home);
        let told = facts.contains("task.confined") && facts.contains("sockets that are files");
        assert!(told, "the way is open and not told: {facts}");
    }
}

/// Runs a test of this file in namespaces of its own, where root can have them.
fn run_alone(test: &str) {
    let program = std::env::current_exe().unwrap();
    let own = "ip link set lo up && mount -t tmpfs tmpfs /run && mkdir -p /run/sshd && exec \"$@\"";
    let mut command = if is_root() {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", own, "sh"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    let output = command.env("COVEN_TEST_ALONE", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_shell_under_sshd_is_a_person_and_a_confined_job_does_not_get_one() {
    if find("sshd").is_none() || find("ssh").is_none() || find("ssh-keygen").is_none() {
        return skip_optional("there is no sshd (Debian: openssh-server)");
    }
    // Where the package was not set up, its user is missing.
    let user = Command::new("id").args(["-u", "sshd"]).output().unwrap();
    if is_root() && !user.status.success() {
        return skip_optional("sshd needs the user `sshd`, which openssh-server makes");
    }
    run_alone("attacks::outside::sshd_alone");
}

/// A server of its own with a key of its own; gives the command that opens a shell there, and its
/// port.
fn serve_ssh(home: &Home) -> (Ended, Vec<String>, u16) {
    let folder = home.path("sshd");
    let keys = home.path("home/.ssh");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(&keys).unwrap();
    let (host, key) = (folder.join("host"), keys.join("id_ed25519"));
    for path in [&host, &key] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path);
        assert!(keygen.status().unwrap().success());
    }
    fs::copy(key.with_extension("pub"), folder.join("authorized")).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
         UsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\n",
        host.display(),
        folder.join("authorized").display()
    );
    fs::write(folder.join("config"), config).unwrap();
    // It starts itself anew for each connection, and so must be called by its whole path.
    let mut sshd = Command::new(find("sshd").unwrap());
    sshd.args(["-D", "-E"]).arg(folder.join("log")).arg("-f").arg(folder.join("config"));
    sshd.env_clear().env("PATH", "/usr/bin:/bin").current_dir("/").stdin(Stdio::null());
    let sshd = Ended(sshd.spawn().unwrap());
    until("sshd to listen", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let user = Said::of(&Command::new("id").arg("-un").output().unwrap()).ok().out;
    let options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "BatchMode=yes"];
    let mut line = vec!["ssh".to_owned(), "-F".to_owned(), "none".to_owned()];
    line.extend(options.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]));
    line.extend(["-o".to_owned(), "ConnectTimeout=10".to_owned()]);
    line.extend(["-i".to_owned(), key.display().to_string(), "-p".to_owned(), port.to_string()]);
    line.push(format!("{}@127.0.0.1", user.trim()));
    (sshd, line, port)
}

#[test]
#[ignore = "needs an sshd and namespaces; another test starts it there"]
fn sshd_alone() {
    if std::env::var_os("COVEN_TEST_ALONE").is_none() {
        return;
    }
    let home = Home::new();
    let (_sshd, ssh, port) = serve_ssh(&home);
    let like = home.command(&[]);
    let variables = like
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}='{}'", name.to_str()?, value?.to_str()?)));
    let person = format!(
        "cd {} && env -i {} {} new demo 'say hi' --detach",
        home.path("project").display(),
        variables.collect::<Vec<_>>().join(" "),
        env!("CARGO_BIN_EXE_coven")
    );
    let output = Command::new(&ssh[0]).args(&ssh[1..]).arg(&person).stdin(Stdio::null()).output();
    let said = Said::of(&output.unwrap());
    let log = fs::read_to_string(home.path("sshd/log")).unwrap_or_default();
    assert_eq!((said.code, home.names().len()), (0, 1), "{said:?} {log}");
    // A job that may write its folder does not read the key; one that only reads has no port either.
    let opens = ssh.join(" ");
    let escape = format!("{opens} touch {} 2>&1 || true", home.path("escaped").display());
    let step =
        script("confined", &escape).replace("type: script", "type: script\n    sandbox: workspace");
    home.run(&step, &[]).ok();
    assert!(!home.path("escaped").exists(), "it used the key of the user");
    let report = judged(
        &home,
        &format!(
            "{escape}\n(: < /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused"
        ),
    );
    assert!(!home.path("escaped").exists(), "{report}");
    assert!(report.ends_with("refused\n"), "{report}");
}
