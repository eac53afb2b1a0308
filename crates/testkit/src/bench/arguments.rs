//! The arguments all benchmarks have: a short look, and where the numbers go.

use std::io;
use std::path::{Path, PathBuf};

/// What a benchmark was asked.
#[derive(Debug)]
pub struct Arguments {
    /// Only a short look.
    pub quick: bool,
    /// The page to write; nothing for a short look.
    pub write: Option<PathBuf>,
    /// An argument that is the benchmark's own, with everything behind it.
    pub own: Vec<String>,
}

/// Reads `--quick`, `--write PATH` (which counts from the root of the workspace) and cargo's
/// `--bench`. `own` is an argument that the benchmark reads itself; anything else is an error.
/// `package` is the folder of the benchmark's package, two below the root.
pub fn read(package: &str, own: Option<&str>) -> io::Result<Arguments> {
    parse(package, own, std::env::args().skip(1))
}

/// The same for arguments that come another way.
pub fn parse(
    package: &str,
    own: Option<&str>,
    mut arguments: impl Iterator<Item = String>,
) -> io::Result<Arguments> {
    let root = Path::new(package).join("../..");
    let mut read =
        Arguments { quick: false, write: Some(root.join("docs/benchmarks.md")), own: Vec::new() };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says that it is a benchmark it runs.
            "--bench" => {}
            "--quick" => (read.quick, read.write) = (true, None),
            "--write" => {
                let path = arguments.next();
                let path = path.ok_or_else(|| io::Error::other("--write needs a value"))?;
                read.write = Some(root.join(path));
            }
            argument if own == Some(argument) => {
                read.own = std::iter::once(argument.to_owned()).chain(arguments).collect();
                return Ok(read);
            }
            _ => {
                let message =
                    format!("unknown argument {argument}; there are --quick and --write PATH");
                return Err(io::Error::other(message));
            }
        }
    }
    Ok(read)
}

impl Arguments {
    /// Writes a section of the page where it belongs, and says where that is.
    pub fn publish(&self, section: &str) -> io::Result<Option<&Path>> {
        if let Some(path) = &self.write {
            super::page::write(path, section)?;
        }
        Ok(self.write.as_deref())
    }
}
