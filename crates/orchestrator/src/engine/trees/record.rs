//! What is recorded about a repository when a session is made.

use std::path::Path;

use coven_git::{ExecutableConfig, Git, Repository};
use coven_model::tree::RepositoryProgram;
use coven_model::{ContentDigest, RepositoryPlace, RepositoryRecord};

use crate::options::TreesConfig;

/// What the name of a hook begins with among the programs of a repository.
const HOOK: &str = "hook:";

/// What branches of trees begin with.
const BRANCH_PREFIX: &str = "coven";

/// How many letters of a digest tell two repositories of one name apart.
const KEY_LENGTH: usize = 8;

/// Why no trees can be made for a folder.
#[derive(Debug, thiserror::Error)]
pub enum NoRepository {
    /// The folder is in no repository.
    #[error(
        "`isolation: run` and `isolation: task` need a git repository, and {0} is in none; run \
         `git init` and commit, or use `isolation: shared`"
    )]
    None(String),
    /// git has something to say about it.
    #[error("no trees can be made here: {0}")]
    Git(#[from] coven_git::Error),
}

/// What is unique for a repository and readable.
pub(super) fn key(common_dir: &str) -> String {
    let path = Path::new(common_dir);
    // The common folder is `.git` in most checkouts.
    let named = if path.ends_with(".git") { path.parent() } else { Some(path) };
    let name = named.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let digest = ContentDigest::of_bytes(common_dir.as_bytes()).to_string();
    let digest = digest.rsplit(':').next().unwrap_or_default();
    let digest: String = digest.chars().take(KEY_LENGTH).collect();
    let name: String =
        name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).take(40).collect();
    format!("{name}-{digest}")
}

/// The repository of a folder, as a session of this name records it. Nothing if the folder is in
/// none.
pub(crate) fn find_repository(
    folder: &Path,
    data_dir: &Path,
    session: &str,
    config: &TreesConfig,
) -> Result<Option<RepositoryRecord>, NoRepository> {
    let git = Git::new();
    let Some(found) = git.discover(folder)? else { return Ok(None) };
    git.version()?;
    let text = |path: &Path| path.display().to_string();
    let common_dir = text(&found.repository.common_dir);
    let branches = git.free_branch_name(&found.repository, BRANCH_PREFIX, session)?;
    let allowed = git.executable_config(&found.repository)?;
    let trees = config.root.clone().unwrap_or_else(|| data_dir.join("trees"));
    let trees = trees.join(key(&common_dir)).join(session);
    Ok(Some(RepositoryRecord {
        root: text(&found.repository.root),
        git_dir: text(&found.repository.git_dir),
        common_dir,
        prefix: text(&found.prefix),
        head: found.head.to_string(),
        branch: found.branch,
        trees: text(&trees),
        branches,
        setup: config.setup.clone(),
        teardown: config.teardown.clone(),
        setup_timeout: config.timeout,
        include: config.include.clone(),
        link: config.link.clone(),
        ports: config.ports,
        programs: recorded(allowed),
        kept_under: None,
    }))
}

/// Where the repository of a session is now, if it is no more where it was: a person has renamed its
/// folder. Another one that lies there by chance has not the commit that the session began at.
pub(crate) fn moved_repository(record: &RepositoryRecord, base: &Path) -> Option<RepositoryPlace> {
    if Path::new(&record.common_dir).exists() {
        return None;
    }
    let git = Git::new();
    let found = git.discover(base).ok()??;
    let is_same = found.prefix == Path::new(&record.prefix)
        && git.has_commit(&found.repository, &record.head.parse().ok()?).ok()?;
    let text = |path: &Path| path.display().to_string();
    is_same.then(|| RepositoryPlace {
        root: text(&found.repository.root),
        git_dir: text(&found.repository.git_dir),
        common_dir: text(&found.repository.common_dir),
    })
}

/// Has the trees of a repository that was moved find it again: their `.git` files name its old place.
pub(crate) fn repair_worktrees(place: &RepositoryPlace) -> Result<(), coven_git::Error> {
    let (root, git_dir) = (place.root.clone().into(), place.git_dir.clone().into());
    let common_dir = place.common_dir.clone().into();
    Git::new().repair_worktrees(&Repository { root, git_dir, common_dir })
}

fn recorded(allowed: ExecutableConfig) -> Vec<RepositoryProgram> {
    let keys = allowed.keys.into_iter().flat_map(|(name, values)| {
        values.into_iter().map(move |value| RepositoryProgram { name: name.clone(), value })
    });
    let hooks = allowed.hooks.into_iter();
    let hooks =
        hooks.map(|(name, value)| RepositoryProgram { name: format!("{HOOK}{name}"), value });
    keys.chain(hooks).collect()
}

/// The programs that git may run in a repository.
pub(super) fn programs_of(record: &RepositoryRecord) -> ExecutableConfig {
    let mut allowed = ExecutableConfig::default();
    for RepositoryProgram { name, value } in &record.programs {
        match name.strip_prefix(HOOK) {
            Some(hook) => drop(allowed.hooks.insert(hook.to_owned(), value.clone())),
            None => allowed.keys.entry(name.clone()).or_default().push(value.clone()),
        }
    }
    allowed
}
