//! One-time codes: how a browser becomes a device without a secret ever being in a request's URL
//! or in the arguments of a program.
//!
//! `coven ui` asks for a code over the socket and lets the browser open a file of the user's that
//! leads to the page with the code in the fragment, which browsers do not send. The page makes a
//! key and hands in the code with it, once and within a minute.
//!
//! A job can read that file like every other file of its user. So the code of a file is taken only
//! from a process that can be seen and was started by no job; a code that a person types was in no
//! file.
//!
//! Wrong codes are counted for each peer, and a right one is always taken: codes have 256 bits, so
//! counting only keeps the noise down, and no stranger can keep the owner out by guessing.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coven_api::device::DeviceRole;
use coven_api::{ApiProblem, ProblemCode};
use coven_service::private_file;
use parking_lot::Mutex;

use crate::peer::PeerTransport;
use crate::secret::Secret;

/// How long a code is worth something.
pub(crate) const CODE_LIFETIME: Duration = Duration::from_mins(1);

/// How many codes may wait at once.
const MAX_OPEN_CODES: usize = 16;

/// How many wrong codes of one peer are answered in a minute before it is told to stop.
const MAX_WRONG_CODES: usize = 10;

/// How many peers are remembered that sent wrong codes.
const MAX_GUESSING_PEERS: usize = 1024;

/// What the names of files that lead to the page begin with.
const REDIRECT_PREFIX: &str = "open-";

/// The device that a code is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InvitedDevice {
    /// The name it was given, if any.
    pub(crate) name: Option<String>,
    pub(crate) role: DeviceRole,
}

/// Who sent a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodeSource {
    /// A user of this machine.
    User(u32),
    /// An address, where the user cannot be told.
    Address(IpAddr),
    /// The daemon's own user, over the socket.
    Owner,
}

impl From<PeerTransport> for CodeSource {
    fn from(via: PeerTransport) -> Self {
        match via {
            PeerTransport::Socket { .. } => Self::Owner,
            PeerTransport::Tcp { user: Some(user), .. } => Self::User(user),
            PeerTransport::Tcp { peer, .. } => Self::Address(peer.ip()),
        }
    }
}

/// Codes that wait to be used.
#[derive(Debug, Default)]
pub(crate) struct SignInCodes {
    state: Mutex<CodeState>,
}

#[derive(Debug, Default)]
struct CodeState {
    codes: Vec<OpenCode>,
    wrong: HashMap<CodeSource, Vec<Instant>>,
}

/// A code that waits to be used.
#[derive(Debug)]
pub(crate) struct OpenCode {
    secret: Secret,
    made: Instant,
    pub(crate) device: InvitedDevice,
    /// Goes with the code.
    file: Option<RedirectFile>,
}

impl SignInCodes {
    /// A new code for a device; `redirect` makes the file that leads a browser to the page with
    /// it, if there is to be one.
    pub(crate) fn make(
        &self,
        device: InvitedDevice,
        redirect: impl FnOnce(&str) -> io::Result<Option<RedirectFile>>,
        now: Instant,
    ) -> Result<Secret, ApiProblem> {
        self.forget_old(now);
        if self.state.lock().codes.len() >= MAX_OPEN_CODES {
            return Err(ApiProblem::new(ProblemCode::TooMany, "too many codes wait to be used")
                .with_hint("wait a minute, then ask again"));
        }
        let failed =
            |code, error: io::Error| ApiProblem::new(code, format!("no code can be made: {error}"));
        let secret = Secret::new().map_err(|error| failed(ProblemCode::Internal, error))?;
        let file =
            redirect(secret.reveal()).map_err(|error| failed(ProblemCode::Storage, error))?;
        let code = OpenCode { secret: secret.clone(), made: now, device, file };
        self.state.lock().codes.push(code);
        Ok(secret)
    }

    /// Puts back a code that came to nothing, through no fault of the one who handed it in.
    pub(crate) fn restore(&self, code: OpenCode) {
        self.state.lock().codes.push(code);
    }

    /// Takes a code out, with the device it is for. `is_seen` says whether the process that hands
    /// it in is known to be no job's.
    pub(crate) fn exchange(
        &self,
        guess: &str,
        source: CodeSource,
        is_seen: bool,
        now: Instant,
    ) -> Result<OpenCode, ApiProblem> {
        self.forget_old(now);
        // The fingerprint behind the dot is for the page.
        let guess = guess.split('.').next().unwrap_or_default();
        let mut state = self.state.lock();
        // All are compared, so that the time tells nothing.
        let mut found = None;
        for (index, code) in state.codes.iter().enumerate() {
            if code.secret.is(guess) {
                found = Some(index);
            }
        }
        if let Some(index) = found {
            if state.codes[index].file.is_some() && !is_seen {
                return Err(ApiProblem::new(
                    ProblemCode::AgentMayNot,
                    "the program that hands in this code cannot be seen, so it may be an agent's",
                )
                .with_hint("run `coven device add NAME` and type its code into the page"));
            }
            return Ok(state.codes.swap_remove(index));
        }
        if !state.wrong.contains_key(&source) && state.wrong.len() >= MAX_GUESSING_PEERS {
            state.wrong.clear();
        }
        let wrong = state.wrong.entry(source).or_default();
        if wrong.len() >= MAX_WRONG_CODES {
            return Err(ApiProblem::new(ProblemCode::TooMany, "there were too many wrong codes")
                .with_hint("open the page anew with `coven ui`; a right code is still taken"));
        }
        wrong.push(now);
        Err(ApiProblem::new(
            ProblemCode::Unauthorized,
            "the code is wrong, was used, or is too old",
        )
        .with_hint("open the page anew with `coven ui`"))
    }

    /// Forgets what is too old, and removes its files.
    pub(crate) fn forget_old(&self, now: Instant) {
        let mut state = self.state.lock();
        let is_young = |at: Instant| now.duration_since(at) < CODE_LIFETIME;
        state.codes.retain(|code| is_young(code.made));
        state.wrong.retain(|_, times| {
            times.retain(|at| is_young(*at));
            !times.is_empty()
        });
    }

    /// Forgets all codes, and removes their files.
    pub(crate) fn forget_all(&self) {
        self.state.lock().codes.clear();
    }
}

/// A file that leads a browser to the page. Only its user can read it; it goes with its value.
#[derive(Debug)]
pub(crate) struct RedirectFile(PathBuf);

impl RedirectFile {
    /// Writes one that leads to this address.
    pub(crate) fn write(folder: &Path, url: &str) -> io::Result<Self> {
        let name = Secret::new()?;
        let path = folder.join(format!("{REDIRECT_PREFIX}{}.html", &name.reveal()[..16]));
        // The address is ours: a port, base64 and a dot, with nothing to be escaped.
        let text = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>Coven</title>\n<script>location.replace({url:?})</script>\n\
             <noscript><a href=\"{url}\">Open Coven</a></noscript>\n"
        );
        private_file::write(&path, text.as_bytes())?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes what a daemon left that was killed.
    pub(crate) fn remove_left_over(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(REDIRECT_PREFIX) && name.ends_with(".html") {
                drop(Self(entry.path()));
            }
        }
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!("{} is left over: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: CodeSource = CodeSource::User(65534);
    const OWNER: CodeSource = CodeSource::User(1000);

    fn make(codes: &SignInCodes, now: Instant) -> Secret {
        codes.make(InvitedDevice::default(), |_| Ok(None), now).unwrap()
    }

    fn refused(codes: &SignInCodes, source: CodeSource, now: Instant) -> ProblemCode {
        codes.exchange("guess", source, true, now).unwrap_err().code
    }

    #[test]
    fn a_code_is_worth_something_once_and_for_a_minute() {
        let (codes, start) = (SignInCodes::default(), Instant::now());
        let device = InvitedDevice { name: Some("phone".to_owned()), role: DeviceRole::Look };
        let code = codes.make(device.clone(), |_| Ok(None), start).unwrap();
        let written = format!("{}.fingerprint", code.reveal());
        let taken = codes.exchange(&written, OWNER, false, start).unwrap();
        codes.restore(taken);
        assert_eq!(codes.exchange(&written, OWNER, false, start).unwrap().device, device);
        let again = codes.exchange(&written, OWNER, false, start).unwrap_err();
        assert_eq!(again.code, ProblemCode::Unauthorized);
        let old = make(&codes, start);
        assert!(codes.exchange(old.reveal(), OWNER, true, start + CODE_LIFETIME).is_err());
    }

    #[test]
    fn wrong_codes_are_counted_for_each_peer_and_a_right_one_is_always_taken() {
        let (codes, start) = (SignInCodes::default(), Instant::now());
        let code = make(&codes, start);
        for _ in 0..MAX_WRONG_CODES {
            assert_eq!(refused(&codes, STRANGER, start), ProblemCode::Unauthorized);
        }
        assert_eq!(refused(&codes, STRANGER, start), ProblemCode::TooMany);
        assert_eq!(refused(&codes, OWNER, start), ProblemCode::Unauthorized);
        assert!(codes.exchange(code.reveal(), OWNER, true, start).is_ok());
        let code = make(&codes, start);
        assert!(codes.exchange(code.reveal(), STRANGER, true, start).is_ok());
        assert_eq!(refused(&codes, STRANGER, start + CODE_LIFETIME), ProblemCode::Unauthorized);
    }

    #[test]
    fn the_file_that_leads_to_the_page_goes_with_its_code() {
        let folder = tempfile::tempdir().unwrap();
        let (codes, start) = (SignInCodes::default(), Instant::now());
        let redirect = |secret: &str| RedirectFile::write(folder.path(), secret).map(Some);
        let count = || fs::read_dir(folder.path()).unwrap().count();
        let code = codes.make(InvitedDevice::default(), redirect, start).unwrap();
        codes.make(InvitedDevice::default(), redirect, start).unwrap();
        assert_eq!(count(), 2);
        let unseen = codes.exchange(code.reveal(), OWNER, false, start).unwrap_err();
        assert_eq!((unseen.code, count()), (ProblemCode::AgentMayNot, 2));
        drop(codes.exchange(code.reveal(), OWNER, true, start).unwrap());
        assert_eq!(count(), 1);
        codes.forget_old(start + CODE_LIFETIME);
        assert_eq!(count(), 0);
        std::mem::forget(RedirectFile::write(folder.path(), "x").unwrap());
        RedirectFile::remove_left_over(folder.path());
        assert_eq!(count(), 0);
    }
}
