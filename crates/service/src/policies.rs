//! The policies of the user and of a trusted project, read again when their files change.
//!
//! The user's own policy counts as it was accepted. A file that changed since, or that nobody
//! accepted yet, was perhaps written by an agent: what it denies counts, what it allows is asked.

use std::path::{Path, PathBuf};
use std::{fs, io};

use coven_api::intervention::SavedRule;
use coven_api::system::{AcceptPolicy, PolicyStanding, PolicyState};
use coven_folder::{best_effort, read_plain_file};
use coven_model::event::SessionRule;
use coven_model::{AskedAction, AwaitingKind, ContentDigest};
use coven_notation::{MAX_BYTES, SourceFile, TrustedFiles};
use coven_policy::{AddRuleError, AgentQuestion, EffectivePolicies, Policy, add_rule};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::blocking::blocking;
use crate::error::{ServiceError, StaleTrust};
use crate::places::UserFolders;
use crate::private_file;
use crate::service::Service;

/// The version of the file that says which policy was accepted.
const VERSION: u32 = 1;

/// How many bytes that file may have.
const MAX_RECORD_BYTES: u64 = 4096;

/// What some editors begin a file of UTF-8 with. A file keeps it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Held while the user's policy is changed.
static SAVING: Mutex<()> = Mutex::new(());

/// The policy of a project, within it.
const PROJECT_POLICY: &str = ".coven/policy.yaml";

/// The digests of both policies and of the accepted one: what decides whether the policies are other
/// than before.
type Mark = (Option<String>, Option<String>, Option<String>);

/// The policy files that count for one folder.
#[derive(Debug)]
pub(crate) struct PolicyFiles {
    user: PathBuf,
    project: PathBuf,
    accepted: Option<PathBuf>,
    seen: Option<Mark>,
}

impl PolicyFiles {
    pub(crate) fn new(config_dir: &Path, base_dir: &Path) -> Self {
        let user = config_dir.join("policy.yaml");
        let project = base_dir.join(PROJECT_POLICY);
        Self { user, project, accepted: None, seen: None }
    }

    /// The same, with the file that says which policy of the user was accepted.
    pub(crate) fn with_accepted(self, path: PathBuf) -> Self {
        Self { accepted: Some(path), ..self }
    }

    /// The policies, if they may be other than the last time.
    ///
    /// If one of the files is wrong there are none, so that everything is asked: a rule that
    /// forbids something may be in the part that could not be read.
    pub(crate) fn changed(
        &mut self,
        trusted: Option<&TrustedFiles>,
    ) -> Option<Result<EffectivePolicies, String>> {
        let project = trusted.and_then(|files| files.content(&self.project)).map(<[u8]>::to_owned);
        let user = content(&self.user);
        let accepted = self.accepted.as_deref().and_then(accepted_digest);
        let seen = match &user {
            Ok(content) => content.as_deref().map(digest),
            Err(problem) => Some(problem.clone()),
        };
        let now = (seen, project.as_deref().map(digest), accepted.clone());
        if self.seen.as_ref() == Some(&now) {
            return None;
        }
        self.seen = Some(now);
        let read = || {
            let user = user_policy_of(&self.user, user?, accepted.as_deref())?;
            let project = project.map(|bytes| parsed(&self.project, bytes)).transpose()?;
            Ok(EffectivePolicies { user, project, unreadable: false })
        };
        Some(read())
    }
}

/// The policy of the project `base_dir` that the user agreed to, if there is one.
pub fn read_trusted(base_dir: &Path, files: &TrustedFiles) -> Result<Option<Policy>, String> {
    let path = base_dir.join(PROJECT_POLICY);
    files.content(&path).map(|bytes| parsed(&path, bytes.to_owned())).transpose()
}

/// The policy in a file; none if there is no file. Says what is wrong with it.
pub fn read(path: &Path) -> Result<Option<Policy>, String> {
    content(path)?.map(|bytes| parsed(path, bytes)).transpose()
}

/// The user's policy as it counts now.
pub fn read_user(places: &UserFolders) -> Result<Option<Policy>, String> {
    let path = places.policy();
    user_policy_of(&path, content(&path)?, accepted_digest(&places.accepted_policy()).as_deref())
}

fn user_policy_of(
    path: &Path,
    bytes: Option<Vec<u8>>,
    accepted: Option<&str>,
) -> Result<Option<Policy>, String> {
    let Some(bytes) = bytes else { return Ok(None) };
    let same = accepted == Some(digest(&bytes).as_str());
    let policy = parsed(path, bytes)?;
    Ok(Some(if same { policy } else { policy.not_accepted() }))
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match read_plain_file(path, MAX_BYTES as u64) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

fn parsed(path: &Path, bytes: Vec<u8>) -> Result<Policy, String> {
    let read = SourceFile::from_bytes(path.display().to_string(), bytes);
    read.and_then(|source| Policy::read(&source)).map_err(|report| report.render(false))
}

fn digest(bytes: &[u8]) -> String {
    ContentDigest::of_bytes(bytes).to_string()
}

/// Which policy was accepted, kept in the state folder.
#[derive(Debug, Serialize, Deserialize)]
struct AcceptedRecord {
    version: u32,
    digest: String,
}

/// The digest of the policy that was accepted. A record that cannot be read accepts nothing.
fn accepted_digest(path: &Path) -> Option<String> {
    let bytes = read_plain_file(path, MAX_RECORD_BYTES).ok()?;
    let record: AcceptedRecord = serde_json::from_slice(&bytes).ok()?;
    Some(record.digest).filter(|_| record.version == VERSION)
}

/// How the user's policy stands.
fn standing(places: &UserFolders) -> PolicyStanding {
    let path = places.policy();
    let mut standing = PolicyStanding {
        path: path.display().to_string(),
        state: PolicyState::Missing,
        digest: None,
        problem: None,
        asks_instead: Vec::new(),
    };
    let bytes = match content(&path) {
        Ok(None) => return standing,
        Ok(Some(bytes)) => bytes,
        Err(problem) => {
            (standing.state, standing.problem) = (PolicyState::Wrong, Some(problem));
            return standing;
        }
    };
    let seen = digest(&bytes);
    standing.state = match accepted_digest(&places.accepted_policy()) {
        None => PolicyState::New,
        Some(accepted) if accepted == seen => PolicyState::Accepted,
        Some(_) => PolicyState::Changed,
    };
    standing.digest = Some(seen);
    match parsed(&path, bytes) {
        Ok(policy) => {
            let names = policy.allows_by_matches().map(|rule| rule.name.clone());
            standing.asks_instead = names.collect();
        }
        Err(problem) => (standing.state, standing.problem) = (PolicyState::Wrong, Some(problem)),
    }
    standing
}

fn write_accepted(places: &UserFolders, digest: String) -> Result<(), ServiceError> {
    let record = AcceptedRecord { version: VERSION, digest };
    let write = |bytes: Vec<u8>| private_file::write(&places.accepted_policy(), &bytes);
    let written = serde_json::to_vec(&record).map_err(io::Error::other).and_then(write);
    written.map_err(|source| ServiceError::Storage {
        what: "what was accepted cannot be written down".to_owned(),
        source,
    })
}

/// Adds a rule to the policy that the user agreed to, and to no other: what somebody else changed
/// in it must not be accepted along with the rule.
fn save_rule(
    places: &UserFolders,
    rule: &SessionRule,
    only_try: bool,
) -> Result<SavedRule, ServiceError> {
    let path = places.policy();
    let bytes =
        content(&path).map_err(|problem| ServiceError::NotSaved(AddRuleError::Wrong(problem)))?;
    let mark = if bytes.as_ref().is_some_and(|bytes| bytes.starts_with(BYTE_ORDER_MARK)) {
        BYTE_ORDER_MARK
    } else {
        b""
    };
    let source = bytes.map(|bytes| {
        let seen = digest(&bytes);
        let source = SourceFile::from_bytes(path.display().to_string(), bytes);
        source
            .map(|source| (source, seen))
            .map_err(|report| ServiceError::NotSaved(AddRuleError::wrong(&report)))
    });
    let source = source.transpose()?;
    let text = add_rule(source.as_ref().map(|(source, _)| source), rule);
    let text = text.map_err(ServiceError::NotSaved)?;
    if let Some((_, seen)) = &source
        && accepted_digest(&places.accepted_policy()).as_ref() != Some(seen)
    {
        return Err(ServiceError::PolicyNotAccepted);
    }
    let saved = SavedRule {
        path: path.display().to_string(),
        name: rule.name.clone(),
        decided_before_by: decided_before(&text, rule),
    };
    if !only_try && source.as_ref().is_none_or(|(source, _)| source.text() != text) {
        let bytes = [mark, text.as_bytes()].concat();
        let written = replace(&path, &bytes);
        written.map_err(|source| ServiceError::Storage {
            what: format!("it is approved for the session, and {} cannot be written", saved.path),
            source,
        })?;
        write_accepted(places, digest(&bytes))?;
    }
    Ok(saved)
}

/// The rule of a policy that decides about a command before the rule for it does.
fn decided_before(text: &str, rule: &SessionRule) -> Option<String> {
    let user = Policy::read(&SourceFile::new("policy.yaml", text)).ok();
    let policies = EffectivePolicies { user, ..EffectivePolicies::default() };
    let action = AskedAction { command: Some(rule.command.clone()), ..AskedAction::default() };
    let excerpt: Vec<String> = rule.command.lines().map(str::to_owned).collect();
    let decision = policies.decide(&AgentQuestion {
        adapter: &rule.adapter,
        kind: AwaitingKind::Approval,
        rule: "approval",
        dialog: None,
        action: &action,
        excerpt: &excerpt,
        digest: None,
    });
    decision.rule.map(|decisive| decisive.name).filter(|name| *name != rule.name)
}

/// Replaces a file by another of the same mode, where a link to it leads.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let Ok(path) = path.canonicalize() else {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        return private_file::write(path, bytes);
    };
    let mode = fs::metadata(&path)?.permissions();
    private_file::write(&path, bytes)?;
    fs::set_permissions(&path, mode)
}

impl Service {
    /// How the user's policy stands.
    pub async fn policy(&self) -> Result<PolicyStanding, ServiceError> {
        let service = self.clone();
        blocking(move || Ok(standing(&service.context().places))).await
    }

    /// Tells sessions that run of the policies as they are now. Reads files and blocks.
    fn apply_policies(&self) {
        for base in self.base_dirs() {
            let path = base.path();
            best_effort("look at a folder again", self.trust_of_blocking(path));
        }
    }

    /// Agrees to the user's policy as it was seen.
    pub async fn accept_policy(
        &self,
        accept: AcceptPolicy,
    ) -> Result<PolicyStanding, ServiceError> {
        let service = self.clone();
        blocking(move || {
            let places = &service.context().places;
            let now = standing(places);
            if now.digest.as_deref() != Some(accept.digest.as_str()) {
                return Err(ServiceError::StaleTrust(StaleTrust::Policy));
            }
            if let Some(problem) = now.problem {
                return Err(ServiceError::BadRequest(problem));
            }
            write_accepted(places, accept.digest)?;
            service.apply_policies();
            Ok(standing(places))
        })
        .await
    }

    /// Writes a rule that a person made into the user's policy, which stays accepted. Where it is
    /// only tried, nothing is written.
    pub(crate) async fn save_rule(
        &self,
        rule: &SessionRule,
        only_try: bool,
    ) -> Result<SavedRule, ServiceError> {
        let (service, rule) = (self.clone(), rule.clone());
        blocking(move || {
            let places = &service.context().places;
            // Two rules that are saved at once must not overwrite each other.
            let saving = SAVING.lock();
            let saved = save_rule(places, &rule, only_try)?;
            drop(saving);
            if !only_try {
                service.apply_policies();
            }
            Ok(saved)
        })
        .await
    }
}
