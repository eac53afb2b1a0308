//! Pushing, which belongs to the person: their credentials, their hooks, their terminal for a
//! passphrase. So only the arguments are spelled here, and the caller runs git as the person would.

/// The name that people call the program by.
pub const PROGRAM: &str = "git";

/// Prints the names of the remotes of a checkout, one in a line.
pub fn remotes_arguments(checkout: &str) -> Vec<String> {
    ["-C", checkout, "remote"].map(str::to_owned).to_vec()
}

/// Adds a remote, whose address the person has to fill in.
pub fn add_remote_arguments(checkout: &str, remote: &str, address: &str) -> Vec<String> {
    ["-C", checkout, "remote", "add", remote, address].map(str::to_owned).to_vec()
}

/// Pushes a branch under its own name, and nothing else.
pub fn push_arguments(checkout: &str, remote: &str, branch: &str) -> Vec<String> {
    let refspec = format!("refs/heads/{branch}:refs/heads/{branch}");
    ["-C", checkout, "push", "--set-upstream", remote, &refspec].map(str::to_owned).to_vec()
}
