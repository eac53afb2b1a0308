//! What a process puts into its own folder leads nowhere else: no link there is followed, for
//! reading or for writing, by its holder or by a client.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use coven_runtime::domain::{Connection, Domain, ExitStatus, Sandbox, SpawnConfig};
use coven_runtime::hold::{Adopted, HolderFolder, ScreenSnap, adopt, rebuild, take_back};
use coven_runtime::machine;
use coven_runtime::processes::Identity;
use coven_terminal::screen::{GridSize, Options, Screen};
use coven_testkit::panes;

use crate::holder::{Attempts, domain};

const CONTENT: &str = "alias ls='ls --color'\n";

/// The two ways in which a name can lead to a file that lies elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Symbolic,
    Hard,
}

const LINKS: [Link; 2] = [Link::Symbolic, Link::Hard];

impl Link {
    fn make(self, target: &Path, name: &Path) {
        match self {
            Self::Symbolic => symlink(target, name).unwrap(),
            Self::Hard => fs::hard_link(target, name).unwrap(),
        }
    }

    /// The options of `ln` that put such a link in the place of whatever is there.
    fn options(self) -> &'static str {
        match self {
            Self::Symbolic => "-sfn",
            Self::Hard => "-f",
        }
    }
}

/// A file outside the folder of the attempt, which nothing may change.
struct Victim {
    path: PathBuf,
    content: Vec<u8>,
}

impl Victim {
    fn new(attempts: &Attempts, name: &str) -> Self {
        Self::with(attempts, name, CONTENT.as_bytes())
    }

    fn with(attempts: &Attempts, name: &str, content: &[u8]) -> Self {
        let path = attempts.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        Self { path, content: content.to_vec() }
    }

    /// What was done to it through a link with this name, if anything was.
    fn damage(&self, what: &str) -> Option<String> {
        let mode = fs::metadata(&self.path).unwrap().mode() & 0o777;
        let now = fs::read(&self.path).unwrap();
        let start: String = String::from_utf8_lossy(&now).chars().take(20).collect();
        (mode != 0o644 || now != self.content)
            .then(|| format!("{what}: mode {mode:o}, {} bytes, {start:?}", now.len()))
    }
}

/// A configuration whose folder exists and can be reached by the script as `$FOLDER`.
fn prepared(attempts: &Attempts, script: &str) -> (SpawnConfig, PathBuf) {
    let mut config = attempts.config(script, Connection::Pipes);
    let path = config.folder.clone().unwrap();
    fs::create_dir_all(&path).unwrap();
    config.env.insert("FOLDER".into(), path.clone().into());
    (config, path)
}

/// The text of a record of a process that has this process as its holder.
fn spawn_record(job: &str) -> String {
    let own = Identity::own().unwrap();
    serde_json::json!({
        "version": 1, "job": job, "argv": [], "cwd": "", "env": [],
        "bootId": machine::boot_id().unwrap(),
        "holder": {"pid": own.pid, "start": own.start},
    })
    .to_string()
}

fn exit_record() -> String {
    let text = r#"{"version":1,"status":{"code":0},"output":0,"time":1,"stopped":false}"#;
    text.to_owned()
}

#[test]
fn the_end_is_never_written_through_a_link_that_the_process_made() {
    let mut damage = Vec::new();
    for link in LINKS {
        for name in ["exit.json.new", "exit.json", "spawn.json.new", "sock", "screen.snap.new"] {
            let attempts = Attempts::new();
            let victim = Victim::new(&attempts, "victim");
            let script =
                format!("read -r go; ln {} \"$VICTIM\" \"$FOLDER/{name}\"; exit 3", link.options());
            let (mut config, path) = prepared(&attempts, &script);
            config.env.insert("VICTIM".into(), victim.path.clone().into());
            let mut pane = domain().spawn(&config).unwrap();
            panes::write_all(&mut *pane, b"go\n");
            let (_, status) = panes::run_to_end(&mut *pane);
            let what = format!("{link:?} {name}");
            assert_eq!(status, Some(ExitStatus::Code(3)), "{what}");
            let exit = HolderFolder::new(&path).exit().unwrap().unwrap();
            assert_eq!(exit.status, ExitStatus::Code(3), "{what}");
            damage.extend(victim.damage(&what));
            if !fs::symlink_metadata(path.join("exit.json")).unwrap().is_file() {
                damage.push(format!("{what}: the record of the end is a link"));
            }
        }
    }
    assert_eq!(damage, [] as [&str; 0]);
}

#[test]
fn a_folder_in_the_place_of_its_end_does_not_keep_a_process_from_ending() {
    for name in ["exit.json.new", "exit.json"] {
        let attempts = Attempts::new();
        let folder = format!("\"$FOLDER/{name}\"");
        let script = format!("rm -f {folder}; mkdir {folder}; touch {folder}/in-the-way; exit 3");
        let (config, path) = prepared(&attempts, &script);
        let mut pane = domain().spawn(&config).unwrap();
        assert_eq!(panes::run_to_end(&mut *pane).1, Some(ExitStatus::Code(3)), "{name}");
        let exit = HolderFolder::new(&path).exit().unwrap().unwrap();
        assert_eq!(exit.status, ExitStatus::Code(3), "{name}");
    }
}

#[test]
fn a_start_writes_through_no_link_that_was_there_before_it() {
    let mut damage = Vec::new();
    let segment = "out.00000000000000000000";
    let names =
        ["exit.json.new", "exit.json", "spawn.json.new", "claim", "screen.snap.new", "sock"]
            .map(str::to_owned)
            .into_iter()
            .chain(["", ".side", ".idx"].map(|suffix| format!("{segment}{suffix}")));
    for name in names {
        for link in LINKS {
            let attempts = Attempts::new();
            let victim = Victim::new(&attempts, "victim");
            let (config, path) = prepared(&attempts, "echo printed; exit 3");
            link.make(&victim.path, &path.join(&name));
            // Whether it starts does not matter here.
            if let Ok(mut pane) = domain().spawn(&config) {
                panes::run_to_end(&mut *pane);
            }
            damage.extend(victim.damage(&format!("{link:?} {name}")));
        }
    }
    assert_eq!(damage, [] as [&str; 0]);
}

#[test]
fn a_link_in_the_place_of_the_killed_mark_is_not_emptied_and_counts_as_the_mark() {
    for link in LINKS {
        let attempts = Attempts::new();
        let victim = Victim::new(&attempts, "victim");
        let (config, path) = prepared(&attempts, "echo no");
        link.make(&victim.path, &path.join("killed"));
        HolderFolder::new(&path).mark_killed().ok();
        assert_eq!(victim.damage(&format!("{link:?}")), None);
        assert!(HolderFolder::new(&path).is_killed());
        assert!(domain().spawn(&config).is_err());
    }
}

#[test]
fn a_dangling_link_does_not_make_the_killed_mark_appear_elsewhere() {
    let attempts = Attempts::new();
    let elsewhere = attempts.path().join("elsewhere");
    let (_, path) = prepared(&attempts, "");
    symlink(&elsewhere, path.join("killed")).unwrap();
    HolderFolder::new(&path).mark_killed().ok();
    assert!(!elsewhere.exists());
    assert!(HolderFolder::new(&path).is_killed());
}

#[test]
fn the_claim_is_not_made_or_locked_through_a_link() {
    let attempts = Attempts::new();
    let elsewhere = attempts.path().join("elsewhere");
    let (config, path) = prepared(&attempts, "echo no");
    symlink(&elsewhere, path.join("claim")).unwrap();
    assert!(domain().spawn(&config).is_err());
    assert!(!elsewhere.exists());
    let attempts = Attempts::new();
    let (config, path) = prepared(&attempts, "echo no");
    let record = spawn_record(&config.job).replace("\"holder\"", "\"other\"");
    fs::write(path.join("spawn.json"), record).unwrap();
    symlink(&elsewhere, path.join("claim")).unwrap();
    assert!(take_back(&HolderFolder::new(&path)).is_err());
    assert!(!elsewhere.exists());
}

#[test]
fn a_screen_is_saved_through_no_link_and_none_is_read_through_one() {
    let mut damage = Vec::new();
    let mut screen = Screen::new(GridSize::new(40, 5));
    screen.feed(b"\x1b[31mhello");
    let snap = ScreenSnap::of(&mut screen, 5);
    for link in LINKS {
        for name in ["screen.snap.new", "screen.snap"] {
            let attempts = Attempts::new();
            let victim = Victim::new(&attempts, "victim");
            let (_, path) = prepared(&attempts, "");
            link.make(&victim.path, &path.join(name));
            snap.save(&HolderFolder::new(&path)).unwrap();
            damage.extend(victim.damage(&format!("{link:?} {name}")));
            assert_eq!(ScreenSnap::load(&HolderFolder::new(&path)), Some(snap.clone()));
        }
    }
    assert_eq!(damage, [] as [&str; 0]);
    let attempts = Attempts::new();
    let (_, real) = prepared(&attempts, "");
    snap.save(&HolderFolder::new(&real)).unwrap();
    let (_, path) = prepared(&attempts, "");
    symlink(real.join("screen.snap"), path.join("screen.snap")).unwrap();
    assert_eq!(ScreenSnap::load(&HolderFolder::new(&path)), None, "the screen of another folder");
}

#[test]
fn records_that_are_links_are_not_taken_for_ours() {
    let attempts = Attempts::new();
    let exit = Victim::with(&attempts, "exit", exit_record().as_bytes());
    let (config, path) = prepared(&attempts, "echo no");
    symlink(&exit.path, path.join("exit.json")).unwrap();
    assert!(HolderFolder::new(&path).exit().is_err());
    assert!(adopt(&HolderFolder::new(&path), 0).is_err(), "it was adopted with another's end");
    let spawn = Victim::with(&attempts, "spawn", spawn_record(&config.job).as_bytes());
    symlink(&spawn.path, path.join("spawn.json")).unwrap();
    assert!(HolderFolder::new(&path).spawn_record().is_err());
    assert!(domain().spawn(&config).is_err());
    assert_eq!(exit.damage("exit.json").or(spawn.damage("spawn.json")), None);
}

#[test]
fn a_tape_that_is_made_of_links_is_not_read() {
    let attempts = Attempts::new();
    let (config, real) = prepared(&attempts, "echo printed");
    panes::run_to_end(&mut *domain().spawn(&config).unwrap());
    let (_, path) = prepared(&attempts, "");
    for entry in fs::read_dir(&real).unwrap() {
        let name = entry.unwrap().file_name();
        if name.to_string_lossy().starts_with("out.") {
            symlink(real.join(&name), path.join(&name)).unwrap();
        }
    }
    assert!(coven_tape::TapeReader::open(&path).is_err());
    assert!(coven_tape::verify(&path).is_err());
    assert!(rebuild(&HolderFolder::new(&path), &Options::default()).is_err());
}

#[test]
fn a_client_connects_to_no_socket_that_lies_elsewhere() {
    for link in LINKS {
        let attempts = Attempts::new();
        let other = attempts.path().join("other.sock");
        let listener = UnixListener::bind(&other).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (config, path) = prepared(&attempts, "");
        fs::write(path.join("spawn.json"), spawn_record(&config.job)).unwrap();
        link.make(&other, &path.join("sock"));
        let adopted = adopt(&HolderFolder::new(&path), 0);
        assert!(adopted.is_err(), "{link:?}: {adopted:?}");
        let came = listener.accept().map(drop).map_err(|error| error.kind());
        assert_eq!(came, Err(ErrorKind::WouldBlock), "{link:?}: a client came");
    }
}

#[test]
fn a_folder_on_the_way_that_is_a_link_is_not_entered() {
    let attempts = Attempts::new();
    let elsewhere = attempts.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let task = attempts.path().join("task");
    symlink(&elsewhere, &task).unwrap();
    let mut config = attempts.config("echo no", Connection::Pipes);
    config.folder = Some(task.join("1"));
    assert!(domain().spawn(&config).is_err(), "it started elsewhere");
    let folder = HolderFolder::new(task.join("1"));
    assert!(folder.mark_killed().is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "something was made elsewhere");

    fs::create_dir(elsewhere.join("1")).unwrap();
    fs::write(elsewhere.join("1/exit.json"), exit_record()).unwrap();
    assert!(folder.exit().is_err());
    assert!(!matches!(adopt(&folder, 0), Ok(Adopted::Exited(_))));
    let snap = ScreenSnap::of(&mut Screen::new(GridSize::default()), 0);
    assert!(snap.save(&folder).is_err());
    assert!(coven_tape::TapeWriter::create(folder.path(), coven_tape::Options::default()).is_err());
    assert_eq!(fs::read_dir(elsewhere.join("1")).unwrap().count(), 1);
}

#[test]
fn a_process_that_replaces_its_folder_by_a_link_ends_and_nothing_is_written_there() {
    let attempts = Attempts::new();
    let elsewhere = attempts.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let script =
        "read -r go; mv \"$FOLDER\" \"$FOLDER.away\" && ln -s \"$ELSEWHERE\" \"$FOLDER\"; exit 4";
    let (mut config, path) = prepared(&attempts, script);
    config.env.insert("ELSEWHERE".into(), elsewhere.clone().into());
    let mut pane = domain().spawn(&config).unwrap();
    panes::write_all(&mut *pane, b"go\n");
    let (_, status) = panes::run_to_end(&mut *pane);
    assert_eq!(status, Some(ExitStatus::Code(4)));
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "something was written elsewhere");
}

#[test]
fn a_link_in_its_folder_lets_a_confined_process_write_nowhere_else() {
    let attempts = Attempts::new();
    let elsewhere = attempts.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let (mut config, path) = prepared(&attempts, "echo made > \"$FOLDER/scratch/file\"");
    config.sandbox = Some(Sandbox { write: vec![path.join("scratch")], ..Sandbox::default() });
    symlink(&elsewhere, path.join("scratch")).unwrap();
    assert!(domain().spawn(&config).is_err(), "it was allowed to write elsewhere");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);

    let (mut config, path) = prepared(&attempts, "echo made > \"$FOLDER/scratch/file\"");
    config.sandbox = Some(Sandbox { write: vec![path.join("scratch")], ..Sandbox::default() });
    fs::create_dir(path.join("scratch")).unwrap();
    panes::run_to_end(&mut *domain().spawn(&config).unwrap());
    assert_eq!(fs::read_to_string(path.join("scratch/file")).unwrap(), "made\n");
}

#[test]
fn a_pipe_or_a_folder_in_the_place_of_a_file_is_an_error_and_nobody_waits() {
    let pipe = |path: &Path| {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    let kinds: [&dyn Fn(&Path); 2] = [&pipe, &folder];
    for make in kinds {
        let attempts = Attempts::new();
        let (config, path) = prepared(&attempts, "");
        for name in ["spawn.json", "exit.json", "screen.snap", "claim"] {
            make(&path.join(name));
        }
        make(&path.join("out.00000000000000000000.idx"));
        let folder = HolderFolder::new(&path);
        assert!(folder.spawn_record().is_err());
        assert!(folder.exit().is_err());
        assert!(adopt(&folder, 0).is_err());
        assert_eq!(ScreenSnap::load(&folder), None);
        assert!(coven_tape::TapeReader::open(&path).is_err());
        assert!(domain().spawn(&config).is_err());
        fs::remove_file(path.join("spawn.json"))
            .or_else(|_| fs::remove_dir(path.join("spawn.json")))
            .unwrap();
        assert!(domain().spawn(&config).is_err());
    }
}
