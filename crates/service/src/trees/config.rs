//! `.coven/config.yaml` of a project: what it says about the trees of its runs. Only the copy that
//! the user agreed to is read, because set-up commands run in every new tree.
//!
//! ```yaml
//! trees:
//!   include: .worktreeinclude
//!   link: [node_modules]
//!   setup: [npm ci]
//!   teardown: [docker compose down -v]
//!   timeout: 10m
//!   ports: 10
//! ```

use std::path::{Component, Path, PathBuf};

use coven_notation::{
    FileSyntax, HumanDuration, ProblemReport, SourceFile, TrustedFiles, read, schema_of,
};
use coven_orchestrator::TreesConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

/// The names that the file may have; the first that is there counts.
const FILES: [(&str, FileSyntax); 3] = [
    (".coven/config.yaml", FileSyntax::Yaml),
    (".coven/config.yml", FileSyntax::Yaml),
    (".coven/config.json", FileSyntax::Json),
];

/// What a project says about its runs. Everything may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Coven project configuration")]
pub struct ProjectConfig {
    /// The git worktrees that agents work in.
    #[serde(default)]
    pub trees: ProjectTrees,
}

/// What a project says about its trees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectTrees {
    /// The folder in which trees lie, absolute or below `~`; `$XDG_DATA_HOME/coven/trees` unless
    /// said.
    #[serde(default, deserialize_with = "root")]
    #[schemars(with = "Option<String>", regex(pattern = "^(~/|/)"))]
    pub root: Option<String>,
    /// The file that names which ignored files a new tree gets; `.worktreeinclude` unless said.
    #[serde(default, deserialize_with = "inside")]
    #[schemars(with = "Option<String>", length(min = 1))]
    pub include: Option<String>,
    /// Ignored files and folders of the checkout that each tree gets as links.
    #[serde(default, deserialize_with = "all_inside")]
    pub link: Vec<String>,
    /// Commands that run in each new tree before anything works in it, each by
    /// `bash -euo pipefail`.
    #[serde(default)]
    pub setup: Vec<String>,
    /// Commands that run in a tree before it is removed.
    #[serde(default)]
    pub teardown: Vec<String>,
    /// How long each of these may take; 10 minutes unless said.
    pub timeout: Option<HumanDuration>,
    /// How many ports belong to each tree; 10 unless said, and 0 for none.
    #[schemars(range(max = 100))]
    pub ports: Option<u16>,
}

fn root<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let root = Option::<String>::deserialize(deserializer)?;
    match &root {
        Some(text) if !text.starts_with('/') && !text.starts_with("~/") => {
            Err(serde::de::Error::custom("`root` is an absolute path, or one below `~/`"))
        }
        _ => Ok(root),
    }
}

fn inside<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let path = Option::<String>::deserialize(deserializer)?;
    path.map(checked).transpose()
}

fn all_inside<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Vec::<String>::deserialize(deserializer)?.into_iter().map(checked).collect()
}

/// A path that cannot leave the checkout.
fn checked<E: serde::de::Error>(path: String) -> Result<String, E> {
    let stays = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
    if path.is_empty() || !stays {
        return Err(E::custom(format!("`{path}` is no path inside the repository")));
    }
    Ok(path)
}

/// The JSON schema of the file.
pub fn schema() -> serde_json::Value {
    schema_of::<ProjectConfig>()
}

/// Reads the file of a project from what the user agreed to; none is as good as an empty one.
pub(crate) fn trees_config(
    base_dir: &Path,
    files: Option<&TrustedFiles>,
    home: Option<&Path>,
) -> Result<TreesConfig, Box<ProblemReport>> {
    let found = FILES.iter().find_map(|(name, syntax)| {
        let path = base_dir.join(name);
        let content = files?.content(&path)?.to_owned();
        Some((path, content, *syntax))
    });
    let Some((path, content, syntax)) = found else { return Ok(TreesConfig::default()) };
    let source = SourceFile::from_bytes(path.display().to_string(), content).map_err(Box::new)?;
    if source.text().lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(TreesConfig::default());
    }
    let read = read::<ProjectConfig>(&source, syntax);
    let config = read.value.ok_or_else(|| Box::new(ProblemReport::new(source, read.problems)))?;
    Ok(config.trees.resolved(home))
}

impl ProjectTrees {
    fn resolved(self, home: Option<&Path>) -> TreesConfig {
        TreesConfig {
            root: self.root.map(|root| match (root.strip_prefix("~/"), home) {
                (Some(below), Some(home)) => home.join(below),
                _ => PathBuf::from(root),
            }),
            include: self.include,
            link: self.link,
            setup: self.setup,
            teardown: self.teardown,
            timeout: self.timeout.map(|timeout| timeout.0),
            ports: self.ports,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;

    fn load(name: &str, text: &str) -> Result<TreesConfig, String> {
        let files = BTreeMap::from([(PathBuf::from(name), text.as_bytes().to_vec())]);
        let files = TrustedFiles::new("/project", "/copy", files);
        trees_config(Path::new("/project"), Some(&files), Some(Path::new("/home/me")))
            .map_err(|report| report.render(false))
    }

    #[test]
    fn everything_that_can_be_said_about_trees_is_read_and_nothing_need_be() {
        let text = "trees:\n  root: ~/trees\n  include: .treeinclude\n  link: [.next/cache]\n  \
                    setup: [npm ci]\n  teardown: [stop]\n  timeout: 2m\n  ports: 5\n";
        let config = load(".coven/config.yaml", text).unwrap();
        assert_eq!(config.root, Some(PathBuf::from("/home/me/trees")));
        assert_eq!(config.include.as_deref(), Some(".treeinclude"));
        assert_eq!(
            (config.link, config.setup),
            (vec![".next/cache".into()], vec!["npm ci".into()])
        );
        assert_eq!((config.teardown, config.ports), (vec!["stop".to_owned()], Some(5)));
        assert_eq!(config.timeout, Some(Duration::from_mins(2)));
        for empty in ["", "# nothing\n", "trees: {}\n"] {
            assert_eq!(load(".coven/config.yaml", empty), Ok(TreesConfig::default()), "{empty:?}");
        }
        let json = load(".coven/config.json", r#"{"trees": {"ports": 0}}"#).unwrap();
        assert_eq!(json.ports, Some(0));
        assert_eq!(
            trees_config(Path::new("/project"), None, None).unwrap(),
            TreesConfig::default()
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, said) in [
            ("tree: {}\n", "did you mean `trees`"),
            ("trees: {setups: [x]}\n", "did you mean `setup`"),
            ("trees: {setup: npm ci}\n", "setup"),
            ("trees:\n  ports: 101\n", "config.yaml:2:"),
            ("trees: {timeout: 5}\n", "timeout"),
            ("trees: {root: trees}\n", "absolute"),
            ("trees: {link: [../x]}\n", "no path inside the repository"),
            ("trees: {include: /etc/passwd}\n", "no path inside the repository"),
        ] {
            let error = load(".coven/config.yaml", text).unwrap_err();
            assert!(error.contains(said), "{text}{error}");
        }
    }
}
