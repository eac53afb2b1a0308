//! What checkpoints leave out, and what of it would be lost with its tree: ignored files, the files
//! of submodules, and repositories inside the tree. What was there when the tree was made is told from
//! what came later by the times of its inodes, which no program can set.

mod made_with;
mod repositories;
mod walk;

use std::path::{Path, PathBuf};

use super::checkpoint::CheckpointRequest;
use super::import::Import;
use super::walk::FoundFile;
use super::{Mirror, NotHeld};
use crate::{Commit, Error, Identity, path_of};

pub use self::repositories::InnerRepository;

use self::made_with::MadeWith;
use self::walk::{Collected, Collector};

/// How many files a checkpoint of what was left out has at most.
pub const MAX_LEFT_OUT_FILES: usize = 2_000;

/// How many bytes they have at most.
pub const MAX_LEFT_OUT_BYTES: u64 = 64 << 20;

/// What of a tree is in none of its checkpoints.
#[derive(Default)]
pub struct LeftOut {
    files: Vec<FoundFile>,
    /// Ignored files and folders with more in them than is kept.
    pub too_large: Vec<PathBuf>,
    /// Folders that can be made again: of dependencies, of caches, of what was built.
    pub build_output: Vec<PathBuf>,
    /// Submodules in which files were written.
    pub submodules: Vec<PathBuf>,
    /// Repositories inside the tree in which something was committed or staged.
    pub repositories: Vec<InnerRepository>,
    /// What could not be looked at.
    pub unreadable: Vec<PathBuf>,
}

impl LeftOut {
    /// How many files [`Mirror::hold_left_out`] keeps.
    pub fn files(&self) -> usize {
        self.files.len()
    }
}

impl std::fmt::Debug for LeftOut {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LeftOut").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

impl Mirror {
    /// Writes down what is left out by checkpoints of a tree that is ready and in which nobody has
    /// worked yet. `git_dir` is that of the tree.
    pub fn remember_left_out(&self, tree: &Path, git_dir: &Path) -> Result<(), Error> {
        let ignored = self.ignored(tree, &git_dir.join("index"))?;
        let submodules = self.staged.iter().map(|(path, _)| path.clone());
        let submodules = submodules.filter(|path| tree.join(path_of(path)).join(".git").exists());
        let roots: Vec<Vec<u8>> = ignored.into_iter().chain(submodules).collect();
        let mut made = MadeWith::default();
        let mut collector = Collector::open(tree, &made)?.without_limits();
        for root in roots {
            collector.root(&root)?;
        }
        let Collected { files, repositories, .. } = collector.done();
        made.files = files.into_iter().map(|file| (file.path, file.stamp)).collect();
        for repository in repositories::inner(tree, git_dir, &repositories) {
            made.objects.extend(repositories::objects(&repository.git_dir));
        }
        made.write(&self.path, tree)
    }

    /// What checkpoints of a tree leave out and was not there when it was made. `head` is the commit of
    /// its branch and must be in the mirror.
    pub fn left_out(
        &self,
        tree: &Path,
        git_dir: &Path,
        head: Option<&Commit>,
    ) -> Result<LeftOut, Error> {
        let author = Identity::new("Coven", "coven@localhost");
        let request = request(tree, head, &author, None);
        let submodules = self.submodules_of(&std::collections::HashMap::new(), head)?;
        let gitlinks = submodules.keys().cloned().collect();
        let index = self.tracked(&request)?;
        let walked = self.walk(tree, &index.path(), &gitlinks)?;
        drop(index);

        let made = MadeWith::read(&self.path, tree);
        let mut collector = Collector::open(tree, &made)?;
        let mut found = LeftOut::default();
        let is_submodule = |path: &&Vec<u8>| gitlinks.contains(*path);
        for root in walked.repositories.iter().filter(is_submodule) {
            if collector.root(root)? {
                found.submodules.push(path_of(root));
            }
        }
        for root in &walked.ignored {
            collector.root(root)?;
        }
        let Collected { files, too_large, build_output, repositories, unreadable } =
            collector.done();
        let repositories = walked.repositories.into_iter().chain(repositories).collect::<Vec<_>>();
        found.repositories = repositories::inner(tree, git_dir, &repositories);
        found.repositories.retain(|inner| made.lacks_objects_of(&inner.git_dir));
        Ok(LeftOut { files, too_large, build_output, unreadable, ..found })
    }

    /// Keeps what was left out under a name that is not there yet, and gives what could not be read.
    /// Nothing is made if there is nothing to keep.
    pub fn hold_left_out(
        &self,
        tree: &Path,
        left_out: &mut LeftOut,
        reference: &str,
    ) -> Result<Vec<NotHeld>, Error> {
        crate::branch::check_reference(reference)?;
        if left_out.files.is_empty() {
            return Ok(Vec::new());
        }
        let author = Identity::new("coven", "coven@localhost");
        let request = request(tree, None, &author, Some(reference));
        let time = super::checkpoint::seconds_since_1970().max(0);
        let import = Import { request: &request, gone: Vec::new(), changed: Vec::new(), time };
        Ok(self.import(&import, std::mem::take(&mut left_out.files))?.failed)
    }
}

fn request<'a>(
    tree: &'a Path,
    head: Option<&'a Commit>,
    author: &'a Identity,
    reference: Option<&'a str>,
) -> CheckpointRequest<'a> {
    CheckpointRequest {
        tree,
        parent: None,
        head,
        message: "files that checkpoints leave out",
        trailers: &[],
        author,
        reference,
    }
}
