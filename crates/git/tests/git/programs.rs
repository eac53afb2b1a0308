//! Programs of the user that run in our calls, and what becomes of those that do not end.

use std::time::{Duration, Instant};

use coven_git::{CommitRequest, Error, Git};

use crate::fixture::{Fixture, make_executable};

#[test]
fn the_version_is_known() {
    assert!(Git::new().version().unwrap() >= (2, 38, 0));
}

#[test]
fn a_program_that_is_missing_is_said() {
    let result = Git::new().wrapped_by(["/nowhere/sandbox"]).version();
    assert!(matches!(result, Err(Error::Start { .. })), "{result:?}");
}

#[test]
fn a_wrapper_is_started_in_the_place_of_git() {
    assert_eq!(
        Git::new().wrapped_by(["env", "-u", "X"]).version().unwrap(),
        Git::new().version().unwrap()
    );
}

#[test]
fn a_post_checkout_hook_that_fails_leaves_the_tree_as_it_is() {
    let fixture = Fixture::new();
    let hook = fixture.root().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho no luck >&2\nexit 3\n").unwrap();
    make_executable(&hook);
    let (tree, added) = fixture.tree("one");
    let inside = fixture.repository().in_worktree(&tree, &added.git_dir);
    let hook = fixture.git.checkout_hook(&inside, &fixture.head(), &fixture.allowed()).unwrap();
    let Err(Error::Failed { words, .. }) = fixture.git.run(&hook.command.unwrap()) else {
        panic!("the hook fails")
    };
    assert_eq!(words, "no luck");
    assert!(tree.join("a.txt").exists());
    assert!(fixture.tree("one").1.existed);
}

/// Naive: `std::process::Command::output` waits for ever.
#[test]
fn a_hook_that_hangs_is_ended_with_its_children() {
    let fixture = Fixture::new();
    let hook = fixture.root().join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let started = fixture.path("started");
    let fifo = fixture.path("fifo");
    // The child holds the pipe open for as long as it lives.
    let script = format!(
        "#!/bin/sh\nmkfifo '{fifo}'\n(trap '' TERM; exec 3<>'{fifo}'; touch '{started}'; \
         read line <&3) &\ntrap '' TERM\nwait\nwait\n",
        fifo = fifo.display(),
        started = started.display()
    );
    std::fs::write(&hook, script).unwrap();
    make_executable(&hook);
    let allowed = fixture.allowed();
    let (tree, added) = fixture.tree("one");
    std::fs::write(tree.join("b.txt"), "b").unwrap();
    let inside = fixture.repository().in_worktree(&tree, &added.git_dir);
    let message_file = fixture.path("message");
    std::fs::write(&message_file, "text").unwrap();
    let request =
        CommitRequest { tree: &inside, message_file: &message_file, author: None, unsigned: true };
    let commands = fixture.git.commit_commands(&request, &allowed).unwrap();
    fixture.git.run(&commands.add).unwrap();
    let hasty = fixture.git.clone().with_deadline(Duration::from_secs(2));
    let result = hasty.run(&commands.commit);
    assert!(matches!(result, Err(Error::Deadline { .. })), "{result:?}");
    assert!(started.exists(), "the hook ran");
    // Opening the writing end of a pipe that nobody reads fails at once.
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    let deadline = Instant::now() + Duration::from_secs(10);
    while rustix::fs::open(&fifo, flags, rustix::fs::Mode::empty()).is_ok() {
        assert!(Instant::now() < deadline, "a child of the hook is alive");
        std::thread::yield_now();
    }
}

/// Naive: a signing program that the repository names is one that nobody allowed, so it does nothing
/// and the commit fails; and one that the user has signs what somebody else wanted signed.
#[test]
fn only_the_user_says_whether_commits_are_signed() {
    let fixture = Fixture::new();
    let signer = fixture.path("signer.sh");
    let ran = fixture.path("ran");
    let script = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", ran.display());
    std::fs::write(&signer, script).unwrap();
    make_executable(&signer);
    let program = signer.to_str().unwrap();
    // Of the user, who signs with it by hand.
    fixture.plain(&fixture.root(), &["config", "--global", "gpg.program", program]);
    let allowed = fixture.allowed();
    let (tree, added) = fixture.tree("one");
    std::fs::write(tree.join("b.txt"), "b").unwrap();
    // Of an agent, who can write there.
    fixture.plain(&tree, &["config", "commit.gpgsign", "true"]);
    fixture.plain(&tree, &["config", "user.signingkey", "ABCDEF"]);
    let inside = fixture.repository().in_worktree(&tree, &added.git_dir);
    let message_file = fixture.path("message");
    std::fs::write(&message_file, "text").unwrap();
    let request =
        CommitRequest { tree: &inside, message_file: &message_file, author: None, unsigned: false };
    let commands = fixture.git.commit_commands(&request, &allowed).unwrap();
    assert_eq!(commands.neutralised.keys, ["commit.gpgsign", "user.signingkey"]);
    fixture.git.run(&commands.add).unwrap();
    fixture.git.run(&commands.commit).unwrap();
    assert!(!ran.exists(), "nothing was signed");
    assert_eq!(fixture.plain(&tree, &["status", "--porcelain"]), "");

    // What the user had configured when the tree was made holds.
    std::fs::write(tree.join("c.txt"), "c").unwrap();
    let commands = fixture.git.commit_commands(&request, &fixture.allowed()).unwrap();
    fixture.git.run(&commands.add).unwrap();
    assert!(fixture.git.run(&commands.commit).is_err());
    assert!(ran.exists(), "the program of the user signs");
}
