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
fn a_tree_whose_post_checkout_hook_fails_is_ready_and_says_so() {
    let fixture = Fixture::new();
    let hook = fixture.root().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho no luck >&2\nexit 3\n").unwrap();
    make_executable(&hook);
    let (tree, added) = fixture.tree("one");
    assert_eq!(added.hook_failure.as_deref(), Some("no luck"));
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
