//! Where the grimoires and adapters of one base directory are found. Reading them opens and writes
//! nothing.

use std::path::PathBuf;

use coven_adapters::{AdapterConfigLoader, AdapterFolders};
use coven_notation::{FileProblem, SourceFile};
use coven_orchestrator::ProjectTrust;
use coven_runtime::installed;
use coven_workflow::catalogue::{CataloguePaths, GrimoireCatalogue};
use coven_workflow::{CheckEnvironment, WorkflowPlan, ability_problems};

/// Where the grimoires and adapters of one base directory are found.
#[derive(Clone, Debug)]
pub(crate) struct CatalogueFolders {
    pub(crate) config_dir: PathBuf,
    pub(crate) base_dir: PathBuf,
    /// What may be used of the files of the base directory itself.
    pub(crate) trust: ProjectTrust,
    /// The adapter for steps that name none.
    pub(crate) default_adapter: Option<String>,
}

impl CatalogueFolders {
    pub(crate) fn adapters(&self) -> AdapterConfigLoader {
        AdapterConfigLoader::new(AdapterFolders {
            user: Some(self.config_dir.join("adapters")),
            project: Some(self.base_dir.join(".coven/adapters")),
            trusted: self.trust.files.clone(),
            ..AdapterFolders::default()
        })
    }

    /// What definitions are checked against.
    pub(crate) fn known(&self) -> CheckEnvironment {
        let known = CheckEnvironment::new(self.adapters().types());
        match &self.default_adapter {
            Some(adapter) => known.with_default_adapter(adapter),
            None => known,
        }
    }

    /// What the agents of a plan cannot do, as problems of its file.
    pub(crate) fn ability_problems(
        &self,
        plan: &WorkflowPlan,
        source: &SourceFile,
    ) -> Vec<FileProblem> {
        let (adapters, path) = (self.adapters(), std::env::var_os("PATH"));
        let finds = |program: &str| installed::may_start(program, path.as_deref());
        ability_problems(plan, source, |adapter| adapters.abilities(adapter), finds)
    }

    pub(crate) fn grimoires(&self) -> GrimoireCatalogue {
        let places = CataloguePaths {
            user: Some(self.config_dir.join("grimoires")),
            project: Some(self.base_dir.join(".coven/grimoires")),
            trusted: self.trust.files.clone().filter(|_| self.trust.unchanged),
        };
        GrimoireCatalogue::load(&places, &self.known())
    }
}
