//! Which session was made for what: so that one request, or one event, makes one session, however
//! often it is told and whenever the process dies.
//!
//! A request that is to make a session for a key first **claims** the key. The claim has the id
//! that the session will have and is on the disk before the session exists. Then the session is
//! made, and then the claim says so. A later request with the same key finds one of three things:
//!
//! - no claim: nothing was made, and it makes the claim;
//! - a claim that does not say that its session was made: the earlier request was cut short, and
//!   the session is made now, with the same id, so that it cannot be made twice;
//! - a claim whose session was made: that is the session. It may be gone since, purged or deleted;
//!   it is not made again.
//!
//! Besides, the claims know how far the facts of each session were **looked at** for grimoires that
//! they start (`engine::trigger`). A session is noted here before its first fact, and struck off
//! when its last one was looked at, so that after a crash only a few are in question. That a fact
//! was looked at is not synced: after a power cut some are looked at again, and find the claims.
//!
//! Claims are kept for 30 days, and not more than 10,000 of them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use coven_model::{ContentDigest, SessionId, Timestamp};
use coven_store::register::{DurableWhen, RegisterError};
use coven_store::{BaseDir, FileError, Register};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

/// The name of the file, in the state folder of the base directory.
const CLAIMS_FILE: &str = "claims.jsonl";

/// How long a claim is kept. Who repeats a request does so within minutes.
const MAX_CLAIM_AGE: Duration = Duration::from_hours(30 * 24);

/// How many claims are kept.
const MAX_CLAIMS: usize = 10_000;

/// A key cannot be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It was used for something else.
    #[error("the key `{key}` was used for another request; use a new one for this")]
    Reused {
        /// The idempotency key that the request gave.
        key: String,
    },
    /// The claim cannot be written down.
    #[error("no session can be claimed: {0}")]
    Register(#[from] RegisterError),
}

/// What a session is claimed with.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClaimTerms {
    /// What was asked for; the same key with another digest is refused.
    pub(crate) digest: Option<ContentDigest>,
    /// How many sessions started one another until this one.
    pub(crate) depth: u32,
    /// Whether the session is to begin by itself.
    pub(crate) begins: bool,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The session is to be made, with this id.
    Make(SessionId),
    /// It was made before.
    Made(SessionId),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claim {
    key: String,
    /// The session; none for an event that was dealt with and stands for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<ContentDigest>,
    #[serde(default, skip_serializing_if = "is_zero")]
    depth: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    begins: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    made: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(depth: &u32) -> bool {
    *depth == 0
}

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "line")]
enum ClaimLine {
    /// A key was claimed.
    Claim(Claim),
    /// The session of this key was made.
    Made { key: String },
    /// The facts of this session were looked at up to this one.
    Looked { session: SessionId, seq: u64 },
    /// All facts of this session were looked at.
    Over { session: SessionId },
}

/// The claims of a base directory.
#[derive(Debug)]
pub(crate) struct Claims {
    inner: Mutex<ClaimTable>,
}

#[derive(Debug)]
struct ClaimTable {
    register: Register,
    known: KnownClaims,
}

/// What the lines say together.
#[derive(Debug, Default)]
struct KnownClaims {
    /// The claims by age.
    claims: BTreeMap<u64, Claim>,
    next: u64,
    by_key: HashMap<String, u64>,
    by_session: HashMap<SessionId, u64>,
    looked: BTreeMap<SessionId, u64>,
}

impl KnownClaims {
    fn take(&mut self, line: ClaimLine) {
        match line {
            ClaimLine::Claim(claim) => self.insert(claim),
            ClaimLine::Made { key } => {
                if let Some(claim) = self.get_mut(&key) {
                    claim.made = true;
                }
            }
            ClaimLine::Looked { session, seq } => _ = self.looked.insert(session, seq),
            ClaimLine::Over { session } => _ = self.looked.remove(&session),
        }
    }

    fn insert(&mut self, claim: Claim) {
        self.remove(&claim.key);
        self.by_key.insert(claim.key.clone(), self.next);
        if let Some(session) = &claim.session {
            self.by_session.insert(session.clone(), self.next);
        }
        self.claims.insert(self.next, claim);
        self.next += 1;
    }

    fn remove(&mut self, key: &str) {
        let claim = self.by_key.remove(key).and_then(|number| self.claims.remove(&number));
        if let Some(session) = claim.and_then(|claim| claim.session) {
            self.by_session.remove(&session);
        }
    }

    fn get(&self, key: &str) -> Option<&Claim> {
        self.claims.get(self.by_key.get(key)?)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Claim> {
        self.claims.get_mut(self.by_key.get(key)?)
    }

    fn of_session(&self, session: &SessionId) -> Option<&Claim> {
        self.claims.get(self.by_session.get(session)?)
    }

    /// Drops what is too old, and the oldest of what is too much.
    fn prune(&mut self, now: Timestamp) {
        while let Some((_, oldest)) = self.claims.first_key_value()
            && (self.claims.len() > MAX_CLAIMS || now.since(oldest.at) > MAX_CLAIM_AGE)
        {
            let key = oldest.key.clone();
            self.remove(&key);
        }
    }

    /// As few lines as say the same.
    fn lines(&self) -> Vec<ClaimLine> {
        let claims = self.claims.values().cloned().map(ClaimLine::Claim);
        let looked = self.looked.iter();
        let looked =
            looked.map(|(session, seq)| ClaimLine::Looked { session: session.clone(), seq: *seq });
        claims.chain(looked).collect()
    }
}

impl ClaimTable {
    /// Writes a line down, then believes it.
    fn add(&mut self, line: ClaimLine, when: DurableWhen) -> Result<(), RegisterError> {
        self.register.add_one(&line, when, || self.known.lines())?;
        self.known.take(line);
        Ok(())
    }
}

impl Claims {
    /// Reads the claims of a base directory from its state folder. Only the process that holds the
    /// lock of the base directory may do so, because it becomes their writer.
    pub(crate) fn open(folder: &Path, base: &BaseDir, now: Timestamp) -> Result<Self, FileError> {
        let (register, lines) = Register::open(folder, CLAIMS_FILE)?;
        let mut known = KnownClaims::default();
        for line in lines {
            known.take(line);
        }
        known.prune(now);
        // What was removed while it was in question is not any more.
        let gone = |session: &SessionId| !base.session_path(session).exists();
        known.looked.retain(|session, _| !gone(session));
        Ok(Self { inner: Mutex::new(ClaimTable { register, known }) })
    }

    fn lock(&self) -> MutexGuard<'_, ClaimTable> {
        // A line that was half taken is still one that was written down.
        self.inner.lock()
    }

    /// The session that was made for a key, if one was.
    pub(crate) fn made_for(
        &self,
        key: &str,
        digest: Option<&ContentDigest>,
    ) -> Result<Option<SessionId>, ClaimError> {
        let inner = self.lock();
        let Some(claim) = inner.known.get(key) else { return Ok(None) };
        if claim.digest.as_ref() != digest {
            return Err(ClaimError::Reused { key: key.to_owned() });
        }
        Ok(claim.session.clone().filter(|_| claim.made))
    }

    /// Claims a key. The claim is on the disk when this returns. Only one at a time may claim a key
    /// and make its session.
    pub(crate) fn claim(
        &self,
        key: &str,
        terms: ClaimTerms,
        now: Timestamp,
        new_id: impl FnOnce() -> SessionId,
    ) -> Result<Claimed, ClaimError> {
        let mut inner = self.lock();
        if let Some(claim) = inner.known.get(key)
            && let Some(session) = &claim.session
        {
            if claim.digest != terms.digest {
                return Err(ClaimError::Reused { key: key.to_owned() });
            }
            let session = session.clone();
            return Ok(if claim.made { Claimed::Made(session) } else { Claimed::Make(session) });
        }
        let session = new_id();
        let ClaimTerms { digest, depth, begins } = terms;
        let (key, at) = (key.to_owned(), now);
        let claim =
            Claim { key, session: Some(session.clone()), at, digest, depth, begins, made: false };
        inner.add(ClaimLine::Claim(claim), DurableWhen::Now)?;
        inner.known.prune(now);
        Ok(Claimed::Make(session))
    }

    /// Says that the session of a key was made. From here on it is never made again.
    pub(crate) fn made(&self, key: &str) -> Result<(), RegisterError> {
        self.lock().add(ClaimLine::Made { key: key.to_owned() }, DurableWhen::Now)
    }

    /// Says that an event that stands for itself was dealt with.
    pub(crate) fn close(&self, key: &str, now: Timestamp) -> Result<(), RegisterError> {
        let claim = Claim {
            key: key.to_owned(),
            session: None,
            at: now,
            digest: None,
            depth: 0,
            begins: false,
            made: true,
        };
        self.lock().add(ClaimLine::Claim(claim), DurableWhen::Now)
    }

    /// Whether there is a claim for a key, or an event of this key was dealt with.
    pub(crate) fn is_known(&self, key: &str) -> bool {
        self.lock().known.get(key).is_some()
    }

    /// The sessions of all keys that begin like this, in the order of their claims.
    pub(crate) fn sessions(&self, beginning: &str) -> Vec<SessionId> {
        let inner = self.lock();
        let claims = inner.known.claims.values();
        let meant = claims.filter(|claim| claim.made && claim.key.starts_with(beginning));
        meant.filter_map(|claim| claim.session.clone()).collect()
    }

    /// How many sessions started one another until this one.
    pub(crate) fn depth(&self, session: &SessionId) -> u32 {
        self.lock().known.of_session(session).map_or(0, |claim| claim.depth)
    }

    /// Whether a session that did not begin was made to begin by itself.
    pub(crate) fn begins(&self, session: &SessionId) -> bool {
        self.lock().known.of_session(session).is_some_and(|claim| claim.begins && claim.made)
    }

    /// Notes a session whose facts are to be looked at, from the one after this. On the disk when
    /// this returns. One that is noted stays as it is.
    pub(crate) fn follow(&self, session: &SessionId, after: u64) -> Result<(), RegisterError> {
        let mut inner = self.lock();
        if inner.known.looked.contains_key(session) {
            return Ok(());
        }
        inner.add(ClaimLine::Looked { session: session.clone(), seq: after }, DurableWhen::Now)
    }

    /// Up to which fact a session was looked at; none if there is nothing to look at.
    pub(crate) fn looked(&self, session: &SessionId) -> Option<u64> {
        self.lock().known.looked.get(session).copied()
    }

    /// Says up to which fact a session was looked at.
    pub(crate) fn look(&self, session: &SessionId, seq: u64) -> Result<(), RegisterError> {
        self.lock().add(ClaimLine::Looked { session: session.clone(), seq }, DurableWhen::Later)
    }

    /// Says that all facts of a session were looked at.
    pub(crate) fn strike(&self, session: &SessionId) -> Result<(), RegisterError> {
        self.lock().add(ClaimLine::Over { session: session.clone() }, DurableWhen::Later)
    }

    /// The sessions that may have facts which were not looked at.
    #[cfg(test)]
    pub(crate) fn followed(&self) -> Vec<SessionId> {
        self.lock().known.looked.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn open_at(&self, now: Timestamp) -> Claims {
            let state = self.0.path().join("state");
            Claims::open(&state, &BaseDir::create(self.0.path()).unwrap(), now).unwrap()
        }

        fn open(&self) -> Claims {
            self.open_at(Timestamp::from_millis(0))
        }

        fn make_session(&self, id: &SessionId) {
            let folder = self.0.path().join(".coven/sessions").join(id.as_str());
            std::fs::create_dir_all(folder).unwrap();
        }
    }

    fn id(number: u32) -> SessionId {
        SessionId::new(format!("01890a5d-ac96-774b-bcce-b302{number:08x}")).unwrap()
    }

    fn claim(claims: &Claims, key: &str, number: u32) -> Claimed {
        claims.claim(key, ClaimTerms::default(), Timestamp::from_millis(1), || id(number)).unwrap()
    }

    #[test]
    fn a_key_that_was_claimed_has_the_same_session_for_ever_and_it_is_made_once() {
        let place = Place::new();
        let claims = place.open();
        assert_eq!(claim(&claims, "a", 1), Claimed::Make(id(1)));
        assert_eq!(claim(&place.open(), "a", 2), Claimed::Make(id(1)), "it was cut short");
        claims.made("a").unwrap();
        assert_eq!(claim(&claims, "a", 3), Claimed::Made(id(1)));
        assert_eq!(claim(&place.open(), "a", 4), Claimed::Made(id(1)));
        assert_eq!(claim(&place.open(), "b", 5), Claimed::Make(id(5)));
    }

    #[test]
    fn a_key_is_for_one_request() {
        let place = Place::new();
        let claims = place.open();
        let terms = |text: &str| ClaimTerms {
            digest: Some(ContentDigest::of_bytes(text.as_bytes())),
            ..ClaimTerms::default()
        };
        let now = Timestamp::from_millis(1);
        claims.claim("a", terms("one"), now, || id(1)).unwrap();
        assert!(claims.claim("a", terms("one"), now, || id(2)).is_ok());
        let other = claims.claim("a", terms("two"), now, || id(2));
        assert!(matches!(other, Err(ClaimError::Reused { key }) if key == "a"));
    }

    #[test]
    fn claims_go_when_they_are_old_or_too_many() {
        let place = Place::new();
        let claims = place.open();
        claim(&claims, "old", 1);
        let late = Timestamp::from_millis(0).after(MAX_CLAIM_AGE + Duration::from_mins(1));
        assert_eq!(
            claim(&place.open_at(late), "old", 2),
            Claimed::Make(id(2)),
            "after 30 days a key is a new one"
        );
        let other = Place::new();
        let claims = other.open();
        for number in 0..=u32::try_from(MAX_CLAIMS).unwrap() {
            let mut inner = claims.lock();
            let claim = Claim {
                key: number.to_string(),
                session: Some(id(number)),
                at: Timestamp::from_millis(1),
                digest: None,
                depth: 0,
                begins: false,
                made: true,
            };
            inner.known.take(ClaimLine::Claim(claim));
            inner.known.prune(Timestamp::from_millis(1));
        }
        assert!(!claims.is_known("0") && claims.is_known("1"));
        assert_eq!(claims.lock().known.by_session.len(), MAX_CLAIMS);
    }

    #[test]
    fn what_was_looked_at_is_known_until_all_was() {
        let place = Place::new();
        let claims = place.open();
        for number in [1, 2, 3] {
            claims.follow(&id(number), 1).unwrap();
        }
        claims.look(&id(1), 7).unwrap();
        claims.follow(&id(1), 3).unwrap();
        assert_eq!(claims.looked(&id(1)), Some(7), "nothing is looked at again");
        claims.strike(&id(2)).unwrap();
        place.make_session(&id(1));
        place.make_session(&id(2));
        let again = place.open();
        assert_eq!(again.followed(), [id(1)], "one is over, and one was removed");
        assert_eq!(again.looked(&id(1)), Some(7));
    }

    #[test]
    fn how_deep_a_session_is_and_whether_it_begins_is_kept() {
        let place = Place::new();
        let terms = ClaimTerms { digest: None, depth: 4, begins: true };
        let claims = place.open();
        claims.claim("a", terms, Timestamp::from_millis(1), || id(1)).unwrap();
        assert!(!claims.begins(&id(1)), "it is not there yet");
        claims.made("a").unwrap();
        claims.close("event/1", Timestamp::from_millis(1)).unwrap();
        let again = place.open();
        assert_eq!((again.depth(&id(1)), again.depth(&id(2))), (4, 0));
        assert!(again.begins(&id(1)) && again.is_known("event/1"));
        assert_eq!(again.sessions("a"), [id(1)]);
    }
}
