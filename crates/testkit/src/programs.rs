//! The programs of `coven-test-programs`, which tests and benchmarks of other crates start.
//!
//! Cargo tells a test the paths of programs of its own package alone. With `cargo test --workspace`
//! these are built before the first test runs; for the tests of a single crate they are built here,
//! with the profile and into the folder of the test that asks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::SystemTime;

const PACKAGE: &str = "coven-test-programs";

/// With this variable, which `cargo xtask test` sets, the programs are taken as they are.
pub const BUILT: &str = "COVEN_TEST_PROGRAMS_BUILT";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestProgram {
    /// The demo agent and the holder it runs under.
    Agent,
    /// A holder without an agent.
    Holder,
    /// The daemon as a process of its own, to be killed. Its argument is the program that holds
    /// jobs.
    Daemon,
    /// An agent that plays a recorded conversation, and writes down what it is answered.
    Recorded,
}

impl TestProgram {
    /// Where the program is, built from the sources as they are now.
    ///
    /// # Panics
    ///
    /// If it cannot be built.
    pub fn path(self) -> PathBuf {
        static PATHS: [OnceLock<PathBuf>; 4] = [const { OnceLock::new() }; 4];
        PATHS[self as usize].get_or_init(|| self.built()).clone()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Agent => "coven-test-agent",
            Self::Holder => "coven-test-holder",
            Self::Daemon => "coven-test-daemon",
            Self::Recorded => "coven-test-recorded",
        }
    }

    fn built(self) -> PathBuf {
        let folder = profile_folder();
        let program = folder.join(self.name());
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let are_built = std::env::var_os(BUILT).is_some();
        if !are_built && !crates.is_some_and(|crates| is_current(&program, crates)) {
            self.build(&folder);
        }
        program
    }

    fn build(self, folder: &Path) {
        let target = folder.parent().unwrap_or(folder);
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", PACKAGE, "--bin", self.name()]);
        if self != Self::Daemon {
            command.arg("--no-default-features");
        }
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(profile) => profile,
        };
        command.args(["--profile", profile]).arg("--target-dir").arg(target);
        let done = command.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(done.as_ref().is_ok_and(ExitStatus::success), "{command:?}: {done:?}");
    }
}

/// `target/debug`, say. Tests, benchmarks and examples are in a folder below it.
fn profile_folder() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors().nth(2).map_or_else(PathBuf::new, Path::to_owned)
}

/// Whether a program is newer than everything in the workspace that it can be made of. Asking cargo
/// takes a second, and after `cargo test --workspace` it would build all of it once more, because
/// the features of a part of the workspace are others than those of the whole.
fn is_current(program: &Path, workspace: &Path) -> bool {
    let built = fs::metadata(program).and_then(|file| file.modified());
    built.is_ok_and(|built| is_older(workspace, built))
}

/// Whether nothing in a folder was changed after this time, but for what programs are not made of.
fn is_older(folder: &Path, than: SystemTime) -> bool {
    const OTHER: [&str; 6] = ["tests", "benches", "examples", "fixtures", "target", "node_modules"];
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name();
        if OTHER.iter().any(|other| name == *other) {
            return true;
        }
        entry.metadata().is_ok_and(|file| {
            if file.is_dir() {
                is_older(&entry.path(), than)
            } else {
                file.modified().is_ok_and(|changed| changed <= than)
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_program_is_current_until_a_source_changes() {
        let folder = crate::folders::temporary().unwrap();
        let (program, sources) = (folder.path().join("agent"), folder.path().join("crates"));
        let source = sources.join("a/src/main.rs");
        for path in [&source, &sources.join("a/tests/main.rs")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        assert!(!is_current(&program, &sources));
        fs::write(&program, "").unwrap();
        assert!(is_current(&program, &sources));
        let change = |path: &Path| {
            let later = SystemTime::now() + Duration::from_mins(1);
            File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
        };
        change(&sources.join("a/tests/main.rs"));
        assert!(is_current(&program, &sources));
        change(&source);
        assert!(!is_current(&program, &sources));
    }
}
