//! The adapter types there are, by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use coven_model::{AdapterAbilities, AgentMode, PermissionLevel};
use coven_notation::TrustedFiles;

use crate::adapter::{AgentAdapter, ConfigAdapter, Options};
use crate::config::Config;
use crate::icons::DEFAULT_ICON;
use crate::loader::{AdapterConfigLoader, AdapterFolders, LoadError, LoadedAdapter};

type Make = dyn Fn(Options) -> Box<dyn AgentAdapter> + Send + Sync;

/// How a type presents itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterMetadata {
    /// The name for people.
    pub display_name: String,
    /// The name of an icon, of [`crate::icons::ICONS`] if the page is to show it.
    pub icon: String,
    /// One sentence about it, where there is one.
    pub description: Option<String>,
    /// The modes the program has, with the permission level each has by default.
    pub modes: BTreeMap<AgentMode, Option<PermissionLevel>>,
    /// The version it was tested with.
    pub tested_version: Option<String>,
}

impl AdapterMetadata {
    /// How a type with this configuration presents itself.
    pub fn new(kind: &str, config: &Config) -> Self {
        let modes = [AgentMode::Interactive, AgentMode::Headless].into_iter().filter_map(|mode| {
            let settings = config.modes.get(mode)?;
            let all = (mode == AgentMode::Headless).then_some(PermissionLevel::All);
            let known = |level: &PermissionLevel| {
                settings.permissions.contains_key(level) || config.permissions.contains_key(level)
            };
            Some((mode, settings.default_permission.or(all).filter(known)))
        });
        Self {
            display_name: config.metadata.display_name.clone().unwrap_or_else(|| kind.to_owned()),
            icon: config.metadata.icon.clone().unwrap_or_else(|| DEFAULT_ICON.to_owned()),
            description: config.metadata.description.clone(),
            modes: modes.collect(),
            tested_version: config.tested_version.clone(),
        }
    }
}

/// The types of adapters there are. A clone knows the same types and gains none of the other's.
#[derive(Clone)]
pub struct AdapterRegistry {
    loader: Arc<AdapterConfigLoader>,
    made: BTreeMap<String, (AdapterMetadata, Arc<Make>)>,
}

impl fmt::Debug for AdapterRegistry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("AdapterRegistry").field(&self.registered_types()).finish()
    }
}

impl Default for AdapterRegistry {
    fn default() -> Self {
        Self::new(AdapterFolders::default())
    }
}

/// A registry with the built-in types and nothing else.
pub fn default_registry() -> &'static AdapterRegistry {
    static REGISTRY: LazyLock<AdapterRegistry> = LazyLock::new(AdapterRegistry::default);
    &REGISTRY
}

impl AdapterRegistry {
    /// A registry with the built-in types and whatever lies in these folders.
    pub fn new(folders: AdapterFolders) -> Self {
        Self { loader: Arc::new(AdapterConfigLoader::new(folders)), made: BTreeMap::new() }
    }

    /// The same types made by code and named by file, with whatever lies in these folders.
    #[must_use]
    pub fn with_folders(&self, folders: AdapterFolders) -> Self {
        let mut files = self.loader.folders().files.clone();
        files.extend(folders.files.clone());
        let loader = AdapterConfigLoader::new(AdapterFolders { files, ..folders });
        Self { loader: Arc::new(loader), made: self.made.clone() }
    }

    /// Adds a type whose configuration is this file, or uses the file for a type there is, over
    /// every other layer. It is read whenever an adapter is made.
    pub fn register_file(&mut self, kind: &str, path: impl Into<PathBuf>) -> Result<(), LoadError> {
        crate::loader::require_type(kind)?;
        let mut folders = self.loader.folders().clone();
        folders.files.insert(kind.to_owned(), path.into());
        self.loader = Arc::new(AdapterConfigLoader::new(folders));
        Ok(())
    }

    /// Adds a type that is made by code. It counts over files of the same name.
    pub fn register(
        &mut self,
        kind: &str,
        metadata: AdapterMetadata,
        make: impl Fn(Options) -> Box<dyn AgentAdapter> + Send + Sync + 'static,
    ) -> Result<(), LoadError> {
        crate::loader::require_type(kind)?;
        self.made.insert(kind.to_owned(), (metadata, Arc::new(make)));
        Ok(())
    }

    /// The folder with the copies of what the project's user agreed to, if they did.
    pub fn trusted_copy(&self) -> Option<&Path> {
        self.loader.folders().trusted.as_deref().map(TrustedFiles::copy)
    }

    /// Makes an adapter of a type. Each call gives one that shares nothing with others.
    pub fn create(&self, kind: &str, options: Options) -> Result<Box<dyn AgentAdapter>, LoadError> {
        if let Some((_, make)) = self.made.get(kind) {
            return Ok(make(options));
        }
        Ok(Box::new(self.create_from_files(kind, options)?))
    }

    /// The same for a type that is made of files, with all that such an adapter offers.
    pub(crate) fn create_from_files(
        &self,
        kind: &str,
        options: Options,
    ) -> Result<ConfigAdapter, LoadError> {
        let loaded = self.load(kind, &options)?;
        Ok(ConfigAdapter::new(kind, options, loaded.config, loaded.rules))
    }

    fn load(&self, kind: &str, options: &Options) -> Result<LoadedAdapter, LoadError> {
        self.loader.load(kind, options.config_path.as_deref())
    }

    pub fn registered_types(&self) -> BTreeSet<String> {
        let mut types = self.loader.types();
        types.extend(self.made.keys().cloned());
        types
    }

    /// How a type presents itself; nothing for a type there is not.
    pub fn metadata(&self, kind: &str) -> Option<AdapterMetadata> {
        if let Some((metadata, _)) = self.made.get(kind) {
            return Some(metadata.clone());
        }
        let loaded = self.loader.load(kind, None).ok()?;
        Some(AdapterMetadata::new(kind, &loaded.config))
    }

    /// What the program of a type can be asked for. Nothing for a type that is made by code: only
    /// its code knows.
    pub fn abilities(&self, kind: &str) -> Option<AdapterAbilities> {
        if self.made.contains_key(kind) {
            return None;
        }
        self.loader.abilities(kind)
    }

    /// The loader behind the types that are made of files.
    pub fn loader(&self) -> &AdapterConfigLoader {
        &self.loader
    }
}

#[cfg(test)]
mod tests;
