//! Options and variables of the environment whose values programs execute.

/// Options by program. What stands behind one, or behind `=` in the same word, is run, or names
/// what is run.
const OPTIONS: [(&[&str], &[&str]); 13] = [
    (
        &["git"],
        &["-c", "--config-env", "--exec-path", "--exec", "-x", "--upload-pack", "--receive-pack"],
    ),
    (
        &["tar", "gtar", "bsdtar"],
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "-I",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
            "-F",
        ],
    ),
    (&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    (&["ssh", "scp", "sftp"], &["-o", "-S"]),
    (&["find"], &["-exec", "-execdir", "-ok", "-okdir"]),
    (&["sort"], &["--compress-program"]),
    (&["man"], &["-P", "--pager", "-H", "--html"]),
    (&["zip"], &["-TT", "--unzip-command"]),
    (&["less"], &["+"]),
    (&["wget"], &["--use-askpass"]),
    (&["docker", "podman"], &["--entrypoint"]),
    (&["xterm", "gnome-terminal"], &["-e", "--command"]),
    (&["split"], &["--filter"]),
];

/// Whether a value in this word is what an option of the program has executed.
pub(super) fn option(program: &str, previous: &str, current: &str) -> bool {
    let program = program.rsplit('/').next().unwrap_or(program);
    let known = OPTIONS.iter().filter(|(names, _)| names.contains(&program));
    known.flat_map(|(_, options)| *options).any(|option| {
        // `git commit -c COMMIT` is another `-c`, but no subcommand is known here: it is refused.
        let joined = current.strip_prefix(option);
        let attached = joined.is_some_and(|rest| match option.len() {
            0..=2 => true,
            _ => rest.starts_with('='),
        });
        previous == *option || attached
    })
}

/// Variables of the environment that a shell or a common program executes, or that name what it
/// loads or runs.
const VARIABLES: [&str; 46] = [
    "BASH_ENV",
    "BROWSER",
    "CVS_RSH",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "JAVA_TOOL_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "PAGER",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RSYNC_RSH",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
];

/// Whether what a variable of the environment holds is executed.
pub fn is_executed_variable(name: &str) -> bool {
    let families = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "BASH_FUNC_", "DYLD_"];
    VARIABLES.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_count_alone_and_with_their_value() {
        assert!(option("git", "-c", ""));
        assert!(option("/usr/bin/tar", "x", "--checkpoint-action=exec="));
        assert!(option("rsync", "a", "-e"));
        assert!(!option("git", "diff", ""));
        assert!(!option("tar", "x", "--checkpoint-action-other="));
        assert!(VARIABLES.is_sorted(), "sorted, so that a double is seen");
    }
}
