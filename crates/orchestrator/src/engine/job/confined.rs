//! Jobs that may not write: what they get to write all the same, what nothing keeps them from, and
//! what changed while they ran.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coven_adapters::AgentAdapter;
use coven_model::event::JobConfinement;
use coven_model::{ConfineMode, JobOutcome, JobWork, PermissionLevel, SandboxMode};
use coven_runtime::domain::Sandbox as Confined;
use coven_runtime::hold::{HolderFolder, SpawnRecord};
use coven_runtime::sandbox::{Enforcement, PORTS_ABI, SCOPES_ABI, TRUNCATION_ABI};

use super::begin::COMMAND_ADAPTER;
use super::look::{FolderLook, LookReason};
use super::picture::{self, FolderMetadata, PictureSize};
use super::private_home::MAX_COPY_BYTES;
use super::{JobDetails, PRIVATE_MODE};
use coven_folder::{best_effort, read_plain_file};

/// The folder for a confined job's own files, in the attempt's folder. What else is there is our
/// record of the job, which is not the job's to write.
pub(super) const SCRATCH_FOLDER: &str = "scratch";

/// The ports of web servers, where models are.
const WEB_PORTS: [u16; 2] = [80, 443];

/// Ends of the names of variables that say where a model or a proxy is.
const ENDPOINT_SUFFIXES: [&str; 5] = ["_BASE_URL", "_API_URL", "_ENDPOINT", "_API_BASE", "_PROXY"];

/// The port that a variable names, if it is the address of a model or a proxy.
fn endpoint_port(name: &str, value: &str) -> Option<u16> {
    let name = name.to_ascii_uppercase();
    if !ENDPOINT_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        return None;
    }
    port_of(value.split_once("://").map_or(value, |(_, address)| address))
}

/// The ports of all web addresses in a text that name one, as settings of programs do.
fn ports_in(text: &str) -> impl Iterator<Item = u16> {
    let addresses = text
        .split("http")
        .skip(1)
        .filter_map(|rest| rest.strip_prefix("://").or_else(|| rest.strip_prefix("s://")));
    addresses.filter_map(port_of)
}

/// The port in an address behind its scheme.
fn port_of(address: &str) -> Option<u16> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | ',' | '}');
    let authority = address.split(ends).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

impl JobDetails {
    /// The folder that a confined job may write to, made if it is not there. A link in its place
    /// is refused, because the job would be allowed to write where the link leads.
    pub(super) fn scratch(&self) -> std::io::Result<Option<PathBuf>> {
        if self.spec.sandbox == SandboxMode::Off {
            return Ok(None);
        }
        let made = self.attempt.folder().make(SCRATCH_FOLDER, PRIVATE_MODE)?;
        Ok(Some(made.path().to_owned()))
    }

    /// What a job without a sandbox is kept from: what its step says, and without that an agent
    /// that may not do everything from signalling others, its holder above all.
    fn confine_mode(&self, adapter: &dyn AgentAdapter) -> ConfineMode {
        if let Some(mode) = self.spec.confine {
            return mode;
        }
        let JobWork::Agent(agent) = &self.spec.work else { return ConfineMode::Off };
        let default = adapter.config().default_permission(agent.mode);
        match agent.permissions.or(default) {
            Some(PermissionLevel::All) => ConfineMode::Off,
            None if agent.adapter == COMMAND_ADAPTER => ConfineMode::Off,
            Some(_) | None => ConfineMode::Signals,
        }
    }

    /// What confines a job: without a sandbox its signals, with one its files and connections too.
    pub(super) fn sandbox(&self, adapter: &dyn AgentAdapter) -> Option<Confined> {
        if self.spec.sandbox == SandboxMode::Off {
            let signals_only = self.confine_mode(adapter) != ConfineMode::Off;
            return signals_only.then(|| Confined { signals_only, ..Confined::default() });
        }
        let write = self.writable(adapter);
        let hide = self.hidden(self.home().as_deref());
        let mut show = vec![self.attempt.path().to_owned(), self.cwd()];
        show.extend(self.trusted_copy());
        Some(Confined { signals_only: false, write, hide, show, ports: self.ports(adapter) })
    }

    fn home(&self) -> Option<PathBuf> {
        self.executor.env.get(&OsString::from("HOME")).map(PathBuf::from)
    }

    /// What a job with a sandbox may write.
    fn writable(&self, adapter: &dyn AgentAdapter) -> Vec<PathBuf> {
        let state = &adapter.config().state;
        // A program that has its own files in a home of its own needs none of the user's.
        let own = state.write.iter().filter(|_| state.copy.is_empty());
        // Where variables say that they lie elsewhere, the program writes there.
        let own = own.filter_map(|path| match path.strip_prefix("~/") {
            Some(_) => self.user_file(state, path),
            None => Some(PathBuf::from(path)),
        });
        let mut write: Vec<PathBuf> = own.collect();
        if let Ok(Some(scratch)) = self.attempt.folder().find(SCRATCH_FOLDER) {
            write.push(scratch.path().to_owned());
        }
        write.extend(["/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts"].map(PathBuf::from));
        if self.spec.sandbox == SandboxMode::Workspace {
            write.push(self.cwd());
            write.extend(self.also_writes.iter().cloned());
        }
        write.retain(|path| path.exists());
        write
    }

    /// The copy of what the project brings along, from which an adapter of the project starts its
    /// program and its scripts. It lies in the state folder.
    fn trusted_copy(&self) -> Option<PathBuf> {
        let JobWork::Agent(_) = &self.spec.work else { return None };
        self.executor.trusted_copy()
    }

    /// What a confined job may not read: the state folder, where other jobs have theirs, and keys.
    fn hidden(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let keys = home.map(|home| home.join(".ssh"));
        let shared = &self.executor.shared;
        let ours = [shared.state_dir.clone()].into_iter().chain(shared.jobs.clone());
        keys.into_iter().chain(ours).filter(|path| path.exists()).collect()
    }

    /// The ports that a job which may only read connects to: those of its model.
    fn ports(&self, adapter: &dyn AgentAdapter) -> Option<Vec<u16>> {
        if self.spec.sandbox != SandboxMode::ReadOnly {
            return None;
        }
        let callers = self.executor.env.iter().filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        });
        let own = self.spec.env.iter().map(|(name, value)| (name.clone(), value.clone()));
        let mut ports: BTreeSet<u16> = WEB_PORTS.into();
        ports.extend(&adapter.config().state.ports);
        ports.extend(callers.chain(own).filter_map(|(name, value)| endpoint_port(&name, &value)));
        // Some programs have the address of their model in their settings.
        let state = &adapter.config().state;
        let settings = state.copy.iter().filter_map(|name| self.user_file(state, name));
        for settings in settings.filter_map(|path| read_plain_file(&path, MAX_COPY_BYTES).ok()) {
            ports.extend(ports_in(&String::from_utf8_lossy(&settings)));
        }
        Some(ports.into_iter().collect())
    }

    /// What is not compared: what the job may write, and what we write.
    fn not_compared(&self, adapter: &dyn AgentAdapter) -> BTreeSet<PathBuf> {
        let confined = self.spec.sandbox != SandboxMode::Off;
        let allowed = if confined { self.writable(adapter) } else { Vec::new() };
        let ours = self.executor.shared.base_dir.join(".coven/sessions");
        let all = allowed.into_iter().chain([ours]);
        all.filter_map(|path| std::fs::canonicalize(path).ok()).collect()
    }

    /// Takes a picture of the working folder of a job that may only read, and keeps it in the
    /// attempt's folder: the process that sees the job's end may be another one.
    pub(super) fn look_before(&self, adapter: &dyn AgentAdapter) -> Option<PictureSize> {
        if self.spec.sandbox != SandboxMode::ReadOnly {
            return None;
        }
        let look = FolderLook::new(LookReason::Before);
        let picture = self.runner.show_look(&look, |look| {
            FolderMetadata::take(&self.cwd(), &self.not_compared(adapter), look)
        });
        // Without a picture nothing is compared, which the start of the job tells.
        let saved = picture.save(self.attempt.folder());
        let size = saved.is_ok().then(|| picture.size());
        best_effort("keep what a job's folder looked like", saved);
        size
    }

    /// How much the picture has that was kept when the job began.
    pub(super) fn looked_at_before(&self) -> Option<PictureSize> {
        if self.spec.sandbox != SandboxMode::ReadOnly {
            return None;
        }
        FolderMetadata::load(self.attempt.folder()).map(|picture| picture.size())
    }

    /// Adds to an outcome what changed while the job ran, if it was not to change anything.
    pub(super) fn with_touched(&self, outcome: JobOutcome) -> JobOutcome {
        let attempt = self.attempt.folder();
        let taken = || matches!(attempt.stat(picture::FILE), Ok(Some(_)));
        if self.spec.sandbox != SandboxMode::ReadOnly || !taken() {
            return outcome;
        }
        let Ok(adapter) = self.adapter() else { return outcome };
        let confined = matches!(self.enforced(), Some(Enforcement::Files { .. }));
        let Some(before) = FolderMetadata::load(attempt) else { return outcome };
        let touched = self.runner.show_look(&FolderLook::new(LookReason::After), |look| {
            let now = FolderMetadata::take(&self.cwd(), &self.not_compared(&*adapter), look);
            before.differences(&now, confined)
        });
        JobOutcome { touched, ..outcome }
    }

    /// What confines the process, as it was written down when it was started.
    fn enforced(&self) -> Option<Enforcement> {
        self.spawn_record()?.sandbox
    }

    /// What was written down when the process was started.
    fn spawn_record(&self) -> Option<SpawnRecord> {
        HolderFolder::new(self.attempt.path()).spawn_record().ok().flatten()
    }

    /// Whether the kernel keeps a process without a sandbox from signalling others, where its step
    /// asks for that.
    fn is_scoped(&self) -> Option<bool> {
        let is_asked = self.spec.sandbox == SandboxMode::Off
            && self.spec.confine == Some(ConfineMode::Signals);
        is_asked.then(|| self.spawn_record()).flatten()?.scoped
    }

    /// What of its confinement is not enforced, if that is so.
    pub(super) fn exposure(&self, looked_at: Option<PictureSize>) -> Option<String> {
        if self.spec.sandbox == SandboxMode::Off {
            let is_open = self.is_scoped() == Some(false);
            return is_open.then(|| {
                "it was to be confined, but this kernel does not keep it from signalling other \
                 processes"
                    .to_owned()
            });
        }
        let mut reasons: Vec<String> = self.enforced().and_then(unenforced).into_iter().collect();
        if self.spec.sandbox == SandboxMode::ReadOnly {
            match looked_at {
                None => reasons.push("the metadata of its files is not compared".to_owned()),
                Some(size) if size.capped => reasons.push(format!(
                    "its folder has too many files: only the first {} are compared",
                    size.files
                )),
                Some(_) => {}
            }
        }
        let is_exposed = !reasons.is_empty();
        is_exposed.then(|| format!("it was to be confined, but {}", reasons.join(", and ")))
    }

    /// What confines it, what stays open to it all the same, and what is compared. Nothing where
    /// nothing confines it, which is told as its exposure.
    pub(super) fn confinement(&self, looked_at: Option<PictureSize>) -> Option<JobConfinement> {
        if self.spec.sandbox == SandboxMode::Off {
            let open = ["files", "connections", "sockets that are files"].map(str::to_owned);
            let by = "Landlock, signals and abstract sockets alone".to_owned();
            let is_scoped = self.is_scoped() == Some(true);
            return is_scoped.then(|| JobConfinement { by, open: open.into(), compared: None });
        }
        let Some(Enforcement::Files { abi }) = self.enforced() else { return None };
        let compared = looked_at.map(|size| {
            format!(
                "modes, owners and times of {} files and folders, before and after; the kernel \
                 keeps it from changing their contents",
                size.files
            )
        });
        let open = left_open(abi, self.spec.sandbox == SandboxMode::ReadOnly);
        Some(JobConfinement { by: format!("Landlock {abi}"), open, compared })
    }
}

/// What a confined process can do all the same, with this version of Landlock.
fn left_open(abi: i32, has_ports: bool) -> Vec<String> {
    let tcp = if has_ports {
        (abi < PORTS_ABI).then_some("TCP connections to every port")
    } else {
        Some("TCP connections")
    };
    let always = [
        "reading everything but the state folder and ~/.ssh",
        "the names of files in those",
        "sockets that are files",
        "UDP",
        "modes, owners, times and extended attributes of files",
    ];
    let lacking = [
        tcp,
        (abi < TRUNCATION_ABI).then_some("emptying files"),
        (abi < SCOPES_ABI).then_some("signals and abstract sockets"),
    ];
    always.into_iter().chain(lacking.into_iter().flatten()).map(str::to_owned).collect()
}

/// What the kernel lets a confined process do that it is not to do.
fn unenforced(enforced: Enforcement) -> Option<String> {
    match enforced {
        Enforcement::Nothing => Some(
            "this kernel has no Landlock, so nothing keeps it from changing any file".to_owned(),
        ),
        Enforcement::Files { abi } if abi < TRUNCATION_ABI => Some(format!(
            "version {abi} of Landlock in this kernel does not keep it from emptying files"
        )),
        Enforcement::Files { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_a_model_is_read_from_its_address() {
        for (name, value, port) in [
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8317", Some(8317)),
            ("OPENAI_BASE_URL", "http://localhost:11434/v1?x=1:2", Some(11434)),
            ("https_proxy", "user:secret@proxy:3128", Some(3128)),
            ("HTTPS_PROXY", "http://[::1]:3129/", Some(3129)),
            ("ANTHROPIC_BASE_URL", "https://api.example.com/v1", None),
            ("DATABASE_URL", "postgres://localhost:5432", None),
        ] {
            assert_eq!(endpoint_port(name, value), port, "{name}={value}");
        }
    }

    #[test]
    fn ports_of_models_are_found_in_settings() {
        let text = "base_url = \"http://127.0.0.1:11434/v1\"\n{\"a\":\"https://host:8443\",\"b\":'http://[::1]:99'}\n\
                    https://example.org/a:77 https://user@host:x http 127.0.0.1:5";
        assert_eq!(ports_in(text).collect::<Vec<_>>(), [11434, 8443, 99]);
    }

    #[test]
    fn what_a_kernel_does_not_enforce_is_said() {
        assert!(unenforced(Enforcement::Nothing).unwrap().contains("has no Landlock"));
        assert!(unenforced(Enforcement::Files { abi: 2 }).unwrap().contains("version 2"));
        assert_eq!(unenforced(Enforcement::Files { abi: 3 }), None);
    }

    #[test]
    fn what_stays_open_depends_on_the_version_and_on_the_sandbox() {
        let has = |open: &[String], what: &str| open.iter().any(|item| item.contains(what));
        let oldest = left_open(1, true);
        for what in ["TCP", "UDP", "emptying", "signals", "sockets that are files", "modes"] {
            assert!(has(&oldest, what), "{what}: {oldest:?}");
        }
        let newest = left_open(7, true);
        for what in ["TCP", "emptying", "signals"] {
            assert!(!has(&newest, what), "{what}: {newest:?}");
        }
        assert!(has(&newest, "UDP") && has(&newest, "reading everything but"), "{newest:?}");
        assert!(has(&left_open(7, false), "TCP"), "a workspace job connects to every port");
    }
}
