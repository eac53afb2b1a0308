//! Which keys of git's configuration name a program, lead to one, or lead git to files that do; and
//! for each the value with which nothing runs.

/// Whether a key must be as the user had it before git may act on it.
pub(super) fn names_program(key: &str) -> bool {
    neutral(key).is_some() || is_data_that_leads_elsewhere(key) || is_about_signing(key)
}

/// The settings that make a key harmless.
pub(super) fn harmless(key: &str) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    if let Some(value) = neutral(key) {
        settings.push((key.to_owned(), value.to_owned()));
    }
    if is_about_signing(key) {
        settings.push(("commit.gpgsign".to_owned(), "false".to_owned()));
    }
    if let Some(("filter", Some(driver), _)) = parts(key) {
        // Without this, git gives up because the filter, which now does nothing, is required.
        settings.push((format!("filter.{driver}.required"), "false".to_owned()));
    }
    settings
}

/// Section, subsection and name of a key.
fn parts(key: &str) -> Option<(&str, Option<&str>, &str)> {
    let (section, rest) = key.split_once('.')?;
    Some(match rest.rsplit_once('.') {
        Some((subsection, name)) => (section, Some(subsection), name),
        None => (section, None, rest),
    })
}

fn neutral(key: &str) -> Option<&'static str> {
    let (section, subsection, name) = parts(key)?;
    Some(match (section, subsection.is_some(), name) {
        ("core", false, "hookspath" | "attributesfile") => "/dev/null",
        ("core", false, "pager") | ("pager", false, _) => "cat",
        (
            "core",
            false,
            "fsmonitor" | "sshcommand" | "editor" | "askpass" | "alternaterefscommand",
        )
        | ("sequence", false, "editor")
        | ("gpg", _, "program" | "defaultkeycommand")
        | ("remote", true, "uploadpack" | "receivepack" | "vcs")
        | ("uploadpack", false, "packobjectshook")
        | ("gc", false, "recentobjectshook")
        | ("imap", _, "tunnel")
        | ("tar", true, "command")
        | ("browser" | "man" | "difftool" | "mergetool" | "guitool", true, "cmd" | "path")
        | ("sendemail", _, "smtpserver" | "sendmailcmd" | "tocmd" | "cccmd" | "headercmd") => {
            "false"
        }
        ("diff", false, "external")
        | ("diff", true, "command" | "textconv")
        | ("interactive", false, "difffilter")
        | ("trailer" | "hook", true, "command" | "cmd") => "true",
        ("filter", true, "clean" | "smudge" | "process") | ("credential", _, "helper") => "",
        // A driver cannot be taken away; this one merges as git does where none is configured.
        ("merge", true, "driver") => "git merge-file -q --marker-size=%L %A %O %B || exit 1",
        ("core", false, "gitproxy") | ("submodule", true, "update") => "none",
        ("alias", ..) => "version",
        ("protocol", _, "allow") => "user",
        _ => return None,
    })
}

/// Whether commits are signed, and with which key. That is the user's alone to say: a signature says
/// that they made the commit, and a program that signs may fail, or ask and wait.
fn is_about_signing(key: &str) -> bool {
    let key = parts(key);
    matches!(
        key,
        Some(("commit", None, "gpgsign") | ("user", None, "signingkey") | ("gpg", None, "format"))
    )
}

/// What cannot be taken back by a later setting, because git acts on it while it reads. The settings
/// that an included file brings are in the list by themselves; a rewritten address only matters to
/// calls that use the network, of which this crate has none.
fn is_data_that_leads_elsewhere(key: &str) -> bool {
    matches!(
        parts(key),
        Some(
            ("include" | "includeif", _, "path")
                | ("url", Some(_), "insteadof" | "pushinsteadof")
                | ("core", None, "worktree" | "excludesfile")
                | ("init", None, "templatedir")
                | ("filter", Some(_), "required")
        )
    )
}

#[cfg(test)]
mod tests {
    use super::{harmless, names_program};

    #[test]
    fn keys_that_name_programs_are_known_with_and_without_subsections() {
        for key in [
            "filter.a.b.clean",
            "diff.external",
            "diff.x.textconv",
            "core.hookspath",
            "gpg.ssh.program",
            "gpg.program",
            "credential.https://x.y/.helper",
            "credential.helper",
            "alias.co",
            "includeif.gitdir:/x/.path",
        ] {
            assert!(names_program(key), "{key}");
        }
        for key in ["user.name", "core.bare", "diff.x.xfuncname", "branch.a.merge"] {
            assert!(!names_program(key), "{key}");
        }
    }

    #[test]
    fn a_filter_that_does_nothing_is_not_required_either() {
        let settings = harmless("filter.lfs.process");
        assert!(settings.contains(&("filter.lfs.required".into(), "false".into())));
    }
}
