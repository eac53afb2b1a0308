//! Which files of a project its adapters name: in their command, their arguments and the variables
//! they set.
//!
//! A file that is named by itself is covered by trust, and the adapter gets its copy. A file within
//! a text, such as a command for a shell, cannot be exchanged for its copy; it is told.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use coven_adapters::{Config, LAUNCH_KEYS};
use coven_notation::{SourceFile, named_path, path_within};
use serde_json::Value;

/// How large a file may be that is covered because an argument names it. Larger ones are data.
const MAX_NAMED_BYTES: u64 = 8 << 20;

/// How many paths that are not covered are told.
const MAX_TOLD: usize = 100;

/// What may end a path within a text.
const SEPARATORS: &[char] =
    &['"', '\'', '`', ';', '|', '&', '<', '>', '(', ')', '{', '}', '$', '=', ',', ':', '@'];

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
                for (key, value) in map {
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
        let named = |text: &String| named_path(base_dir, text).map(|(_, path)| path);
        let texts = self.arguments.iter().chain(&self.variables);
        texts.filter_map(named).filter(|path| can_be_covered(root, path)).collect()
    }

    /// Adds the paths of the project that are named and not covered.
    pub(crate) fn tell_uncovered(
        &self,
        base_dir: &Path,
        is_covered: impl Fn(&Path) -> bool,
        told: &mut BTreeSet<PathBuf>,
    ) {
        let mut tell = |path: PathBuf| {
            if told.len() < MAX_TOLD && !is_covered(&path) {
                told.insert(path);
            }
        };
        for text in self.all() {
            let words = text.split(|c: char| c.is_whitespace() || SEPARATORS.contains(&c));
            for word in words.chain([text.as_str()]) {
                let path = match path_within(base_dir, word) {
                    Some(path) => path,
                    None if is_name(word) => PathBuf::from(word),
                    None => continue,
                };
                let on_disk = base_dir.join(&path);
                let folders = word.contains('/') || self.variables.contains(text);
                if on_disk.is_file() || (folders && on_disk.is_dir()) {
                    tell(path);
                }
            }
            // What is not there yet can be put there by a job.
            if let Some(path) = path_within(base_dir, text).filter(|_| looks_like_file(text)) {
                let missing = base_dir.join(&path).symlink_metadata().is_err();
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let beside = folder.is_some_and(|folder| base_dir.join(folder).is_dir());
                if missing
                    && (beside || text.starts_with("./") || self.command.as_ref() == Some(text))
                {
                    tell(path);
                }
            }
        }
    }
}

fn is_name(word: &str) -> bool {
    let mut parts = Path::new(word).components();
    !word.contains('/')
        && matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
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
        texts.tell_uncovered(base, |path| covered.iter().any(|file| file == path), &mut uncovered);
        (covered.iter().map(shown).collect(), uncovered.iter().map(shown).collect())
    }

    #[test]
    fn files_that_are_named_by_themselves_are_covered_and_others_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir(base.join("tools")).unwrap();
        for name in ["tools/a.sh", "tools/b.sh", "main.py", "run"] {
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
                &["tools/large", "tools/link"],
            ),
            (
                r#"{"baseArgs": ["tools/later.sh", "./new", "some/model", "http://a/b"]}"#,
                &[],
                &["new", "tools/later.sh"],
            ),
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
}
