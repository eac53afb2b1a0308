//! A repository that somebody tidies up at the worst moments: between any two calls, `git gc` puts what
//! nothing leads to into a pack, `git repack -ad` throws that pack away, and `git prune` removes what is
//! left of it.

use coven_git::{Commit, Git, Replayed};

use crate::fixture::{Fixture, hold_as, make_executable};

/// The program that stands before each git, and tidies up when that has ended.
fn tidied(fixture: &Fixture) -> Git {
    let script = format!(
        "#!/bin/sh\n\"$@\"\ncode=$?\ntidy() {{ env -i PATH=\"$PATH\" HOME='{home}' git -C '{root}' \
         \"$@\" >/dev/null 2>&1; }}\ntidy gc --quiet\ntidy repack -adq\ntidy prune --expire=now\n\
         exit $code\n",
        home = fixture.path("home").display(),
        root = fixture.root().display(),
    );
    fixture.write("tidy.sh", script);
    make_executable(&fixture.path("tidy.sh"));
    fixture.git.clone().wrapped_by([fixture.path("tidy.sh")])
}

/// A branch with two commits, and another that has gone on elsewhere.
fn two_branches(fixture: &Fixture) -> (Commit, Commit, Commit) {
    let root = fixture.root();
    let base = fixture.head();
    fixture.plain(&root, &["checkout", "-q", "-b", "topic"]);
    fixture.write("repo/one.txt", "1\n");
    fixture.commit("one");
    fixture.write("repo/folder/two.txt", "2\n");
    let tip = fixture.commit("two");
    fixture.plain(&root, &["checkout", "-q", "-b", "target", base.as_str()]);
    fixture.write("repo/other.txt", "other\n");
    let onto = fixture.commit("other");
    fixture.plain(&root, &["checkout", "-q", "main"]);
    (base, tip, onto)
}

fn is_whole(fixture: &Fixture) -> bool {
    fixture.naive(&fixture.root(), &["fsck", "--strict"]).status.success()
}

/// Naive: each call writes into the repository, and what it wrote is gone when the next one wants it.
#[test]
fn commits_that_are_landed_while_the_repository_is_tidied_up_are_there_afterwards() {
    let fixture = Fixture::new();
    let (base, tip, onto) = two_branches(&fixture);
    let (repository, git) = (fixture.repository(), tidied(&fixture));
    let land = |git: &Git| git.rebase_onto(&repository, &onto, &base, &tip, "merge");
    let naive = land(&git);
    assert!(naive.is_err(), "the attack does nothing: {naive:?}");

    let below = fixture.path("state/landings");
    let quarantine = git.quarantine(&repository, &below).unwrap();
    let Replayed::Done { tip: landed, .. } = land(quarantine.git()).unwrap() else { panic!() };
    let too_early =
        quarantine.git().update_reference(&repository, "refs/heads/x", &landed, None, "x");
    assert!(too_early.is_err(), "a reference leads to what is not there yet");
    let kept = quarantine.bring_in(&repository, &landed, &onto).unwrap();
    assert!(git.has_commit(&repository, &landed).unwrap());
    git.update_reference(&repository, "refs/heads/target", &landed, Some(&onto), "land").unwrap();
    drop((kept, quarantine));
    assert!(git.has_commit(&repository, &landed).unwrap());
    assert!(is_whole(&fixture));
    assert_eq!(fixture.plain(&fixture.root(), &["show", "target:folder/two.txt"]), "2");
    let left = |folder: &str| std::fs::read_dir(fixture.path(folder)).unwrap().flatten();
    assert_eq!(left("state/landings").count(), 0);
    let keeps = left("repo/.git/objects/pack")
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "keep"));
    assert_eq!(keeps.count(), 0, "a pack that is kept for ever");
}

/// Naive: a file `.keep` that a killed process left keeps its pack for ever.
#[test]
fn what_an_interrupted_landing_left_is_removed_by_the_next_and_nothing_else() {
    let fixture = Fixture::new();
    let (base, tip, onto) = two_branches(&fixture);
    let repository = fixture.repository();
    let below = fixture.path("state/landings");
    let landed = |quarantine: &coven_git::Quarantine| {
        let made = quarantine.git().rebase_onto(&repository, &onto, &base, &tip, "merge").unwrap();
        let Replayed::Done { tip, .. } = made else { panic!() };
        tip
    };
    let quarantine = fixture.git.quarantine(&repository, &below).unwrap();
    let first = landed(&quarantine);
    // As of a process that was killed: neither is dropped.
    std::mem::forget(quarantine.bring_in(&repository, &first, &onto).unwrap());
    std::mem::forget(quarantine);
    let packs = fixture.path("repo/.git/objects/pack");
    std::fs::write(packs.join("pack-of-a-person.keep"), "mine\n").unwrap();
    let keeps = || {
        let entries = std::fs::read_dir(&packs).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "keep")).count()
    };
    assert_eq!(keeps(), 2);
    let quarantine = fixture.git.quarantine(&repository, &below).unwrap();
    assert_eq!(keeps(), 1);
    assert_eq!(std::fs::read_dir(&below).unwrap().count(), 1);
    // The same commits again make the same pack, which is kept again.
    let again = landed(&quarantine);
    let kept = quarantine.bring_in(&repository, &again, &onto).unwrap();
    assert_eq!(keeps(), 2);
    drop(kept);
    assert_eq!(keeps(), 1);
}

/// Naive: what comes back from the mirror is thrown away again before a branch leads to it.
#[test]
fn a_commit_that_is_given_back_stays_until_a_branch_leads_to_it() {
    let fixture = Fixture::new();
    let (_, tip, _) = two_branches(&fixture);
    let repository = fixture.repository();
    let mirror = fixture.mirror();
    mirror.take_in(&repository, &tip).unwrap();
    fixture.plain(&fixture.root(), &["branch", "-q", "-D", "topic"]);
    fixture.plain(&fixture.root(), &["reflog", "expire", "--expire=now", "--all"]);
    let git = tidied(&fixture);
    git.head(&repository).unwrap();
    assert!(!fixture.git.has_commit(&repository, &tip).unwrap());
    let kept = mirror.give_back(&repository, &tip).unwrap();
    git.head(&repository).unwrap();
    git.create_branch(&repository, "topic", &tip).unwrap();
    drop(kept);
    git.head(&repository).unwrap();
    assert!(is_whole(&fixture));
    assert_eq!(fixture.plain(&fixture.root(), &["show", "topic:folder/two.txt"]), "2");
}

/// Checkpoints lie in the mirror, which nobody tidies up; what they take from the repository may move
/// into another pack while they do.
#[test]
fn a_checkpoint_is_made_and_brought_back_while_the_repository_is_tidied_up() {
    let fixture = Fixture::new();
    two_branches(&fixture);
    let (tree, _) = fixture.tree("work");
    std::fs::write(tree.join("new.txt"), "new\n").unwrap();
    let tip = fixture.commit_in(&tree, "new");
    std::fs::write(tree.join("later.txt"), "later\n").unwrap();
    let git = tidied(&fixture);
    let path = fixture.path("state/mirror");
    let mirror = coven_git::Mirror::open_or_make(&git, &path, &fixture.repository()).unwrap();
    mirror.take_in(&fixture.repository(), &tip).unwrap();
    let held = hold_as(&mirror, &tree, Some(&tip), "refs/coven/test");
    assert_eq!(mirror.changes(&tip, &held.commit).unwrap().len(), 1);
    assert!(is_whole(&fixture));
}

/// Naive: what the branches of the repository have need not be given back, also if one of them is at
/// exactly this commit, which is gone.
#[test]
fn a_commit_that_a_branch_is_at_is_given_back_though_the_branch_seems_to_have_it() {
    let fixture = Fixture::new();
    let (_, tip, _) = two_branches(&fixture);
    let (repository, root) = (fixture.repository(), fixture.root());
    let mirror = fixture.mirror();
    mirror.take_in(&repository, &tip).unwrap();
    fixture.plain(&root, &["branch", "-q", "-D", "topic"]);
    fixture.plain(&root, &["reflog", "expire", "--expire=now", "--all"]);
    fixture.plain(&root, &["gc", "-q", "--prune=now"]);
    fixture.write("repo/.git/refs/heads/topic", format!("{tip}\n"));
    assert!(!is_whole(&fixture), "the attack does nothing");
    let kept = mirror.give_back(&repository, &tip).unwrap();
    drop(kept);
    assert!(is_whole(&fixture));
    // Of what the mirror has not, nothing is said to be there.
    let unknown: Commit = "1".repeat(40).parse().unwrap();
    assert!(mirror.give_back(&repository, &unknown).is_err());
}
