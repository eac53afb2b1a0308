//! All grimoires that can be run, from all places they can come from.
//!
//! There are three layers, and a later one overrides an earlier one by name: those we ship, those
//! of the user, those of the project. What a project brings along is listed and can be looked at,
//! but it is inert until the caller says that the project is trusted. What is wrong with one file
//! never hides another.
//!
//! This is the only part of the crate that reads the disk, and it only reads.

mod builtin;
mod layer;
mod loops;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coven_notation::{
    FileProblem, ProblemReport, SourceFile, TrustedFiles, is_unprintable, printable,
};

use crate::check::{CheckEnvironment, check};
use crate::plan::{PlanForm, WorkflowPlan};

pub use builtin::{BuiltinGrimoire, builtins};

/// Where a grimoire comes from. Later ones override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GrimoireLayer {
    /// It is part of Coven.
    BuiltIn,
    /// It lies in the user's configuration.
    User,
    /// It lies in the project.
    Project,
}

impl GrimoireLayer {
    /// The name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

impl fmt::Display for GrimoireLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CataloguePaths {
    /// The user's folder of grimoires.
    pub user: Option<PathBuf>,
    /// The project's folder of grimoires.
    pub project: Option<PathBuf>,
    /// What the user agreed to of the project's files: only that is read. If there is nothing, the
    /// grimoires that are in the project's folder are inert.
    pub trusted: Option<Arc<TrustedFiles>>,
}

/// One file, or one that we ship.
#[derive(Clone, Debug)]
pub struct CatalogueEntry {
    /// The name it gives itself, or that of its file if it has none.
    pub name: String,
    /// The layer it lies in.
    pub layer: GrimoireLayer,
    /// The file; nothing for one that we ship.
    pub path: Option<PathBuf>,
    pub source: SourceFile,
    /// What can be run, if nothing is wrong.
    pub plan: Option<WorkflowPlan>,
    pub problems: Vec<FileProblem>,
    /// What it is in the whole.
    pub standing: EntryStatus,
}

/// What an entry is in the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryStatus {
    /// It is the one that its name means.
    Current,
    /// A later layer has one of the same name.
    Overridden(GrimoireLayer),
    /// It lies in a project that is not trusted: it can be looked at, and is not run.
    Inert,
}

impl CatalogueEntry {
    /// Whether it can be run.
    pub fn is_usable(&self) -> bool {
        self.plan.is_some() && self.standing == EntryStatus::Current
    }

    /// What is wrong with it, ready to be shown.
    pub fn report(&self) -> ProblemReport {
        ProblemReport::new(self.source.clone(), self.problems.clone())
    }

    /// What it is for, where that could be read.
    pub fn description(&self) -> &str {
        self.plan.as_ref().map_or("", |plan| plan.description.as_str())
    }
}

#[derive(Clone, Debug, Default)]
pub struct GrimoireCatalogue {
    entries: Vec<CatalogueEntry>,
}

/// Why a name cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableGrimoire {
    /// There is none of that name.
    #[error("there is no grimoire `{name}`{}", suggestion(near.as_deref()))]
    Unknown {
        name: String,
        /// One that may have been meant.
        near: Option<String>,
    },
    /// There is one, and something is wrong with it.
    #[error("the grimoire `{name}` has errors; `coven grimoire check {name}` shows them")]
    Broken { name: String },
    /// There is one, in a project that is not trusted.
    #[error(
        "the grimoire `{name}` comes with this project, which is not trusted; look at it with `coven grimoire show {name}`, then `coven trust`"
    )]
    Inert { name: String },
}

fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(
        || "; `coven grimoire ls` lists them".to_owned(),
        |name| format!("; did you mean `{name}`?"),
    )
}

impl GrimoireCatalogue {
    /// Looks through all layers. Whatever is wrong becomes an entry with its problems.
    pub fn load(places: &CataloguePaths, known: &CheckEnvironment) -> Self {
        let mut entries: Vec<CatalogueEntry> =
            builtins().iter().map(|builtin| built_in(*builtin, known)).collect();
        if let Some(folder) = &places.user {
            entries.extend(layer::read(folder, GrimoireLayer::User, EntryStatus::Current, known));
        }
        if let Some(folder) = &places.project {
            entries.extend(match &places.trusted {
                Some(files) => layer::read_copies(folder, files, known),
                None => layer::read(folder, GrimoireLayer::Project, EntryStatus::Inert, known),
            });
        }
        override_by_name(&mut entries);
        loops::find(&mut entries);
        Self { entries }
    }

    /// Every entry, by name and then by layer.
    pub fn entries(&self) -> impl Iterator<Item = &CatalogueEntry> {
        self.entries.iter()
    }

    /// What a name means, whatever is wrong with it.
    pub fn get(&self, name: &str) -> Option<&CatalogueEntry> {
        let mut named = self.entries.iter().filter(|entry| entry.name == name);
        named
            .clone()
            .find(|entry| entry.standing == EntryStatus::Current)
            .or_else(|| named.next_back())
    }

    /// The plan that a name means, or why there is none.
    pub fn plan(&self, name: &str) -> Result<&WorkflowPlan, UnusableGrimoire> {
        let name = name.to_owned();
        let Some(entry) = self.get(&name) else {
            let near = coven_notation::near(&name, self.entries.iter().map(|entry| &entry.name));
            let near = near.first().map(|best| (*best).to_owned());
            return Err(UnusableGrimoire::Unknown { name, near });
        };
        match (&entry.plan, &entry.standing) {
            (_, EntryStatus::Inert) => Err(UnusableGrimoire::Inert { name }),
            (Some(plan), _) => Ok(plan),
            (None, _) => Err(UnusableGrimoire::Broken { name }),
        }
    }
}

fn built_in(builtin: BuiltinGrimoire, known: &CheckEnvironment) -> CatalogueEntry {
    let source = SourceFile::new(format!("built-in:{}.yaml", builtin.name), builtin.text);
    entry(builtin.name, source, None, GrimoireLayer::BuiltIn, EntryStatus::Current, known)
}

/// One entry, checked. `stem` is its name if it gives itself none.
fn entry(
    stem: &str,
    source: SourceFile,
    path: Option<&Path>,
    layer: GrimoireLayer,
    standing: EntryStatus,
    known: &CheckEnvironment,
) -> CatalogueEntry {
    let mut checked = check(&source, known);
    if checked.form == PlanForm::Stages && checked.plan.is_some() {
        let message = "this is a stage workflow, and grimoires have `steps`";
        let problem =
            FileProblem::error("not-a-grimoire", coven_notation::SourceSpan::default(), message);
        checked.problems.push(problem.help("run it by its path, and keep it elsewhere"));
        checked.plan = None;
    }
    let mut name = checked.name.unwrap_or_else(|| stem.to_owned());
    if name.contains(is_unprintable) {
        name = printable(&name);
        let message = format!("the name `{name}` has characters that do not show");
        let problem = FileProblem::error("bad-name", layer::name_span(&source), message);
        checked.problems.push(problem.help("rename it; letters, digits, `-` and `_` always work"));
        checked.plan = None;
    }
    CatalogueEntry {
        name,
        layer,
        path: path.map(Path::to_owned),
        source,
        plan: checked.plan,
        problems: checked.problems,
        standing,
    }
}

/// Finds out which entry each name means.
fn override_by_name(entries: &mut [CatalogueEntry]) {
    entries.sort_by(|a, b| (&a.name, a.layer, &a.path).cmp(&(&b.name, b.layer, &b.path)));
    let mut last: BTreeMap<String, GrimoireLayer> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.standing != EntryStatus::Inert) {
        let newest = last.entry(entry.name.clone()).or_insert(entry.layer);
        *newest = entry.layer.max(*newest);
    }
    for entry in entries.iter_mut().filter(|entry| entry.standing == EntryStatus::Current) {
        if let Some(newest) = last.get(&entry.name).filter(|newest| **newest > entry.layer) {
            entry.standing = EntryStatus::Overridden(*newest);
        }
    }
    duplicates(entries);
}

/// Two files of one layer with one name: neither is meant more than the other.
fn duplicates(entries: &mut [CatalogueEntry]) {
    for index in 1..entries.len() {
        let (before, rest) = entries.split_at_mut(index);
        let (first, second) = (&mut before[index - 1], &mut rest[0]);
        if first.name != second.name || first.layer != second.layer {
            continue;
        }
        let file = |entry: &CatalogueEntry| {
            entry.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
        };
        let (one, two) = (file(first), file(second));
        for (entry, other) in [(first, two), (second, one)] {
            let message = format!("`{other}` has the name `{}` as well", entry.name);
            let span = layer::name_span(&entry.source);
            let problem = FileProblem::error("duplicate-grimoire", span, message);
            entry.problems.push(problem.help("rename one of them"));
            entry.plan = None;
        }
    }
}
