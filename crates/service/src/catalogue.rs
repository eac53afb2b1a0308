//! What can be run: grimoires and adapters.

use coven_adapters::icons::DEFAULT_ICON;
use coven_adapters::loader::{AdapterLayer, LoadedAdapter, OriginStatus as FileStanding};
use coven_adapters::registry::AdapterMetadata;
use coven_api::catalogue::{
    AdapterItem, AdapterList, CheckRequest, CheckResponse, GrimoireItem, GrimoireList,
    GrimoireText, InputItem,
};
use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::catalogue::{CatalogueEntry, EntryStatus};
use coven_workflow::plan::{PlanTrigger, WorkflowPlan};
use coven_workflow::view::dry_run;

use crate::blocking::checking;
use crate::catalogue_folders::CatalogueFolders;
use crate::context::ServiceContext;
use crate::error::ServiceError;
use crate::problem::diagnostics;
use crate::service::Service;
use crate::text::{excerpt, near, printable};
use crate::{folder, versions};

impl Service {
    /// Reads definitions of a folder, or of the workspace, on a thread that may block.
    async fn read_catalogue<T: Send + 'static>(
        &self,
        base_dir: Option<String>,
        read: impl FnOnce(&CatalogueFolders) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let service = self.clone();
        checking(move || {
            let context = service.context();
            let path = folder::to_read(context, base_dir.as_deref())?;
            let trust = service.trust_of_blocking(&path)?;
            read(&context.catalogue_folders(&path, &trust))
        })
        .await
    }

    /// The grimoires of a folder.
    pub async fn grimoires(&self, base_dir: Option<String>) -> Result<GrimoireList, ServiceError> {
        let grimoires = self.read_catalogue(base_dir, |folders| {
            // What a later layer replaced is not what its name means.
            let shown =
                |entry: &&CatalogueEntry| !matches!(entry.standing, EntryStatus::Overridden(_));
            Ok(folders.grimoires().entries().filter(shown).map(item).collect())
        });
        Ok(GrimoireList { grimoires: grimoires.await? })
    }

    /// One grimoire with its text, its problems and its plan.
    pub async fn grimoire(
        &self,
        name: String,
        base_dir: Option<String>,
    ) -> Result<GrimoireText, ServiceError> {
        let read = move |folders: &CatalogueFolders| {
            let catalogue = folders.grimoires();
            let Some(entry) = catalogue.get(&name) else {
                let names = catalogue.entries().map(|entry| &entry.name);
                let near = near(&name, names).first().map(|near| (*near).to_owned());
                return Err(ServiceError::UnknownGrimoire { name: excerpt(&name, 100), near });
            };
            let ProblemReport { source, problems, .. } = entry.report();
            let unable = entry.plan.as_ref();
            let unable = unable.map(|plan| folders.ability_problems(plan, &source));
            let report =
                ProblemReport::new(source, [problems, unable.unwrap_or_default()].concat());
            Ok(GrimoireText {
                item: item(entry),
                text: entry.source.text().to_owned(),
                problems: diagnostics(&report),
                plan: entry.plan.as_ref().map(dry_run),
            })
        };
        self.read_catalogue(base_dir, read).await
    }

    /// Checks a definition, also against what the adapters of its agents can do, and runs nothing.
    pub async fn check(&self, check: CheckRequest) -> Result<CheckResponse, ServiceError> {
        let CheckRequest { name, text, base_dir, .. } = check;
        let read = move |folders: &CatalogueFolders| {
            let source = SourceFile::new(name.unwrap_or_else(|| "definition".to_owned()), text);
            let checked = coven_workflow::check(&source, &folders.known());
            let plan = checked.plan.as_ref();
            let unable = plan.map(|plan| folders.ability_problems(plan, &source));
            let problems = [checked.problems, unable.unwrap_or_default()].concat();
            let report = ProblemReport::new(source, problems);
            Ok(CheckResponse {
                ok: checked.plan.is_some() && !report.has_errors(),
                problems: diagnostics(&report),
                inputs: checked.plan.as_ref().map(inputs).unwrap_or_default(),
                plan: checked.plan.as_ref().map(dry_run),
            })
        };
        self.read_catalogue(base_dir, read).await
    }

    /// The adapters of a folder, and which versions of their programs are installed.
    pub async fn adapters(&self, base_dir: Option<String>) -> Result<AdapterList, ServiceError> {
        let listed = self.read_catalogue(base_dir, |folders| Ok(folders.adapters().load_all()));
        let context = self.context();
        let asked = listed.await?.into_iter().map(|(kind, loaded)| async move {
            match loaded {
                Ok(loaded) => adapter(context, kind, &loaded).await,
                Err(error) => broken(kind, &error.to_string()),
            }
        });
        Ok(AdapterList { adapters: futures_util::future::join_all(asked).await })
    }
}

fn item(entry: &CatalogueEntry) -> GrimoireItem {
    let why_not = match (&entry.plan, &entry.standing) {
        (_, EntryStatus::Inert) => Some("its folder is not trusted".to_owned()),
        (None, _) => Some("it has errors".to_owned()),
        (_, EntryStatus::Overridden(layer)) => Some(format!("the {layer} layer has another")),
        (Some(_), EntryStatus::Current) => None,
    };
    let trigger = entry.plan.as_ref().map(|plan| &plan.trigger);
    GrimoireItem {
        name: entry.name.clone(),
        description: entry.description().to_owned(),
        layer: entry.layer.as_str().to_owned(),
        path: entry.path.as_ref().map(|path| path.display().to_string()),
        usable: entry.is_usable(),
        why_not,
        trigger: match trigger {
            Some(PlanTrigger::Event { event, .. }) => event.clone(),
            Some(PlanTrigger::Manual) | None => "manual".to_owned(),
        },
        inputs: entry.plan.as_ref().map(inputs).unwrap_or_default(),
    }
}

fn inputs(plan: &WorkflowPlan) -> Vec<InputItem> {
    let one = |input: &coven_workflow::plan::PlanInput| InputItem {
        name: input.name.clone(),
        description: input.description.clone(),
        kind: serde_json::to_value(input.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default(),
        required: input.required,
        default: input.default.clone(),
    };
    plan.inputs.iter().map(one).collect()
}

async fn adapter(context: &ServiceContext, kind: String, loaded: &LoadedAdapter) -> AdapterItem {
    let config = &loaded.config;
    let metadata = AdapterMetadata::new(&kind, config);
    let command = config.command.clone().unwrap_or_else(|| kind.clone());
    // The demo agent is part of the program that holds it.
    let found = if kind == "demo" && loaded.origins.len() == 1 {
        Some(context.program.clone())
    } else {
        versions::find(&command)
    };
    let installed_version = match &found {
        Some(_) if kind == "demo" => Some(env!("CARGO_PKG_VERSION").to_owned()),
        Some(path) if !config.version_args.is_empty() => {
            context.versions.of(path, &config.version_args).await
        }
        _ => None,
    };
    let used = |origin: &&coven_adapters::loader::ConfigOrigin| {
        matches!(origin.standing, FileStanding::Used | FileStanding::LastGood)
    };
    let layer =
        loaded.origins.iter().rev().find(used).map_or(AdapterLayer::BuiltIn, |last| last.layer);
    let wrong = loaded.reports.iter().find(|report| report.has_errors());
    AdapterItem {
        display_name: printable(&metadata.display_name),
        icon: metadata.icon,
        layer: layer_name(layer).to_owned(),
        modes: metadata.modes.into_keys().collect(),
        command,
        found: found.map(|path| path.display().to_string()),
        installed_version,
        tested_version: metadata.tested_version,
        problem: wrong.map(|report| report.render(false)),
        kind,
    }
}

fn layer_name(layer: AdapterLayer) -> &'static str {
    match layer {
        AdapterLayer::BuiltIn => "built-in",
        AdapterLayer::User => "user",
        AdapterLayer::Project | AdapterLayer::Explicit => "project",
    }
}

fn broken(kind: String, problem: &str) -> AdapterItem {
    AdapterItem {
        display_name: kind.clone(),
        icon: DEFAULT_ICON.to_owned(),
        layer: "project".to_owned(),
        modes: Vec::new(),
        command: kind.clone(),
        found: None,
        installed_version: None,
        tested_version: None,
        problem: Some(printable(problem)),
        kind,
    }
}
