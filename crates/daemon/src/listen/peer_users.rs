//! Whose processes are heard over TCP: those of the daemon's own user, and those of users that
//! `proxyUsers` of the configuration names.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use coven_service::machine;
use parking_lot::Mutex;

/// How often it is logged that the same user was refused: nobody may fill our log.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// How many refused users are remembered for that.
const MAX_LOGGED_USERS: usize = 256;

/// The user behind a connection that is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdmittedUser {
    Known(u32),
    /// The system cannot tell. Such a client needs a device, like every other.
    Untold,
}

impl AdmittedUser {
    pub(super) fn id(self) -> Option<u32> {
        match self {
            Self::Known(user) => Some(user),
            Self::Untold => None,
        }
    }
}

/// Whose processes are heard over TCP.
#[derive(Debug)]
pub(crate) struct PeerUsers {
    own: u32,
    proxies: Vec<u32>,
    logged: Mutex<HashMap<Option<u32>, Instant>>,
}

impl PeerUsers {
    /// The daemon's own user and these others, each a number or a name of `/etc/passwd`. A name
    /// that is not there lets nobody in.
    pub(crate) fn new(proxies: &[String]) -> Self {
        let users = if proxies.is_empty() { Ok(String::new()) } else { read_users() };
        let users = users.unwrap_or_else(|error| {
            tracing::warn!("the names in `proxyUsers` cannot be looked up: {error}");
            String::new()
        });
        let number = |name: &String| {
            let found = user_number(&users, name);
            if found.is_none() {
                tracing::warn!("`proxyUsers` names `{name}`, and there is no such user");
            }
            found
        };
        let proxies = proxies.iter().filter_map(number).collect();
        Self { own: rustix::process::geteuid().as_raw(), proxies, logged: Mutex::default() }
    }

    /// The user behind a connection, if their processes are heard. Reads the system's table of
    /// connections.
    pub(super) fn admit(&self, peer: SocketAddr, local: SocketAddr) -> Option<AdmittedUser> {
        match machine::connected_user(peer, local) {
            Ok(Some(user)) if user == self.own || self.proxies.contains(&user) => {
                Some(AdmittedUser::Known(user))
            }
            Ok(user) => {
                self.log_refused(user, Instant::now());
                None
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Some(AdmittedUser::Untold),
            Err(error) => {
                tracing::warn!("a connection is refused: its user cannot be told: {error}");
                None
            }
        }
    }

    fn log_refused(&self, user: Option<u32>, now: Instant) {
        let mut logged = self.logged.lock();
        let is_recent = |at: &Instant| now.duration_since(*at) < LOG_INTERVAL;
        if logged.get(&user).is_some_and(is_recent) {
            return;
        }
        logged.retain(|_, at| is_recent(at));
        if logged.len() >= MAX_LOGGED_USERS {
            return;
        }
        logged.insert(user, now);
        if let Some(uid) = user {
            tracing::warn!(uid, "another user tried to connect");
        } else {
            tracing::debug!("a connection was gone before its user was known");
        }
    }
}

fn read_users() -> io::Result<String> {
    fs::read_to_string("/etc/passwd")
}

/// The number of a user: as it is, or by name from the lines of `/etc/passwd`.
fn user_number(users: &str, name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_named_by_number_or_by_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\ncaddy:x:998:997::/var/lib/caddy:/bin/false\n";
        assert_eq!(user_number(users, "caddy"), Some(998));
        assert_eq!(user_number(users, "1234"), Some(1234));
        assert_eq!(user_number(users, "cad"), None);
        assert_eq!(user_number(users, "x"), None);
    }
}
