//! `cargo xtask attack`: the attacks that need root, namespaces or a program that a machine need not
//! have, against the built program. One line says of each whether it was held, broke something, or
//! cannot run here. All of them are tests; those that need nothing special also run with all others.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::cargo;
use crate::error::Error;

/// Names the file to which a test that cannot run adds its reason.
const SKIPS: &str = "COVEN_SKIPS";

/// Tells the tests of the page to leave the sandbox of the browser on.
const BROWSER_SANDBOX: &str = "COVEN_BROWSER_SANDBOX";

/// A user who owns nothing, as whom a browser is started.
const NOBODY: u32 = 65534;

/// How long one attack may take, in seconds: a browser on a busy machine is slow.
const ATTACK_SECONDS: &str = "600";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only attacks whose description has this in it
    only: Option<String>,
    /// List them and run nothing
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy)]
enum TestBinary {
    Cli,
    Daemon,
    Runtime,
}

impl TestBinary {
    fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::Cli => ("coven-cli", "cli"),
            Self::Daemon => ("coven-daemon", "daemon"),
            Self::Runtime => ("coven-runtime", "runtime"),
        }
    }
}

struct Attack {
    /// What is to hold.
    what: &'static str,
    binary: TestBinary,
    test: &'static str,
    /// Run as a user without rights, with the browser's own sandbox on.
    in_browser: bool,
}

const fn attack(what: &'static str, binary: TestBinary, test: &'static str) -> Attack {
    Attack { what, binary, test, in_browser: false }
}

const ATTACKS: &[Attack] = &[
    attack(
        "sshd: a shell under it is a person, and a confined job does not get one",
        TestBinary::Cli,
        "attacks::outside::a_shell_under_sshd_is_a_person_and_a_confined_job_does_not_get_one",
    ),
    attack(
        "hidepid: a peer of the socket whose ancestors are hidden counts as an agent",
        TestBinary::Cli,
        "attacks::outside::where_proc_hides_processes_a_peer_of_the_socket_counts_as_an_agent",
    ),
    attack(
        "hidepid: the child of a process that hides is not taken for one that nobody started",
        TestBinary::Runtime,
        "lineage::a_process_behind_hidden_ancestors_is_unknown",
    ),
    attack(
        "other user: the socket answers nothing, also when its mode lets everybody in",
        TestBinary::Daemon,
        "security::only_what_is_our_own_is_heard_on_the_socket",
    ),
    attack(
        "other user: the TCP port answers nothing",
        TestBinary::Daemon,
        "strangers::a_process_of_another_user_gets_no_word_over_tcp",
    ),
    attack(
        "other user: reads no file of the state folder, and the port it took gets nothing of ours",
        TestBinary::Cli,
        "attacks::outside::another_user_reads_nothing_and_gets_nothing_by_our_port",
    ),
    Attack {
        what: "other program on the port: the open page signs and sends nothing",
        binary: TestBinary::Daemon,
        test: "page::impostor::a_program_that_took_the_port_learns_nothing_from_the_open_page",
        in_browser: true,
    },
    Attack {
        what: "browser with its sandbox on, as a normal user: signs in as a person and answers",
        binary: TestBinary::Daemon,
        test: "page::journeys::a_run_that_is_started_on_the_page_is_seen_live_and_its_question_answered_there",
        in_browser: true,
    },
    attack(
        "tmux server outside: where a confined job gets there, its event says so",
        TestBinary::Cli,
        "attacks::outside::a_tmux_server_outside_is_told_as_open_where_a_confined_job_gets_there",
    ),
    attack(
        "confined job: reaches neither a port of this machine nor the daemon by a signal",
        TestBinary::Cli,
        "attacks::arbiters::an_arbiter_reaches_neither_loopback_nor_the_daemon_by_a_signal",
    ),
    attack(
        "folder of another user: not used until a person says so",
        TestBinary::Cli,
        "attacks::owner::a_folder_of_another_user_is_not_used_until_a_person_says_so",
    ),
    attack(
        "folder that was given away: not opened again",
        TestBinary::Cli,
        "attacks::owner::a_folder_that_was_given_away_after_it_was_used_is_not_opened_again",
    ),
    attack(
        "program under another name: its agents are agents",
        TestBinary::Cli,
        "attacks::outside::an_agent_is_one_also_where_the_program_has_another_name",
    ),
    attack(
        "killed holder: its job does not become a person",
        TestBinary::Cli,
        "attacks::holders::a_job_that_kills_its_holder_does_not_become_a_person",
    ),
    attack(
        "killed holder: the control group of its job is ended, also what nobody saw in it",
        TestBinary::Runtime,
        "lineage::what_a_killed_holder_left_unseen_is_ended_by_its_control_group",
    ),
];

/// What came of an attack.
#[derive(Debug, PartialEq, Eq)]
enum AttackResult {
    Held,
    Broke(String),
    CannotRun(String),
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let wanted =
        |attack: &&Attack| args.only.as_ref().is_none_or(|part| attack.what.contains(part));
    let chosen: Vec<&Attack> = ATTACKS.iter().filter(wanted).collect();
    if args.list {
        for attack in chosen {
            println!("{}", attack.what);
        }
        return Ok(());
    }
    let programs = build()?;
    let mut broke = 0;
    for attack in chosen {
        let result = perform(attack, &programs);
        match &result {
            AttackResult::Held => println!("held         {}", attack.what),
            AttackResult::CannotRun(why) => println!("cannot run   {}: {why}", attack.what),
            AttackResult::Broke(said) => {
                broke += 1;
                println!("BROKE        {}", attack.what);
                eprintln!("{said}");
            }
        }
    }
    if broke == 0 { Ok(()) } else { Err(Error::Attacks(broke)) }
}

/// The test programs, by the name of their test binary.
type Programs = Vec<(String, PathBuf)>;

/// Builds the tests and what they start.
fn build() -> Result<Programs, Error> {
    cargo::run(&["build", "--quiet", "--package", "coven-test-programs", "--bins"])?;
    // The whole workspace, so that what `cargo xtask test` built is not built again.
    let line = ["test", "--quiet", "--no-run", "--message-format=json", "--workspace"];
    let tests = ["--test", "cli", "--test", "daemon", "--test", "runtime"];
    let line = [&line[..], &tests[..]].concat();
    let printed = cargo::read(&line)?;
    Ok(programs(&String::from_utf8_lossy(&printed)))
}

/// The programs that cargo says it has built, by the names of their targets.
fn programs(messages: &str) -> Programs {
    let of_line = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let name = message["target"]["name"].as_str()?.to_owned();
        let is_test = message["profile"]["test"].as_bool()?;
        let path = PathBuf::from(message["executable"].as_str()?);
        is_test.then_some((name, path))
    };
    messages.lines().filter_map(of_line).collect()
}

fn perform(attack: &Attack, programs: &Programs) -> AttackResult {
    let (package, name) = attack.binary.package();
    let Some((_, program)) = programs.iter().find(|(built, _)| built == name) else {
        return AttackResult::Broke(format!("cargo did not build the test `{name}`"));
    };
    let folder = std::env::temp_dir().join(format!("coven-attack-{}", std::process::id()));
    let made = fs::remove_dir_all(&folder)
        .or_else(|error| if folder.exists() { Err(error) } else { Ok(()) })
        .and_then(|()| fs::create_dir(&folder))
        .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)));
    if let Err(error) = made {
        return AttackResult::CannotRun(format!("{}: {error}", folder.display()));
    }
    let skips = folder.join("skips");
    let prepared = if attack.in_browser {
        browser_command(program, &folder)
    } else {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", ATTACK_SECONDS]).arg(program);
        Ok(command)
    };
    let result = match prepared {
        Err(why) => AttackResult::CannotRun(why),
        Ok(mut command) => {
            let package = cargo::root().join("crates").join(package.trim_start_matches("coven-"));
            command.args(["--exact", attack.test, "--test-threads=1"]).current_dir(&package);
            command.env("CARGO_MANIFEST_DIR", &package).env("COVEN_TEST_PROGRAMS_BUILT", "1");
            match command.env(SKIPS, &skips).env_remove("COVEN_NO_SKIPS").output() {
                Ok(output) => judge(&output, &fs::read_to_string(&skips).unwrap_or_default()),
                Err(error) => AttackResult::CannotRun(format!("it cannot be started: {error}")),
            }
        }
    };
    // What is left is in the system's folder for temporary files.
    fs::remove_dir_all(&folder).ok();
    result
}

fn judge(output: &Output, skips: &str) -> AttackResult {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() || !said.contains("1 passed") {
        return AttackResult::Broke(said + &String::from_utf8_lossy(&output.stderr));
    }
    match skips.lines().next() {
        Some(line) => {
            let reason = line.split_once(": ").map_or(line, |(_, reason)| reason);
            AttackResult::CannotRun(reason.to_owned())
        }
        None => AttackResult::Held,
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// A test of the page as a normal user, with the browser's sandbox on. As root that is another one.
fn browser_command(program: &Path, folder: &Path) -> Result<Command, String> {
    let found = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    if !found("chromedriver") {
        return Err("there is no chromedriver (Debian: chromium, chromium-driver)".to_owned());
    }
    let mut line: Vec<String> = vec!["--kill-after=10".to_owned(), ATTACK_SECONDS.to_owned()];
    if is_root() {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let user = NOBODY.to_string();
        let words = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
        line.extend(words.map(str::to_owned));
    }
    let may = Command::new("timeout")
        .args(&line)
        .args(["unshare", "--user", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !may {
        return Err("a normal user cannot make user namespaces, which the sandbox needs".to_owned());
    }
    let reads = Command::new("timeout").args(&line).args(["test", "-x"]).arg(program).status();
    if !reads.is_ok_and(|status| status.success()) {
        return Err(format!("a normal user cannot run {}", program.display()));
    }
    let mut command = Command::new("timeout");
    command.args(&line).arg(program).env(BROWSER_SANDBOX, "on");
    command.env("HOME", folder).env("TMPDIR", folder);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn output(code: i32, said: &str) -> Output {
        let status = ExitStatus::from_raw(code << 8);
        Output { status, stdout: said.as_bytes().to_vec(), stderr: Vec::new() }
    }

    #[test]
    fn an_attack_is_held_only_if_its_test_ran_and_passed() {
        let passed = "test result: ok. 1 passed; 0 failed";
        assert_eq!(judge(&output(0, passed), ""), AttackResult::Held);
        let skipped = judge(&output(0, passed), "a::b: there is no sshd\n");
        assert_eq!(skipped, AttackResult::CannotRun("there is no sshd".to_owned()));
        let none = judge(&output(0, "test result: ok. 0 passed"), "");
        assert!(matches!(none, AttackResult::Broke(_)), "a test that is not there holds nothing");
        assert!(matches!(judge(&output(101, "0 passed; 1 failed"), ""), AttackResult::Broke(_)));
    }

    #[test]
    fn programs_are_found_in_what_cargo_says() {
        let messages = "{\"reason\":\"build-finished\"}\n{\"target\":{\"name\":\"cli\"},\"profile\":{\"test\":true},\"executable\":\"/x/cli-1\"}\n{\"target\":{\"name\":\"coven\"},\"profile\":{\"test\":false},\"executable\":\"/x/coven\"}\n";
        assert_eq!(programs(messages), [("cli".to_owned(), PathBuf::from("/x/cli-1"))]);
    }
}
