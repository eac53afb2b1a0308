//! Repositories whose objects are not where or what they usually are, and what is ignored where.

use coven_git::mirror::{CheckpointRequest, RestoreRequest};
use coven_git::{Error, Git, Identity, Mirror, Replayed};

use crate::fixture::{Fixture, hold};

#[test]
fn a_repository_of_another_user_is_refused_with_gits_words() {
    let fixture = Fixture::new();
    let git = fixture.git.clone().with_variable("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let found = git.discover(&fixture.root());
    let Err(Error::UnsafeOwner { words }) = found else { panic!("{found:?}") };
    assert!(words.contains("safe.directory"), "{words}");
}

/// Makes a tree in a repository, changes it and brings it back.
fn round_trip(fixture: &Fixture, git: &Git, root: &std::path::Path) {
    let found = git.discover(root).unwrap().unwrap();
    let tree = fixture.path("tree/one");
    git.add_worktree(&found.repository, &tree, "coven/one", &found.head).unwrap();
    let mirror = Mirror::open_or_make(git, &fixture.path("state/m"), &found.repository).unwrap();
    mirror.take_in(&found.repository, &found.head).unwrap();
    let baseline = hold(&mirror, &tree, &found.head);
    assert_eq!(baseline.files_changed, 0);
    std::fs::write(tree.join("b.txt"), "b").unwrap();
    let held = hold(&mirror, &tree, &baseline.commit);
    // Whatever happens to the repository.
    std::fs::remove_dir_all(root).unwrap();
    let into = fixture.path("back");
    std::fs::create_dir(&into).unwrap();
    let request =
        RestoreRequest { checkpoint: &held.commit, into: &into, only: None, overwrite: false };
    assert_eq!(mirror.restore(&request).unwrap().written.len(), 2);
}

#[test]
fn a_shallow_repository_works() {
    let fixture = Fixture::new();
    fixture.write("repo/a.txt", "second");
    fixture.commit("second");
    let url = format!("file://{}", fixture.root().display());
    fixture.plain(&fixture.path(""), &["clone", "-q", "--depth=1", &url, "shallow"]);
    assert!(fixture.git.discover(&fixture.path("shallow")).unwrap().unwrap().shallow);
    round_trip(&fixture, &fixture.git, &fixture.path("shallow"));
}

#[test]
fn a_repository_that_borrows_its_objects_is_mirrored_all_the_same() {
    let fixture = Fixture::new();
    fixture.plain(&fixture.path(""), &["clone", "-q", "--shared", "repo", "borrower"]);
    let packs = fixture.path("borrower/.git/objects");
    assert!(packs.join("info/alternates").exists(), "the objects are elsewhere");
    round_trip(&fixture, &fixture.git, &fixture.path("borrower"));
}

#[test]
fn a_repository_with_long_ids_works() {
    let fixture = Fixture::empty();
    fixture.plain(&fixture.root(), &["init", "-q", "-b", "main", "--object-format=sha256"]);
    fixture.write("repo/a.txt", "a");
    assert_eq!(fixture.commit("first").as_str().len(), 64);
    round_trip(&fixture, &fixture.git, &fixture.root());
}

#[test]
fn a_packed_repository_works() {
    let fixture = Fixture::new();
    fixture.plain(&fixture.root(), &["gc", "-q"]);
    round_trip(&fixture, &fixture.git, &fixture.root());
}

/// Naive: with the repository's own `core.excludesFile`, whoever can write its configuration hides
/// every file from a checkpoint.
#[test]
fn the_user_says_what_is_ignored_and_the_repository_does_not() {
    let fixture = Fixture::new();
    fixture.write("home/ignore", "*.user\n");
    let ignore = fixture.path("home/ignore");
    fixture.plain(
        &fixture.root(),
        &["config", "--global", "core.excludesFile", ignore.to_str().unwrap()],
    );
    let (tree, _) = fixture.tree("one");
    fixture.write("everything", "*\n");
    let everything = fixture.path("everything");
    fixture.plain(&fixture.root(), &["config", "core.excludesFile", everything.to_str().unwrap()]);
    std::fs::write(tree.join("x.user"), "x").unwrap();
    std::fs::write(tree.join("x.work"), "x").unwrap();
    assert_eq!(fixture.plain(&tree, &["status", "--porcelain"]), "", "the attack itself must work");
    let mirror = fixture.mirror();
    let held = hold(&mirror, &tree, &fixture.head());
    let changes = mirror.changes(&fixture.head(), &held.commit).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].path.to_str(), Some("x.work"));
}

#[test]
fn a_file_that_only_the_branch_tracks_is_held_though_it_is_ignored() {
    let fixture = Fixture::new();
    fixture.write("repo/.gitignore", "*.o\n");
    let base = fixture.commit("ignore");
    let (tree, _) = fixture.tree("one");
    let mirror = fixture.mirror();
    std::fs::write(tree.join("forced.o"), "1").unwrap();
    fixture.plain(&tree, &["add", "-f", "forced.o"]);
    let tip = fixture.commit_in(&tree, "forced");
    mirror.take_in(&fixture.repository(), &tip).unwrap();
    std::fs::write(tree.join("forced.o"), "2").unwrap();
    let author = Identity::new("Coven\n<x>", "coven@localhost");
    let request = CheckpointRequest {
        tree: &tree,
        parent: Some(&base),
        head: Some(&tip),
        message: "with its branch",
        trailers: &[("Coven-Task", "a\nInjected: b")],
        author: &author,
        reference: Some("refs/coven/one"),
    };
    let held = mirror.checkpoint(&request).unwrap();
    assert_eq!(held.files_changed, 1);
    assert_eq!(mirror.uncommitted(&tree, &tip, &[]).unwrap().len(), 1);
    let line = ["log", "-1", "--format=%an|%B", held.commit.as_str()];
    let text = fixture.plain(mirror.path(), &line);
    let wanted =
        format!("Coven  x|with its branch\n\nCoven-Task: a Injected: b\nCoven-Head: {tip}");
    assert_eq!(text, wanted);
    let [one] = &mirror.held("refs/coven/").unwrap()[..] else { panic!() };
    assert_eq!((one.reference.as_str(), &one.commit), ("refs/coven/one", &held.commit));
    assert_eq!((one.head.as_ref(), one.committed), (Some(&tip), false));
    assert!(one.seconds > 1_600_000_000, "{}", one.seconds);
    let names = mirror.references("refs/coven/").unwrap();
    assert_eq!(names, [("refs/coven/one".to_owned(), held.commit.clone())]);
    mirror.delete_reference("refs/coven/one", &held.commit).unwrap();
    assert!(mirror.commit_of("refs/coven/one").unwrap().is_none());
}

/// Naive: every file of a commit is in the repository, so one that is not is an error.
#[test]
fn a_partial_clone_with_a_sparse_checkout_has_trees_checkpoints_and_landings() {
    let fixture = Fixture::empty();
    let up = fixture.path("up");
    std::fs::create_dir_all(up.join("in")).unwrap();
    std::fs::create_dir_all(up.join("out")).unwrap();
    fixture.plain(&up, &["init", "-q", "-b", "main"]);
    fixture.plain(&up, &["config", "uploadpack.allowFilter", "true"]);
    std::fs::write(up.join("in/a.txt"), "one\n").unwrap();
    std::fs::write(up.join("out/b.txt"), "far\n").unwrap();
    fixture.commit_in(&up, "first");
    std::fs::write(up.join("out/b.txt"), "far away\n").unwrap();
    fixture.commit_in(&up, "second");
    let (root, from) = (fixture.root(), format!("file://{}", up.display()));
    let clone = ["clone", "-q", "--filter=blob:none", "--sparse", &from, root.to_str().unwrap()];
    fixture.plain(&fixture.path("home"), &clone);
    fixture.plain(&root, &["sparse-checkout", "set", "in"]);
    // Nothing can be fetched any more, so what is not here is nowhere.
    std::fs::rename(&up, fixture.path("gone")).unwrap();
    let found = fixture.found();
    assert!(found.sparse);

    let (repository, base) = (&found.repository, &found.head);
    let tree = fixture.path("tree/one");
    fixture.git.add_worktree(repository, &tree, "coven/one", base).unwrap();
    assert!(tree.join("in/a.txt").exists() && !tree.join("out").exists());
    let mirror = Mirror::open_or_make(&fixture.git, &fixture.path("state/m"), repository).unwrap();
    mirror.take_in(repository, base).unwrap();
    let first = hold(&mirror, &tree, base);
    std::fs::write(tree.join("in/a.txt"), "two\n").unwrap();
    std::fs::write(tree.join("in/new.txt"), "new\n").unwrap();
    let held = crate::fixture::hold_as(&mirror, &tree, Some(&first.commit), "refs/coven/2");
    assert_eq!(mirror.changes(&first.commit, &held.commit).unwrap().len(), 2);
    let tip = fixture.commit_in(&tree, "work");
    mirror.take_in(repository, &tip).unwrap();

    fixture.write("repo/in/other.txt", "other\n");
    let onto = fixture.commit("other");
    let quarantine = fixture.git.quarantine(repository, &fixture.path("state/landings")).unwrap();
    let made = quarantine.git().rebase_onto(repository, &onto, base, &tip, "merge").unwrap();
    let Replayed::Done { tip: landed, .. } = made else { panic!("{made:?}") };
    let kept = quarantine.bring_in(repository, &landed, &onto).unwrap();
    mirror.take_in(repository, &landed).unwrap();
    fixture.git.fast_forward(repository, "main", &onto, &landed).unwrap();
    drop(kept);
    assert_eq!(std::fs::read_to_string(root.join("in/new.txt")).unwrap(), "new\n");
    assert_eq!(fixture.plain(&root, &["status", "--porcelain"]), "");
    let known = mirror.as_checked_out(
        &landed,
        &coven_git::mirror::CommittedState { checkpoint: &first.commit, commit: base },
    );
    assert_eq!(mirror.changes(&first.commit, &known.unwrap()).unwrap().len(), 3);
    let _kept = mirror.give_back(repository, &tip).unwrap();
    fixture.git.remove_worktree(repository, &tree).unwrap();
}
