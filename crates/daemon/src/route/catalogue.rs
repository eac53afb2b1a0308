//! What can be run: grimoires and adapters.

mod versions;

use std::path::{Path as FilePath, PathBuf};

use axum::extract::State;
use coven_adapters::loader::{AdapterLayer, LoadedAdapter, OriginStatus as FileStanding};
use coven_adapters::registry::AdapterMetadata;
use coven_adapters::{AdapterConfigLoader, AdapterFolders};
use coven_api::catalogue::{
    AdapterItem, AdapterList, BaseDirQuery, CheckRequest, CheckResponse, GrimoireItem,
    GrimoireList, GrimoireText, InputItem,
};
use coven_api::{Code, Problem};
use coven_notation::{Report, Source, near, printable};
use coven_workflow::Known;
use coven_workflow::catalogue::{CatalogueEntry, EntryStatus, GrimoireCatalogue, Places};
use coven_workflow::plan::{Plan, PlanTrigger};
use coven_workflow::view::dry_run;

pub(crate) use self::versions::Versions;
use crate::answer::{Answer, Json, Path, Query, Read};
use crate::house::House;
use crate::problems::diagnostics;

/// Where the grimoires and adapters of one folder are. Nothing is opened or written for it.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    config_dir: PathBuf,
    base_dir: PathBuf,
    trusted: bool,
    default_adapter: Option<String>,
}

impl Shelf {
    pub(crate) fn of(house: &House, base_dir: &FilePath) -> Result<Self, Problem> {
        let trust = house.trust_of(base_dir)?;
        Ok(Self {
            config_dir: house.options().places.config_dir.clone(),
            base_dir: base_dir.to_owned(),
            trusted: trust.state == coven_api::system::TrustState::Trusted,
            default_adapter: house.config().default_adapter.clone(),
        })
    }

    pub(crate) fn loader(&self) -> AdapterConfigLoader {
        AdapterConfigLoader::new(AdapterFolders {
            user: Some(self.config_dir.join("adapters")),
            project: Some(self.base_dir.join(".coven/adapters")),
            project_trusted: self.trusted,
        })
    }

    /// What definitions are checked against.
    pub(crate) fn known(&self) -> Known {
        let known = Known::new(self.loader().types());
        match &self.default_adapter {
            Some(adapter) => known.with_default_adapter(adapter),
            None => known,
        }
    }

    pub(crate) fn catalogue(&self, known: &Known) -> GrimoireCatalogue {
        let places = Places {
            user: Some(self.config_dir.join("grimoires")),
            project: Some(self.base_dir.join(".coven/grimoires")),
            trusted: self.trusted,
        };
        GrimoireCatalogue::load(&places, known)
    }
}

/// Reads a shelf where that holds nobody up.
async fn reading<T: Send + 'static>(
    house: &House,
    base_dir: Option<&str>,
    read: impl FnOnce(Shelf) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let (house, path) = (house.clone(), house.folder_to_read(base_dir)?);
    let done = tokio::task::spawn_blocking(move || read(Shelf::of(&house, &path)?)).await;
    done.unwrap_or_else(|error| Err(Problem::new(Code::Internal, error.to_string())))
}

/// `GET /grimoires`.
pub(super) async fn grimoires(
    State(house): State<House>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<GrimoireList> {
    let grimoires = reading(&house, query.base_dir.as_deref(), |shelf| {
        let catalogue = shelf.catalogue(&shelf.known());
        // What a later layer replaced is not what its name means.
        let shown = |entry: &&CatalogueEntry| !matches!(entry.standing, EntryStatus::Overridden(_));
        Ok(catalogue.entries().filter(shown).map(item).collect())
    });
    Ok(Json(GrimoireList { grimoires: grimoires.await? }))
}

/// `GET /grimoires/{name}`.
pub(super) async fn grimoire(
    State(house): State<House>,
    Path(name): Path<String>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<GrimoireText> {
    let grimoire = reading(&house, query.base_dir.as_deref(), move |shelf| {
        let catalogue = shelf.catalogue(&shelf.known());
        let Some(entry) = catalogue.get(&name) else {
            let names = catalogue.entries().map(|entry| &entry.name);
            let near = near(&name, names).first().map(|near| (*near).to_owned());
            let shown: String = name.chars().take(100).collect();
            let detail = format!("there is no grimoire `{}`", printable(&shown));
            let hint = near.map_or("`GET /grimoires` lists them".to_owned(), |near| {
                format!("did you mean `{near}`?")
            });
            return Err(Problem::new(Code::GrimoireNotFound, detail).with_hint(hint));
        };
        Ok(GrimoireText {
            item: item(entry),
            text: entry.source.text().to_owned(),
            problems: diagnostics(&entry.report()),
            plan: entry.plan.as_ref().map(dry_run),
        })
    });
    Ok(Json(grimoire.await?))
}

/// `POST /grimoires/check`.
pub(super) async fn check(
    State(house): State<House>,
    Read(check): Read<CheckRequest>,
) -> Answer<CheckResponse> {
    let base_dir = check.base_dir.clone();
    let checked = reading(&house, base_dir.as_deref(), move |shelf| {
        let name = check.name.unwrap_or_else(|| "definition".to_owned());
        let source = Source::new(name, check.text);
        let checked = coven_workflow::check(&source, &shelf.known());
        let report = Report::new(source, checked.problems);
        Ok(CheckResponse {
            ok: checked.plan.is_some(),
            problems: diagnostics(&report),
            inputs: checked.plan.as_ref().map(inputs).unwrap_or_default(),
            plan: checked.plan.as_ref().map(dry_run),
        })
    });
    Ok(Json(checked.await?))
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

fn inputs(plan: &Plan) -> Vec<InputItem> {
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

/// `GET /adapters`.
pub(crate) async fn adapters(
    State(house): State<House>,
    Query(query): Query<BaseDirQuery>,
) -> Answer<AdapterList> {
    let listed = reading(&house, query.base_dir.as_deref(), |shelf| Ok(shelf.loader().load_all()));
    let program = house.options().program.clone();
    let mut asked = Vec::new();
    for (kind, loaded) in listed.await? {
        let house = house.clone();
        let program = program.clone();
        asked.push(async move {
            match loaded {
                Ok(loaded) => adapter(&house, &program, kind, &loaded).await,
                Err(error) => broken(kind, &error.to_string()),
            }
        });
    }
    Ok(Json(AdapterList { adapters: futures_util::future::join_all(asked).await }))
}

async fn adapter(
    house: &House,
    program: &FilePath,
    kind: String,
    loaded: &LoadedAdapter,
) -> AdapterItem {
    let config = &loaded.config;
    let metadata = AdapterMetadata::new(&kind, config);
    let command = config.command.clone().unwrap_or_else(|| kind.clone());
    // The demo agent is part of the program that holds it.
    let found = if kind == "demo" && loaded.origins.len() == 1 {
        Some(program.to_owned())
    } else {
        versions::find(&command)
    };
    let installed_version = match &found {
        Some(_) if kind == "demo" => Some(env!("CARGO_PKG_VERSION").to_owned()),
        Some(path) if !config.version_args.is_empty() => {
            house.versions().of(path, &config.version_args).await
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
        icon: String::new(),
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
