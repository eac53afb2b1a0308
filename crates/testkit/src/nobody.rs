//! What a user without rights may do, for tests about permissions: nothing is denied to root.

use rustix::process::{Gid, Uid};

/// The user and the group that own nothing.
const NOBODY: u32 = 65534;

/// Does something without root's rights: if we are root, in a thread that has become nobody. Other
/// threads keep their rights. Processes that are started in it are nobody's too.
///
/// # Panics
///
/// If root's rights cannot be given up, or as `work` does.
pub fn without_root<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    let as_nobody = || {
        let done = become_nobody();
        assert!(done.is_ok(), "root may become anyone: {done:?}");
        work()
    };
    std::thread::scope(|scope| scope.spawn(as_nobody).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The kernel keeps rights by thread and drops root's capabilities with the last of its user ids.
fn become_nobody() -> rustix::io::Result<()> {
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_is_closed_to_root_too_and_open_again_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        std::fs::write(&closed, "").unwrap();
        let none = std::os::unix::fs::PermissionsExt::from_mode(0o000);
        std::fs::set_permissions(&closed, none).unwrap();
        let denied = without_root(|| std::fs::read(&closed)).unwrap_err();
        assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
        assert_eq!(std::fs::read(&closed).is_ok(), rustix::process::geteuid().is_root());
    }
}
