//! One-time codes: how a page gets the token without its ever being in a URL.
//!
//! `coven ui` asks for a code over the socket and opens the page with it in the fragment, which
//! browsers do not send. The page exchanges it, once and within a minute, for the token.

use std::time::{Duration, Instant};

use coven_api::{ApiProblem, ProblemCode};
use parking_lot::Mutex;

use crate::secret::Secret;

/// How long a code is worth something.
const CODE_LIFETIME: Duration = Duration::from_mins(1);

/// How many codes may wait at once.
const MAX_OPEN_CODES: usize = 16;

/// How many wrong codes of all clients together are checked in a minute. After that every code is
/// refused, so that the codes cannot be guessed by trying.
const MAX_WRONG_CODES: usize = 10;

/// Codes that wait to be exchanged.
#[derive(Debug, Default)]
pub(crate) struct SignIn {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    codes: Vec<(Secret, Instant)>,
    wrong: Vec<Instant>,
}

impl SignIn {
    pub(crate) fn code(&self, now: Instant) -> Result<Secret, ApiProblem> {
        let mut state = self.state.lock();
        state.codes.retain(|(_, made)| now.duration_since(*made) < CODE_LIFETIME);
        if state.codes.len() >= MAX_OPEN_CODES {
            return Err(ApiProblem::new(ProblemCode::TooMany, "too many codes wait to be used")
                .with_hint("wait a minute, then ask again"));
        }
        let code = Secret::new().map_err(|error| {
            ApiProblem::new(ProblemCode::Internal, format!("no code can be made: {error}"))
        })?;
        state.codes.push((code.clone(), now));
        Ok(code)
    }

    /// Uses a code up.
    pub(crate) fn exchange(&self, guess: &str, now: Instant) -> Result<(), ApiProblem> {
        let mut state = self.state.lock();
        state.wrong.retain(|at| now.duration_since(*at) < CODE_LIFETIME);
        if state.wrong.len() >= MAX_WRONG_CODES {
            return Err(ApiProblem::new(ProblemCode::TooMany, "there were too many wrong codes")
                .with_hint("wait a minute, then open the page anew with `coven ui`"));
        }
        state.codes.retain(|(_, made)| now.duration_since(*made) < CODE_LIFETIME);
        // All are compared, so that the time tells nothing.
        let mut found = None;
        for (index, (code, _)) in state.codes.iter().enumerate() {
            if code.is(guess) {
                found = Some(index);
            }
        }
        if let Some(index) = found {
            state.codes.swap_remove(index);
            return Ok(());
        }
        state.wrong.push(now);
        Err(ApiProblem::new(
            ProblemCode::Unauthorized,
            "the code is wrong, was used, or is too old",
        )
        .with_hint("open the page anew with `coven ui`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_worth_something_once_and_for_a_minute() {
        let (sign_in, start) = (SignIn::default(), Instant::now());
        let code = sign_in.code(start).unwrap();
        assert!(sign_in.exchange(code.reveal(), start).is_ok());
        assert_eq!(
            sign_in.exchange(code.reveal(), start).unwrap_err().code,
            ProblemCode::Unauthorized
        );
        let old = sign_in.code(start).unwrap();
        assert!(sign_in.exchange(old.reveal(), start + CODE_LIFETIME).is_err());
    }

    #[test]
    fn guessing_is_soon_heard_no_more() {
        let (sign_in, start) = (SignIn::default(), Instant::now());
        let code = sign_in.code(start).unwrap();
        for _ in 0..MAX_WRONG_CODES {
            assert_eq!(
                sign_in.exchange("guess", start).unwrap_err().code,
                ProblemCode::Unauthorized
            );
        }
        assert_eq!(sign_in.exchange(code.reveal(), start).unwrap_err().code, ProblemCode::TooMany);
        let later = start + CODE_LIFETIME;
        let code = sign_in.code(later).unwrap();
        assert!(sign_in.exchange(code.reveal(), later).is_ok());
    }
}
