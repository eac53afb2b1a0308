//! Why a chore did not succeed.

use std::error::Error as _;
use std::path::PathBuf;
use std::process::ExitStatus;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("could not start `{command}`")]
    Start { command: String, source: std::io::Error },
    #[error("`{command}` failed: {status}")]
    Failed { command: String, status: ExitStatus },
    #[error("could not read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("could not write {}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("`web/dist` is not what its sources build, {0} file(s) differ: run `cargo xtask web`")]
    Page(usize),
    #[error(
        "the tests of the page need Chromium and its driver: install the packages `chromium` and \
         `chromium-driver` (or what they are called here), so that `chromedriver` is on the PATH"
    )]
    NoBrowser,
    #[error("the toolchain cannot check for {0}: run `rustup target add {0}` once")]
    NoTarget(&'static str),
    #[error("`cargo metadata` printed something this tool does not understand")]
    Metadata(#[from] serde_json::Error),
    #[error("the real agents were not all driven, or not all well")]
    RealAgents(#[from] crate::real_agents::RealAgentsProblem),
    #[error(
        "{0} step(s) of published versions were read wrongly or not at all; the screens are in \
         target/drift/evidence/"
    )]
    Drift(usize),
    #[error("{0} attack(s) broke something, as said above")]
    Attacks(usize),
    #[error("tidy found {0} problem(s), listed above")]
    Untidy(usize),
    #[error("no fuzz target is called `{name}`; there are: {known}")]
    UnknownTarget { name: String, known: String },
    #[error(
        "fuzz target `{target}` failed; if an input broke it, the input lies in \
         fuzz/artifacts/{target}/ and `RUSTC_BOOTSTRAP=1 cargo fuzz run {target} FILE` replays it"
    )]
    Fuzz { target: String, source: Box<Error> },
}

impl Error {
    /// Tells the person at the terminal what went wrong, each cause on its own line.
    pub(crate) fn report(&self) {
        eprintln!("error: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            eprintln!("  because: {error}");
            cause = error.source();
        }
    }
}
