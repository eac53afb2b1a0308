//! Where things lie below a base directory. Paths are made of checked ids only.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use coven_folder::{FileError, OpenFolder, OpenObstacle, absent_is_none, best_effort};
use coven_model::{AttemptId, SessionId};

use crate::lock::LOCK_FILE;
use crate::ownership::{self, FolderOwners, NotOwned};
use crate::retention::TRASH;

/// The folder of a base directory that is ours.
pub(crate) const COVEN: &str = ".coven";
const SESSIONS: &str = "sessions";

/// Sessions may hold what agents saw, so they are for their owner alone.
const PRIVATE_MODE: u32 = 0o700;
/// `.coven` also holds files that people share: the umask decides.
const SHARED_MODE: u32 = 0o777;

const GITIGNORE_FILE: &str = ".gitignore";
/// What git is not to see. People may change the file; it is never written again.
const GITIGNORE: &str = "\
# Written once by Coven. Sessions hold everything agents saw and said: keep them out of git.
/.gitignore
/sessions/
/lock
";

/// Why a base directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseDirError {
    /// Something cannot be reached.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not the user's own.
    #[error(transparent)]
    NotOwned(#[from] NotOwned),
}

/// A base directory with its `.coven` folder.
#[derive(Clone, Debug)]
pub struct BaseDir {
    folder: OpenFolder,
    coven: OpenFolder,
    sessions: OpenFolder,
}

impl BaseDir {
    /// Opens a base directory and makes what is missing in it. The directory itself must exist.
    ///
    /// The path becomes absolute and free of links, so that one directory has one name.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        Self::create_in(open(path)?)
    }

    /// The same, if the folder is the user's own, or its owner is one that the user agreed to.
    pub fn create_owned(path: &Path, agreed: Option<&FolderOwners>) -> Result<Self, BaseDirError> {
        let folder = open(path)?;
        // Before anything is made in it, and once more what was there or is there now.
        let before = folder.find(COVEN)?;
        ownership::check(&folder, before.as_ref(), agreed)?;
        let base = Self::create_in(folder)?;
        ownership::check(&base.coven, Some(&base.sessions), agreed)?;
        Ok(base)
    }

    fn create_in(folder: OpenFolder) -> Result<Self, FileError> {
        let coven = folder.make(COVEN, SHARED_MODE)?;
        write_gitignore(&coven)?;
        let sessions = coven.make(SESSIONS, PRIVATE_MODE)?;
        Ok(Self { folder, coven, sessions })
    }

    /// Opens a base directory without changing it; none if there are no sessions.
    pub fn find(path: &Path) -> Result<Option<Self>, FileError> {
        let base = open(path)?;
        let Some(coven) = base.find(COVEN)? else { return Ok(None) };
        let Some(sessions) = coven.find(SESSIONS)? else { return Ok(None) };
        Ok(Some(Self { folder: base, coven, sessions }))
    }

    /// Removes `.coven` again if it has nothing in it but what opening it made, and says whether it
    /// did. Only for the process that holds its lock, and while that makes nothing in it.
    pub fn remove_unused(&self) -> Result<bool, FileError> {
        let ours = [GITIGNORE_FILE, SESSIONS, LOCK_FILE];
        let is_ours = |name: &String| ours.contains(&name.as_str());
        let is_unused = self.has_sessions_in_place()
            && self.coven.names()?.iter().all(is_ours)
            && self.coven.read(GITIGNORE_FILE)?.is_some_and(|text| text == GITIGNORE.as_bytes())
            && self.sessions.names()?.iter().all(|name| name == TRASH);
        if !is_unused {
            return Ok(false);
        }
        self.sessions.remove_empty(TRASH)?;
        // First what has to be empty: if anything was put there meanwhile, all stays.
        self.coven.remove_empty(SESSIONS)?;
        self.coven.remove(GITIGNORE_FILE)?;
        self.coven.remove(LOCK_FILE)?;
        self.folder.remove_empty(COVEN)?;
        Ok(true)
    }

    /// The base directory: absolute, without links.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Refuses to go on with a directory that has taken the place of this one. One that was deleted
    /// may be made again by its user.
    pub fn check_in_place(&self) -> Result<(), FileError> {
        if self.folder.is_in_place()? {
            return Ok(());
        }
        if !self.path().exists() {
            return Err(FileError::new("open", self.path(), rustix::io::Errno::NOENT.into()));
        }
        if self.folder.is_deleted() && FolderOwners::of(self.path())?.is_user_alone() {
            return Ok(());
        }
        let error = FileError::new("use", self.path(), io::ErrorKind::Other.into());
        Err(FileError { obstacle: OpenObstacle::Replaced, ..error })
    }

    /// Whether its path still means this directory.
    pub fn is_in_place(&self) -> bool {
        self.folder.is_in_place().unwrap_or(false)
    }

    /// Whether its folder of sessions is where it was.
    pub fn has_sessions_in_place(&self) -> bool {
        self.sessions.is_in_place().unwrap_or(false)
    }

    /// The base directory itself, held open.
    pub(crate) fn folder(&self) -> &OpenFolder {
        &self.folder
    }

    pub fn coven(&self) -> &OpenFolder {
        &self.coven
    }

    /// The folder of all sessions.
    pub fn sessions(&self) -> &OpenFolder {
        &self.sessions
    }

    /// Where a session lies, or would lie.
    pub fn session_path(&self, id: &SessionId) -> PathBuf {
        session_path(self.path(), id)
    }

    /// The ids of the sessions that have a folder, in no order.
    pub fn ids(&self) -> Result<Vec<SessionId>, FileError> {
        let names = self.sessions.folders()?;
        Ok(names.into_iter().filter_map(|name| SessionId::new(name).ok()).collect())
    }
}

/// Where a session lies, or would lie, below a base directory.
pub fn session_path(base_dir: &Path, id: &SessionId) -> PathBuf {
    base_dir.join(COVEN).join(SESSIONS).join(id.as_str())
}

/// The folder of an attempt below that of all attempts of its session, made if asked for.
pub(crate) fn attempt(
    tasks: &OpenFolder,
    attempt: &AttemptId,
    make: bool,
) -> Result<Option<OpenFolder>, FileError> {
    let number = attempt.attempt.to_string();
    let mut folder = tasks.clone();
    for name in [attempt.task.as_str(), &number] {
        folder = match (make, folder.find(name)?) {
            (_, Some(found)) => found,
            (true, None) => folder.make(name, PRIVATE_MODE)?,
            (false, None) => return Ok(None),
        };
    }
    Ok(Some(folder))
}

/// The attempts that have a folder, in order.
pub(crate) fn attempts(tasks: &OpenFolder) -> Result<Vec<AttemptId>, FileError> {
    let mut found = Vec::new();
    for task in tasks.folders()? {
        let Ok(id) = coven_model::TaskId::new(task.as_str()) else { continue };
        for number in tasks.enter(&task)?.folders()? {
            // Only the usual way to write a number, so that no attempt has two folders.
            let attempt = number.parse().ok().filter(|n: &u32| *n > 0 && n.to_string() == number);
            found.extend(attempt.map(|attempt| AttemptId { task: id.clone(), attempt }));
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a folder for our eyes only.
pub(crate) fn make_private(parent: &OpenFolder, name: &str) -> Result<OpenFolder, FileError> {
    parent.make(name, PRIVATE_MODE)
}

/// Makes a folder for our eyes only, with those above it, and opens it.
pub(crate) fn make_private_path(path: &Path) -> Result<OpenFolder, FileError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_MODE)
        .create(path)
        .map_err(|source| FileError::new("create", path, source))?;
    OpenFolder::open(path)
}

fn open(path: &Path) -> Result<OpenFolder, FileError> {
    let absolute = fs::canonicalize(path).map_err(|source| FileError::new("open", path, source))?;
    // A folder on the way that became a link since then is not the one that was meant.
    OpenFolder::open_without_links(&absolute)
}

fn write_gitignore(coven: &OpenFolder) -> Result<(), FileError> {
    let name = GITIGNORE_FILE;
    let mut file = match coven.create(name) {
        Ok(file) => file,
        // Whatever there is, it is not ours to change.
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(error),
    };
    file.write_all(GITIGNORE.as_bytes()).map_err(|source| {
        // Half of it would never be completed.
        best_effort("remove a file that was not written whole", coven.remove(name));
        coven.error("write", name, source)
    })
}

/// Opens the folder of a session, if it is there.
pub(crate) fn session(base: &BaseDir, id: &SessionId) -> Result<Option<OpenFolder>, FileError> {
    match absent_is_none(base.sessions.enter(id.as_str())) {
        // The whole of `.coven` may have been removed and made again since we opened it.
        Ok(None) => match BaseDir::find(base.path()) {
            Ok(Some(now)) => now.sessions.find(id.as_str()),
            Ok(None) => Ok(None),
            Err(error) if error.obstacle == OpenObstacle::Missing => Ok(None),
            Err(error) => Err(error),
        },
        other => other,
    }
}
