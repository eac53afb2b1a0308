//! Folders that requests name, checked before anything is done with them. All of these read the
//! disk and block.

use std::path::{Path, PathBuf};

use coven_store::{BaseDirError, FolderOwners};

use crate::context::ServiceContext;
use crate::error::ServiceError;
use crate::text::excerpt;

/// A folder as a path that means it and nothing else.
pub(crate) fn canonical(base_dir: &Path) -> Result<PathBuf, ServiceError> {
    let bad = |why: &str| {
        let shown = excerpt(&base_dir.display().to_string(), 80);
        ServiceError::BadBaseDir(format!("`{shown}` {why}"))
    };
    if !base_dir.is_absolute() {
        return Err(bad("is not an absolute path"));
    }
    let path = std::fs::canonicalize(base_dir)
        .map_err(|error| bad(&format!("cannot be used: {error}")))?;
    if !path.is_dir() {
        return Err(bad("is not a folder"));
    }
    Ok(path)
}

/// A folder that is the user's own, or whose owners the user agreed to.
pub(crate) fn owned(context: &ServiceContext, base_dir: &Path) -> Result<PathBuf, ServiceError> {
    let path = canonical(base_dir)?;
    check_owners(&path, context.trust.agreed_owners(&path).as_ref())?;
    Ok(path)
}

/// Refuses a folder that is neither the user's own nor agreed to.
pub(crate) fn check_owners(path: &Path, agreed: Option<&FolderOwners>) -> Result<(), ServiceError> {
    coven_store::ownership::check_path(path, agreed).map_err(|error| match error {
        BaseDirError::NotOwned(error) => ServiceError::NotOwned(error),
        BaseDirError::File(error) => ServiceError::BadBaseDir(error.to_string()),
    })
}

/// The folder to run something in: the one that is named, or the workspace, which is created.
pub(crate) fn to_run_in(
    context: &ServiceContext,
    named: Option<&str>,
) -> Result<PathBuf, ServiceError> {
    let Some(text) = named else {
        let path = context.places.workspace();
        std::fs::create_dir_all(&path).map_err(|source| {
            let what = format!("{} cannot be made", path.display());
            ServiceError::Storage { what, source }
        })?;
        return owned(context, &path);
    };
    owned(context, Path::new(text))
}

/// The folder to look at: the one that is named, or the workspace, which need not exist.
pub(crate) fn to_read(
    context: &ServiceContext,
    named: Option<&str>,
) -> Result<PathBuf, ServiceError> {
    match named {
        Some(text) => canonical(Path::new(text)),
        None => Ok(context.places.workspace()),
    }
}
