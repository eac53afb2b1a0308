//! The built page that is committed was built from the sources that are there, and is what was
//! built. Nothing is built to see this: a build leaves the digests of its sources and of its files
//! beside what it made.

use std::collections::BTreeMap;
use std::path::Path;

use super::problem::TidyProblem;
use crate::error::Error;
use crate::web::{self, BUILT_LIST, digest};

/// What a build leaves.
const SOURCES_LIST: &str = "web/dist/sources.sha256";

/// What the page is built from, below `web/`; `vite.config.ts` has the same list.
const SOURCES: [&str; 7] = [
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "src",
    "tsconfig.json",
    "vite.config.ts",
];

/// Reads the sources and what the last build said of them.
pub(crate) fn check(root: &Path) -> Result<Vec<TidyProblem>, Error> {
    let mut now = BTreeMap::new();
    for source in SOURCES {
        let path = root.join("web").join(source);
        if path.is_dir() {
            for (file, bytes) in web::files(&path)? {
                now.insert(format!("{source}/{file}"), digest(&bytes));
            }
        } else {
            let bytes = std::fs::read(&path).map_err(|source| Error::Read { path, source })?;
            now.insert(source.to_owned(), digest(&bytes));
        }
    }
    let path = root.join(SOURCES_LIST);
    let list = std::fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    let mut problems = compare(&list, &now);
    problems.extend(changed_since_built(web::files(&root.join("web/dist"))?));
    Ok(problems)
}

/// A problem if the built files are not those that the build left.
fn changed_since_built(mut files: BTreeMap<String, Vec<u8>>) -> Option<TidyProblem> {
    let built = files.remove(BUILT_LIST).unwrap_or_default();
    let message = "a file of the built page is not what the build made: run `cargo xtask web`";
    let path = format!("web/dist/{BUILT_LIST}");
    (built != web::list(&files).into_bytes()).then(|| TidyProblem::error(&path, 1, message))
}

/// One problem for each source that is not what the page was built from.
fn compare(list: &str, now: &BTreeMap<String, String>) -> Vec<TidyProblem> {
    let built: BTreeMap<&str, &str> = list
        .lines()
        .filter_map(|line| line.split_once("  ").map(|(digest, path)| (path, digest)))
        .collect();
    let changed = now.iter().filter_map(|(path, digest)| match built.get(path.as_str()) {
        None => Some((path.as_str(), "is new since")),
        Some(built) if built != digest => Some((path.as_str(), "changed since")),
        Some(_) => None,
    });
    let gone =
        built.keys().filter(|path| !now.contains_key(**path)).map(|path| (*path, "is gone since"));
    changed
        .chain(gone)
        .map(|(path, what)| {
            let message = format!("`web/{path}` {what} the page was built: run `cargo xtask web`");
            TidyProblem::error(SOURCES_LIST, 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(path, text)| ((*path).to_owned(), digest(text.as_bytes()))).collect()
    }

    fn list(files: &[(&str, &str)]) -> String {
        now(files).iter().map(|(path, digest)| format!("{digest}  {path}\n")).collect()
    }

    #[test]
    fn a_page_that_was_built_from_what_is_there_is_fine() {
        let files = [("src/main.tsx", "one"), ("package.json", "two")];
        assert_eq!(compare(&list(&files), &now(&files)), []);
    }

    #[test]
    fn a_built_file_that_was_changed_or_added_is_seen() {
        let mut files = BTreeMap::from([("assets/a.js".to_owned(), b"one".to_vec())]);
        files.insert(BUILT_LIST.to_owned(), web::list(&files).into_bytes());
        assert_eq!(changed_since_built(files.clone()), None);
        let mut changed = files.clone();
        changed.insert("assets/a.js".to_owned(), b"two".to_vec());
        assert!(changed_since_built(changed).is_some());
        files.insert("assets/b.js".to_owned(), Vec::new());
        assert!(changed_since_built(files).is_some());
    }

    #[test]
    fn every_source_that_differs_is_named_once() {
        let built = list(&[("changed", "one"), ("gone", "two")]);
        let problems = compare(&built, &now(&[("changed", "other"), ("new", "three")]));
        let messages: Vec<&str> = problems.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages.len(), 3);
        assert!(messages[0].contains("`web/changed` changed since"), "{messages:?}");
        assert!(messages[1].contains("`web/new` is new since"), "{messages:?}");
        assert!(messages[2].contains("`web/gone` is gone since"), "{messages:?}");
    }
}
