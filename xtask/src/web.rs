//! `cargo xtask web`: builds the page from `web/` and holds what is committed in `web/dist`
//! against it, byte for byte. Only a change of the page needs this, and node for it; all other
//! builds use what is committed, and `cargo xtask tidy` sees that it fits its sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest, Sha256};

use crate::cargo;
use crate::error::Error;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only say whether `web/dist` is what would be built, and change nothing
    #[arg(long)]
    check: bool,
}

/// The digests of what was built, beside it. A file that was changed afterwards is seen by
/// `cargo xtask tidy` without a build.
pub(crate) const BUILT_LIST: &str = "built.sha256";

/// Installs what the lock file names, checks types, runs the page's own tests, builds, compares.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let web = cargo::root().join("web");
    npm(&web, &["ci", "--no-audit", "--no-fund"])?;
    npm(&web, &["run", "types"])?;
    npm(&web, &["test"])?;
    let built = built_folder();
    let out = built.display().to_string();
    npm(&web, &["run", "build", "--", "--outDir", &out, "--emptyOutDir"])?;

    let (mut new, old) = (files(&built)?, files(&web.join("dist"))?);
    new.insert(BUILT_LIST.to_owned(), list(&new).into_bytes());
    let differing = differing(&new, &old);
    if differing.is_empty() {
        eprintln!("web: dist is what its sources build, {} files", new.len());
        return Ok(());
    }
    for path in &differing {
        eprintln!("web: dist/{path} differs");
    }
    if args.check {
        return Err(Error::Page(differing.len()));
    }
    replace(&web.join("dist"), &new)?;
    eprintln!("web: dist was replaced; commit it together with its sources");
    Ok(())
}

/// Beside what cargo builds, so that it goes where such things go.
fn built_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| cargo::root().join("target"), PathBuf::from)
        .join("web-dist")
}

fn npm(web: &Path, args: &[&str]) -> Result<(), Error> {
    let ended = Command::new("npm").args(args).current_dir(web).status();
    let command = || args.iter().fold("npm".to_owned(), |text, arg| text + " " + arg);
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Failed { command: command(), status }),
        Err(source) => Err(Error::Start { command: command(), source }),
    }
}

/// Every file below a folder, by its path with `/`.
pub(crate) fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let failed = |source| Error::Read { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push((entry.path(), path + "/"));
            } else {
                let read = |source| Error::Read { path: entry.path(), source };
                found.insert(path, fs::read(entry.path()).map_err(read)?);
            }
        }
    }
    Ok(found)
}

/// A line with the digest and the path of each file.
pub(crate) fn list(files: &BTreeMap<String, Vec<u8>>) -> String {
    let line = |(path, bytes): (&String, &Vec<u8>)| format!("{}  {path}\n", digest(bytes));
    files.iter().map(line).collect()
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn differing<'a>(
    new: &'a BTreeMap<String, Vec<u8>>,
    old: &'a BTreeMap<String, Vec<u8>>,
) -> Vec<&'a str> {
    let mut paths: Vec<&str> = new.keys().chain(old.keys()).map(String::as_str).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.retain(|path| new.get(*path) != old.get(*path));
    paths
}

fn replace(dist: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Write { path, source }
    };
    fs::remove_dir_all(dist).map_err(failed(dist))?;
    for (path, bytes) in files {
        let path = dist.join(path);
        let folder = path.parent().unwrap_or(dist);
        fs::create_dir_all(folder).map_err(failed(folder))?;
        fs::write(&path, bytes).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_was_added_changed_or_taken_away_differs() {
        let old = tree(&[("same", "1"), ("changed", "1"), ("gone", "1")]);
        let new = tree(&[("same", "1"), ("changed", "2"), ("added", "1")]);
        assert_eq!(differing(&new, &old), ["added", "changed", "gone"]);
        assert!(differing(&old, &old).is_empty());
    }

    #[test]
    fn the_committed_page_has_its_index_and_the_list_of_its_sources() {
        let files = files(&cargo::root().join("web/dist")).unwrap();
        for path in ["index.html", "licences.txt", "sources.sha256", BUILT_LIST] {
            assert!(files.contains_key(path), "{path}");
        }
    }
}
