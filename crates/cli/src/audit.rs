//! `coven audit`: sessions recomputed from what is on disk, independently of what ran them.
//!
//! `facts` counts what the journal says: every step once, every question decided once, every
//! attempt ended once, nothing after the end. `journal_file` looks at what the seals of a journal do
//! not cover: who owns its file, and what lies behind its last line. `remains` looks at what attempts left behind:
//! outcomes, tapes with every byte, and no process. `states` reads from tapes what agents did, and
//! `attention` looks whether each that waited had somebody to wait for.

mod attention;
mod facts;
mod journal_file;
mod remains;
mod states;

use std::io;
use std::path::{Path, PathBuf};

use coven_api::ProblemCode;
use coven_daemon::ServiceConfig;
use coven_model::{SessionEvent, SessionId};
use coven_store::index::ResolveError;
use coven_store::journal::{OpenError, SignedExtent};
use coven_store::seal::{KeyError, PublicKey};
use coven_store::session::ReadOnlySession;
use coven_store::{
    BaseDir, Index, JournalRecord, Registered, SealKey, SessionAuthority, SessionEntry,
};
use serde_json::json;

use self::attention::UnheardAgent;
use self::facts::JournalSummary;
use self::journal_file::JournalFile;
use crate::failure::{CommandFailure, Result};
use crate::progress::ProgressLine;
use crate::{find, folders, output};

/// What `coven audit` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven audit                    every session of this folder
  coven audit brisk-otter        one of them
  coven audit -C ../other --json

It reads journals and tapes itself and asks neither the daemon nor the engine. It also looks for
agents that waited for an answer, or did something unknown for too long, while nobody was asked.
Time without a daemon does not count. Exit code 1 says that something was found.")]
pub(crate) struct Arguments {
    /// Only these sessions: ids, beginnings of ids, or names.
    #[arg(value_name = "NAME", add = crate::complete::sessions())]
    sessions: Vec<String>,
    /// The folder; the current one unless said.
    #[arg(short = 'C', long, value_name = "FOLDER")]
    base_dir: Option<PathBuf>,
    /// Also check the signatures of the journals with this public key, as a stranger can: the
    /// owner prints it with `coven key`.
    #[arg(long, value_name = "KEY")]
    public_key: Option<PublicKey>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What was found about one session.
#[derive(Debug)]
struct SessionAudit {
    id: SessionId,
    name: String,
    status: String,
    facts: usize,
    attempts: usize,
    bytes: u64,
    /// Whether nothing says that this user made it.
    foreign: bool,
    /// Up to which fact it is signed, if a public key was given.
    signed: Option<SignedExtent>,
    /// Agents that waited while nobody was asked.
    unheard: Vec<UnheardAgent>,
    findings: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    let path = folders::base_dir(arguments.base_dir.as_deref())?;
    let base = BaseDir::find(&path).map_err(CommandFailure::failed)?;
    let Some(base) = base else {
        let message = format!("{} has no sessions", path.display());
        return Err(CommandFailure::not_found(ProblemCode::WorkflowNotFound, message)
            .hint("coven audit -C FOLDER; `coven daemon status` lists the folders there are"));
    };
    let owner = SessionOwner::find(&base)?;
    let ids = wanted(&base, &owner, &arguments.sessions, &path)?;
    let mut progress = AuditProgress { line: ProgressLine::new(), place: 0, total: ids.len() };
    let mut reports = Vec::with_capacity(ids.len());
    for id in &ids {
        progress.place += 1;
        let report = audit(&base, &owner, arguments.public_key.as_ref(), id, &mut progress);
        // One that was deleted meanwhile is half gone for a moment, which is nothing wrong.
        let is_there = || base.session_path(id).exists();
        if report.findings.is_empty() || !arguments.sessions.is_empty() || is_there() {
            reports.push(report);
        }
    }
    drop(progress);
    if arguments.json {
        as_json(&reports)?;
    } else {
        show(&reports)?;
    }
    if reports.iter().all(|report| report.findings.is_empty()) {
        Ok(())
    } else {
        Err(CommandFailure::told())
    }
}

/// How far an audit is: journals can be hundreds of megabytes.
struct AuditProgress {
    line: ProgressLine,
    /// Which session it is at, from 1.
    place: usize,
    total: usize,
}

impl AuditProgress {
    fn tell(&mut self, name: &str, words: impl FnOnce() -> String) {
        let (place, total) = (self.place, self.total);
        self.line.tell(|| format!("session {place} of {total}, {name}: {}", words()));
    }
}

/// What says which sessions are the user's own, read without changing anything.
struct SessionOwner {
    registered: Registered,
    /// None if there is no key, and so no session of the user.
    authority: Option<SessionAuthority>,
}

impl SessionOwner {
    fn find(base: &BaseDir) -> Result<Self> {
        let places = folders::places()?;
        let registered =
            Registered::read(&places.state_dir, base).map_err(CommandFailure::failed)?;
        let config = ServiceConfig::load(&places.config()).map_err(CommandFailure::failed)?;
        let lies = places.authority(&config);
        let authority = match SealKey::read(&lies.key) {
            Ok(key) => Some(SessionAuthority::new(key, lies.jobs)),
            Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(CommandFailure::failed(error)),
        };
        Ok(Self { registered, authority })
    }

    fn open(
        &self,
        base: &BaseDir,
        id: &SessionId,
    ) -> std::result::Result<ReadOnlySession, OpenError> {
        match self.authority.as_ref().filter(|_| self.owns(id)) {
            Some(authority) => ReadOnlySession::open(base, authority, id),
            None => ReadOnlySession::open_foreign(base, id),
        }
    }

    fn owns(&self, id: &SessionId) -> bool {
        let key = self.authority.as_ref().map(|authority| authority.key().public());
        key.is_some_and(|key| self.registered.contains(id, &key))
    }
}

fn wanted(
    base: &BaseDir,
    owner: &SessionOwner,
    names: &[String],
    path: &Path,
) -> Result<Vec<SessionId>> {
    if names.is_empty() {
        let mut ids = base.ids().map_err(CommandFailure::failed)?;
        ids.sort();
        return Ok(ids);
    }
    let index = Index::load(base, owner.registered.folder(), |id| owner.owns(id))
        .map_err(CommandFailure::failed)?;
    let find = |name: &String| match resolve(&index, name) {
        Ok(entry) => Ok(entry.id.clone()),
        Err(error) => {
            let hint = format!("looked for in {}; another folder with -C", path.display());
            let failure = match &error {
                ResolveError::Unknown { .. } => {
                    CommandFailure::not_found(ProblemCode::WorkflowNotFound, error.to_string())
                }
                ResolveError::Ambiguous { .. } => CommandFailure::failed(error),
            };
            Err(failure.hint(hint))
        }
    };
    names.iter().map(find).collect()
}

/// The session that is meant, as other commands understand names; here the index is all there is.
fn resolve<'a>(
    index: &'a Index,
    name: &str,
) -> std::result::Result<&'a SessionEntry, ResolveError> {
    let begins = |entry: &&SessionEntry| entry.name.starts_with(name) && !entry.foreign;
    match index.resolve(name) {
        Err(unknown @ ResolveError::Unknown { .. }) => {
            let own = || index.entries().filter(|entry| !entry.foreign);
            if name == find::NEWEST {
                return own().next_back().or_else(|| index.entries().next_back()).ok_or(unknown);
            }
            let found: Vec<&SessionEntry> = own().filter(begins).collect();
            match found.as_slice() {
                [] => Err(unknown),
                [only] => Ok(only),
                several => {
                    let one = |entry: &&SessionEntry| (entry.id.clone(), entry.name.clone());
                    let candidates = several.iter().map(one).collect();
                    Err(ResolveError::Ambiguous { text: name.to_owned(), candidates })
                }
            }
        }
        found => found,
    }
}

fn audit(
    base: &BaseDir,
    owner: &SessionOwner,
    public_key: Option<&PublicKey>,
    id: &SessionId,
    progress: &mut AuditProgress,
) -> SessionAudit {
    let mut report = SessionAudit {
        id: id.clone(),
        name: id.to_string(),
        status: "unknown".to_owned(),
        facts: 0,
        attempts: 0,
        bytes: 0,
        foreign: !owner.owns(id),
        signed: None,
        unheard: Vec::new(),
        findings: Vec::new(),
    };
    let look = match owner.open(base, id) {
        Ok(look) => look,
        Err(error) => {
            report.findings.push(format!("the session cannot be opened: {error}"));
            return report;
        }
    };
    if let Some(key) = public_key {
        match look.verify(key) {
            Ok(extent) => report.signed = Some(extent),
            Err(error) => report.findings.push(format!("its signatures do not hold: {error}")),
        }
    }
    let ReadJournal { records, file } = read(&look, &mut report, progress);
    report.facts = records.len();
    let told = facts::check(id, &records, &mut report.findings);
    report.name = told.name.clone().unwrap_or(report.name);
    report.status = told.status.to_string();
    if let Some(extent) = report.signed {
        report.findings.extend(unsigned(extent, told.is_over()));
    }
    if let Some(file) = &file {
        let is_own = !report.foreign;
        report.findings.extend(file.problems(is_own, told.is_over()));
    }
    if told.is_deleted {
        // What else there is of it is on its way out.
        return report;
    }
    view(&look, &told, records.len(), &mut report.findings);
    let total = told.attempts.len();
    let name = report.name.clone();
    remains::check(&look, &told, &mut report, &mut |place, bytes| {
        let read = bytes / 1_000_000;
        progress.tell(&name, || format!("attempt {place} of {total}, {read} MB of output"));
    });
    let now = output::now();
    let tapes = attention::tapes(&look, &records, &told, now, &mut |place| {
        progress.tell(&name, || format!("the screens of agent {place}"));
    });
    report.unheard = attention::unheard(&records, &tapes, now);
    report.findings.extend(report.unheard.iter().map(UnheardAgent::line));
    report
}

/// What a public key does not vouch for. The end of a run is always signed, and so is the end of
/// each job; whoever takes the signatures off takes the proof off with them.
fn unsigned(extent: SignedExtent, is_over: bool) -> Option<String> {
    match extent {
        SignedExtent { signed: 0, .. } => Some("nothing of it is signed".to_owned()),
        SignedExtent { signed, facts, .. } if is_over && signed < facts => {
            Some(format!("its run is over, and only {signed} of {facts} facts are signed"))
        }
        _ => None,
    }
}

/// A journal, as far as it can be read.
#[derive(Default)]
struct ReadJournal {
    records: Vec<JournalRecord<SessionEvent>>,
    /// Its file, if it was read to its end.
    file: Option<JournalFile>,
}

fn read(
    look: &ReadOnlySession,
    report: &mut SessionAudit,
    progress: &mut AuditProgress,
) -> ReadJournal {
    let mut journal = ReadJournal::default();
    let mut reader = match look.reader() {
        Ok(reader) => reader,
        Err(error) => {
            report.findings.push(format!("the journal cannot be opened: {error}"));
            return journal;
        }
    };
    let records = &mut journal.records;
    match reader.read_from::<SessionEvent>(1) {
        Ok(all) => {
            for record in all {
                match record {
                    Ok(record) => {
                        records.push(record);
                        progress.tell(&report.name, || format!("{} facts", records.len()));
                    }
                    Err(error) => {
                        report
                            .findings
                            .push(format!("the journal cannot be read to its end: {error}"));
                        return journal;
                    }
                }
            }
        }
        Err(error) => {
            report.findings.push(format!("the journal cannot be read: {error}"));
            return journal;
        }
    }
    journal.file = JournalFile::of(&reader);
    journal
}

/// The readable view must not say anything else than the journal, once the session is over.
fn view(look: &ReadOnlySession, told: &JournalSummary, facts: usize, findings: &mut Vec<String>) {
    let text = match look.view() {
        Ok(Some(text)) => text,
        // A missing view is no finding: the daemon writes it again from the journal.
        Ok(None) => return,
        Err(error) => return findings.push(format!("session.json cannot be read: {error}")),
    };
    let Ok(view) = serde_json::from_slice::<serde_json::Value>(&text) else {
        return findings.push("session.json is not JSON".to_owned());
    };
    let up_to = view.get("upTo").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if up_to > facts as u64 {
        findings.push(format!("session.json shows fact {up_to}, and the journal has {facts}"));
    }
    let status = view.get("status").and_then(|status| status.as_str()).unwrap_or_default();
    if told.status.is_final() && up_to == facts as u64 && status != told.status.as_str() {
        findings.push(format!("session.json says {status}, the journal says {}", told.status));
    }
}

/// What was looked at and held.
fn nothing_wrong(report: &SessionAudit) -> String {
    let whose = if report.foreign { ", foreign" } else { "" };
    let signed = match report.signed {
        Some(extent) => format!(", signed up to fact {}", extent.signed),
        None => String::new(),
    };
    format!("nothing wrong{whose}{signed}")
}

fn as_json(reports: &[SessionAudit]) -> Result {
    let one = |report: &SessionAudit| {
        json!({
            "id": report.id,
            "name": report.name,
            "status": report.status,
            "facts": report.facts,
            "attempts": report.attempts,
            "bytes": report.bytes,
            "foreign": report.foreign,
            "signedFacts": report.signed.map(|extent| extent.signed),
            "ok": report.findings.is_empty(),
            "unheard": report.unheard.iter().map(UnheardAgent::json).collect::<Vec<_>>(),
            "findings": report.findings,
        })
    };
    output::json(&json!(reports.iter().map(one).collect::<Vec<_>>()))
}

fn show(reports: &[SessionAudit]) -> Result {
    let paint = output::paint();
    let mut rows = vec![
        ["SESSION", "STATUS", "FACTS", "ATTEMPTS", "BYTES", "FOUND"].map(str::to_owned).to_vec(),
    ];
    for report in reports {
        let found = match report.findings.len() {
            0 => nothing_wrong(report),
            1 => "1 problem".to_owned(),
            many => format!("{many} problems"),
        };
        rows.push(vec![
            output::one_line(&report.name),
            report.status.clone(),
            report.facts.to_string(),
            report.attempts.to_string(),
            report.bytes.to_string(),
            found,
        ]);
    }
    output::write(&output::table(&rows, output::columns()))?;
    for report in reports {
        for finding in &report.findings {
            let line = format!("{}: {}", output::one_line(&report.name), output::one_line(finding));
            output::line(&paint.red(&line))?;
        }
    }
    let wrong = reports.iter().filter(|report| !report.findings.is_empty()).count();
    let sessions = if reports.len() == 1 {
        "1 session".to_owned()
    } else {
        format!("{} sessions", reports.len())
    };
    output::say!("{sessions} read, {wrong} with problems.");
    Ok(())
}
