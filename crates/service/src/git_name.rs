//! The name that the user goes by in git, for the record of what people decide.

use std::time::Duration;

use coven_git::Git;

/// Longer than git takes to read a file. Nothing is known of one that takes longer.
const GIT_DEADLINE: Duration = Duration::from_secs(10);

/// The user's own name in git, whatever a repository says; none if there is none. Waits for a program.
pub fn git_user_name() -> Option<String> {
    Git::new().with_deadline(GIT_DEADLINE).user_name()
}
