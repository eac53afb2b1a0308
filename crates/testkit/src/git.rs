//! git in tests: as nobody in particular, whatever the machine's own configuration says.

#![expect(clippy::unwrap_used, reason = "a test without git must fail")]

use std::path::Path;
use std::process::Command;

/// Runs git in a folder and gives what it prints, without the line feed at its end.
///
/// # Panics
/// If git cannot be run or fails.
pub fn git(folder: &Path, line: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.invalid"])
        .args(["-c", "init.defaultBranch=main"])
        .args(line)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {line:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}
