//! Which files of a project its adapters name: in their command, their arguments and the variables
//! they set.
//!
//! A file that is named by itself, or behind an option, is covered by trust, and the adapter gets
//! its copy. A file within a text, such as a command for a shell, cannot be exchanged for its copy,
//! and neither can a folder; they are told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coven_adapters::{Config, LAUNCH_KEYS};
use coven_notation::{SourceFile, named_paths, path_within};
use serde_json::Value;

use crate::trust_scan::{PathScan, words};

/// How large a file may be that is covered because an argument names it. Larger ones are data.
const MAX_NAMED_BYTES: u64 = 8 << 20;

/// Keys of a mode whose values are settings of ours and reach no program.
const SETTINGS: [&str; 4] = ["promptPosition", "defaultPermission", "transcript", "stdin"];

/// What one adapter file says about how its program is started.
#[derive(Debug)]
pub(crate) struct LaunchTexts {
    command: Option<String>,
    arguments: Vec<String>,
    variables: Vec<String>,
}

impl LaunchTexts {
    /// Reads an adapter file as the loader does. None if it is wrong, and so starts nothing.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let source = SourceFile::from_bytes("config.json", bytes.to_owned()).ok()?;
        let config = Config::read(&source).node?.to_json();
        let mut texts = Self { command: None, arguments: Vec::new(), variables: Vec::new() };
        for key in LAUNCH_KEYS {
            match config.get(key) {
                Some(Value::String(text)) if key == "command" => texts.command = Some(text.clone()),
                Some(value) => texts.collect(value, key == "env"),
                None => {}
            }
        }
        Some(texts)
    }

    fn collect(&mut self, value: &Value, in_variables: bool) {
        match value {
            Value::String(text) if in_variables => self.variables.push(text.clone()),
            Value::String(text) => self.arguments.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| self.collect(value, in_variables)),
            Value::Object(map) => {
                for (key, value) in
                    map.iter().filter(|(key, _)| in_variables || !SETTINGS.contains(&key.as_str()))
                {
                    self.collect(value, in_variables || key == "env");
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        self.command.iter().chain(&self.arguments).chain(&self.variables)
    }

    /// The program that is started by a path within the project.
    pub(crate) fn program(&self, base_dir: &Path) -> Option<PathBuf> {
        path_within(base_dir, self.command.as_deref()?)
    }

    /// The files that arguments and variables name, as far as they can be covered. `root` has the
    /// files of the project.
    pub(crate) fn files(&self, root: &Path, base_dir: &Path) -> Vec<PathBuf> {
        let texts = self.arguments.iter().chain(&self.variables);
        let named = texts.flat_map(|text| named_paths(base_dir, text)).map(|(_, path)| path);
        named.filter(|path| can_be_covered(root, path)).collect()
    }

    /// Adds the paths of the project that are named where no copy takes their place.
    pub(crate) fn tell_uncovered(
        &self,
        scan: &mut PathScan,
        is_covered: impl Fn(&Path) -> bool,
        told: &mut BTreeSet<PathBuf>,
    ) {
        let mut tell = |path: PathBuf| {
            told.insert(path);
        };
        for text in self.all() {
            let named = named_paths(scan.base_dir(), text);
            let is_command = self.command.as_ref() == Some(text);
            if is_command && !text.contains('/') {
                // A program that is sought in PATH, which may lead here.
                if scan.base_dir().join(text).is_file() {
                    tell(PathBuf::from(text));
                }
                continue;
            }
            // Where the path is that of the copy, what stands before it is still as it was.
            let covered = named.iter().find(|(_, path)| is_covered(path));
            let kept = covered.map_or(text.as_str(), |(before, _)| before);
            scan.find(kept, &mut tell);
            let attached = named.iter().map(|(before, _)| &text[before.len()..]);
            for word in words(kept).chain(attached.filter(|_| covered.is_none())) {
                missing(scan.base_dir(), word, is_command).into_iter().for_each(&mut tell);
            }
        }
    }
}

/// The path of a file that is not there yet and that a job can put there.
fn missing(base_dir: &Path, text: &str, is_command: bool) -> Option<PathBuf> {
    let path = path_within(base_dir, text).filter(|_| looks_like_file(text))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let beside = folder.is_some_and(|folder| base_dir.join(folder).is_dir());
    let absent = base_dir.join(&path).symlink_metadata().is_err();
    (absent && (beside || text.starts_with("./") || is_command)).then_some(path)
}

/// Whether a text with a slash in it is rather a path than a text that has one.
fn looks_like_file(text: &str) -> bool {
    !text.starts_with('-') && !text.contains("://") && !text.contains(char::is_whitespace)
}

/// Whether a file is one that a person can agree to: a plain file, not too large, that no link
/// leads out of the project to.
fn can_be_covered(root: &Path, path: &Path) -> bool {
    let (Ok(root), Ok(file)) = (root.canonicalize(), root.join(path).canonicalize()) else {
        return false;
    };
    let small =
        file.metadata().is_ok_and(|about| about.is_file() && about.len() <= MAX_NAMED_BYTES);
    small && file.starts_with(root)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing there and then")]

    use std::fs;

    use super::*;

    fn told(base: &Path, config: &str) -> (Vec<String>, Vec<String>) {
        let shown = |path: &PathBuf| path.display().to_string();
        let texts = LaunchTexts::read(config.as_bytes()).unwrap();
        let covered = texts.files(base, base);
        let mut uncovered = BTreeSet::new();
        let is_covered = |path: &Path| covered.iter().any(|file| file == path);
        texts.tell_uncovered(&mut PathScan::new(base), is_covered, &mut uncovered);
        (covered.iter().map(shown).collect(), uncovered.iter().map(shown).collect())
    }

    #[test]
    fn files_that_are_named_by_themselves_are_covered_and_others_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir(base.join("tools")).unwrap();
        for name in ["text", "config", "c", "main.py", "run", "tools/a.sh", "tools/b.sh"] {
            fs::write(base.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/hostname", base.join("tools/link")).unwrap();
        let large = fs::File::create(base.join("tools/large")).unwrap();
        large.set_len(MAX_NAMED_BYTES + 1).unwrap();
        let headless =
            |text: &str| format!(r#"{{"command": "sh", "modes": {{"headless": {text}}}}}"#);
        for (mode, covered, uncovered) in [
            (
                r#"{"baseArgs": ["tools/a.sh", "--x=tools/b.sh"]}"#,
                &["tools/a.sh", "tools/b.sh"][..],
                &[][..],
            ),
            (r#"{"baseArgs": ["main.py", "--flag", "other.py"]}"#, &["main.py"], &[]),
            (r#"{"baseArgs": ["-c", ". ./tools/a.sh; sh run"]}"#, &[], &["run", "tools/a.sh"]),
            (
                r#"{"baseArgs": ["tools/link", "tools/large", "tools"]}"#,
                &[],
                &["tools", "tools/large", "tools/link"],
            ),
            (
                r#"{"baseArgs": ["tools/later.sh", "./new", "some/model", "http://a/b"]}"#,
                &[],
                &["new", "tools/later.sh"],
            ),
            (
                r#"{"baseArgs": ["--rc=tools/later.sh", "-ftools/new"]}"#,
                &[],
                &["tools/later.sh", "tools/new"],
            ),
            (
                r#"{"baseArgs": ["-f./tools/a.sh", "-rtools/b.sh", "-fmain.py"]}"#,
                &["tools/a.sh", "tools/b.sh", "main.py"],
                &[],
            ),
            (r#"{"baseArgs": ["run"]}"#, &[], &["run"]),
            // The argument names the copy; the text names the file of the project.
            (
                r#"{"baseArgs": ["tools/a.sh", "-c", ". tools/a.sh"]}"#,
                &["tools/a.sh"],
                &["tools/a.sh"],
            ),
            // Settings and names of options are not paths.
            (r#"{"transcript": "text", "baseArgs": ["--config", "--config=x", "-c"]}"#, &[], &[]),
            (r#"{"env": {"set": {"BASH_ENV": "tools/a.sh"}}}"#, &["tools/a.sh"], &[]),
            (
                r#"{"env": {"set": {"NODE_OPTIONS": "--require ./tools/a.sh", "P": "tools"}}}"#,
                &[],
                &["tools", "tools/a.sh"],
            ),
        ] {
            let (are, others) = told(&base, &headless(mode));
            assert_eq!(are, covered, "{mode}");
            assert_eq!(others, uncovered, "{mode}");
        }
    }

    #[test]
    fn a_file_or_folder_of_the_project_is_told_in_whatever_form_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(base.join("tools/my dir")).unwrap();
        fs::create_dir(base.join("outside")).unwrap();
        for name in ["tools/x", "tools/my dir/y", "tools/a=b"] {
            fs::write(base.join(name), "").unwrap();
        }
        let absolute = base.join("tools/x").display().to_string();
        for (argument, expected) in [
            ("-Itools", "tools"),
            ("-I./tools/", "tools"),
            ("-xftools/x", "tools/x"),
            ("tools", "tools"),
            ("../project/tools/x", "tools/x"),
            ("-f../project/tools/x", "tools/x"),
            (format!("file://{absolute}").as_str(), "tools/x"),
            (format!("-L{}/tools/../tools/my dir", base.display()).as_str(), "tools/my dir"),
            ("+tools/x", "tools/x"),
            ("!tools/x", "tools/x"),
            ("%tools/x", "tools/x"),
            ("cat tools/a=b now", "tools/a=b"),
            ("cat 'tools/my dir/y'; true", "tools/my dir/y"),
            ("sh tools/*.sh", "tools"),
            (format!("{} tools/x", "long ".repeat(2000)).as_str(), "tools/x"),
        ] {
            let config = serde_json::json!({
                "command": "sh", "modes": {"headless": {"baseArgs": [argument]}}
            });
            let (_, uncovered) = told(&base, &config.to_string());
            assert!(uncovered.iter().any(|path| path == expected), "{argument}: {uncovered:?}");
            let config = serde_json::json!({"command": "sh", "env": {"set": {"A": argument}}});
            let (_, uncovered) = told(&base, &config.to_string());
            assert!(uncovered.iter().any(|path| path == expected), "{argument}: {uncovered:?}");
        }
        for argument in ["../project", ".", "./", "/", "..", "/usr/bin/env", absolute.as_str()] {
            let config = serde_json::json!({
                "command": "tools", "modes": {"headless": {"baseArgs": [argument]}}
            });
            let (_, uncovered) = told(&base, &config.to_string());
            assert!(uncovered.is_empty(), "{argument}: {uncovered:?}");
        }
    }
}
