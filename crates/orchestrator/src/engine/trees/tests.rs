//! Landing and heads of trees, on real repositories.

use std::collections::BTreeMap;
use std::path::Path;

use coven_git::{ExecutableConfig, Git};
use coven_model::{RepositoryRecord, TaskId, TreeId};
use coven_testkit::git::git;
use coven_workflow::input::TreeReport;
use coven_workflow::state::{LandingPhase, TreePhase, TreeRun};

use super::TreePlace;
use super::land::Landing;
use crate::trees::{MergeMode, MergeOutcome, MergeRequest};

/// A repository, and two trees of a run in it: that of the run, and that of a task.
struct TwoTrees {
    folder: tempfile::TempDir,
    run: TreePlace,
    task: TreePlace,
}

impl TwoTrees {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir(&root).unwrap();
        git(&root, &["init", "--quiet"]);
        git(&root, &["config", "user.name", "Mira"]);
        git(&root, &["config", "user.email", "mira@example.invalid"]);
        std::fs::write(root.join("list.txt"), "one\n").unwrap();
        git(&root, &["add", "."]);
        git(&root, &["commit", "--quiet", "-m", "first"]);
        let task = TreeId::Task(TaskId::new("build").unwrap());
        let run = place(&root, TreeId::Run, "coven/otter");
        let task = place(&root, task, "coven/otter.build");
        for place in [&run, &task] {
            place.begin().unwrap();
            place.git.finish_worktree(&place.repository, &place.path()).unwrap();
        }
        Self { folder, run, task }
    }

    fn land(&self) -> TreeReport {
        match self.task.land(&self.run).unwrap() {
            Landing::Done(report) => report,
            Landing::Filtered { .. } => panic!("there is no filter"),
        }
    }
}

fn place(root: &Path, id: TreeId, branch: &str) -> TreePlace {
    let state_dir = root.with_file_name("state");
    let git = Git::new();
    let found = git.discover(root).unwrap().unwrap();
    let path = root.with_file_name(format!("trees/{}", branch.replace('/', "-")));
    let record = RepositoryRecord {
        root: root.display().to_string(),
        git_dir: found.repository.git_dir.display().to_string(),
        common_dir: found.repository.common_dir.display().to_string(),
        prefix: String::new(),
        head: found.head.to_string(),
        branch: found.branch.clone(),
        trees: root.with_file_name("trees").display().to_string(),
        branches: "coven/otter".to_owned(),
        setup: Vec::new(),
        teardown: Vec::new(),
        setup_timeout: None,
        include: None,
        link: Vec::new(),
        ports: None,
        programs: Vec::new(),
        kept_under: None,
    };
    TreePlace {
        git,
        repository: found.repository,
        allowed: ExecutableConfig::default(),
        mirror: super::mirror_of(&state_dir, &record.common_dir),
        state_dir,
        record,
        tree: TreeRun {
            tree: id,
            base: found.head.to_string(),
            branch: branch.to_owned(),
            path: path.display().to_string(),
            restores: None,
            phase: TreePhase::Ready,
            head: found.head.to_string(),
            ports: None,
            problem: None,
            checkpoint_due: None,
            checkpoints: 0,
            changed: 0,
            uncommitted: false,
            landing: LandingPhase::Open,
            kept: None,
            resolutions: 0,
        },
        session_references: "refs/coven/otter".to_owned(),
        aliases: BTreeMap::new(),
        session: "otter".to_owned(),
        known: None,
    }
}

fn commit(place: &TreePlace, text: &str) {
    std::fs::write(place.path().join("list.txt"), text).unwrap();
    git(&place.path(), &["commit", "--quiet", "-am", "a change"]);
}

/// Naive: commits that were put on the branch of the run are put there again when nobody was told,
/// and the first of two that change one file conflicts with what both have made of it.
#[test]
fn what_was_landed_and_not_told_is_found_when_it_is_landed_again() {
    let trees = TwoTrees::new();
    // The branch of the run has gone on, so that the commits become others there.
    std::fs::write(trees.run.path().join("other.txt"), "other\n").unwrap();
    git(&trees.run.path(), &["add", "."]);
    git(&trees.run.path(), &["commit", "--quiet", "-m", "another"]);
    commit(&trees.task, "two\n");
    commit(&trees.task, "three\n");
    let first = trees.land();
    assert!(matches!(first, TreeReport::Landed(_)), "{first:?}");
    let tip = git(&trees.run.path(), &["rev-parse", "HEAD"]);
    assert_eq!(trees.land(), first);
    assert_eq!(git(&trees.run.path(), &["rev-parse", "HEAD"]), tip);
    // What comes later is landed, and what another did meanwhile stays.
    commit(&trees.run, "four\n");
    assert_eq!(trees.land(), first);
    // A branch that was put back has it no more.
    git(&trees.run.path(), &["reset", "--quiet", "--hard", &trees.run.tree.base]);
    let again = trees.land();
    assert!(matches!(again, TreeReport::Landed(_)), "{again:?}");
    assert_eq!(git(&trees.run.path(), &["show", "HEAD:list.txt"]), "three");
}

/// Naive: the branch of the tree has nothing new, so that all of it counts as landed.
#[test]
fn what_an_agent_committed_on_a_branch_of_its_own_or_on_none_is_landed() {
    for head in [&["switch", "--quiet", "-c", "mine"][..], &["checkout", "--quiet", "--detach"]] {
        let trees = TwoTrees::new();
        git(&trees.task.path(), head);
        commit(&trees.task, "two\n");
        trees.task.bring_branch_to_head().unwrap();
        let branch = git(&trees.task.path(), &["symbolic-ref", "--short", "HEAD"]);
        assert_eq!(branch, "coven/otter.build");
        assert_eq!(git(&trees.task.path(), &["status", "--porcelain"]), "");
        trees.land();
        assert_eq!(git(&trees.run.path(), &["show", "HEAD:list.txt"]), "two");
    }
}

#[test]
fn a_head_that_does_not_go_on_from_the_branch_of_the_tree_is_told() {
    let trees = TwoTrees::new();
    commit(&trees.task, "two\n");
    git(&trees.task.path(), &["checkout", "--quiet", "-b", "mine", &trees.task.tree.base]);
    commit(&trees.task, "other\n");
    let refused = trees.task.bring_branch_to_head().unwrap_err();
    assert!(
        refused.0.contains("does not go on from its branch `coven/otter.build`"),
        "{}",
        refused.0
    );
    assert!(trees.folder.path().join("trees").is_dir());
    assert_eq!(git(&trees.task.path(), &["symbolic-ref", "--short", "HEAD"]), "mine");
}

/// Naive: each call of git leaves objects to which nothing leads, and a `git gc` with a `git repack -ad`
/// between two of them takes those away.
#[test]
fn what_is_landed_and_merged_while_the_repository_is_tidied_up_is_whole() {
    use std::os::unix::fs::PermissionsExt;
    let mut trees = TwoTrees::new();
    let root = trees.task.repository.root.clone();
    std::fs::write(trees.run.path().join("other.txt"), "other\n").unwrap();
    git(&trees.run.path(), &["add", "."]);
    git(&trees.run.path(), &["commit", "--quiet", "-m", "another"]);
    commit(&trees.task, "two\n");
    commit(&trees.task, "three\n");
    let script = trees.folder.path().join("tidy.sh");
    let text = format!(
        "#!/bin/sh\n\"$@\"\ncode=$?\ntidy() {{ env -i PATH=\"$PATH\" HOME=/ git -C '{}' \"$@\" \
         >/dev/null 2>&1; }}\ntidy gc --quiet\ntidy repack -adq\ntidy prune --expire=now\nexit $code\n",
        root.display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    for place in [&mut trees.task, &mut trees.run] {
        place.git = place.git.clone().wrapped_by([&script]);
    }
    let landed = trees.land();
    assert!(matches!(landed, TreeReport::Landed(_)), "{landed:?}");
    assert_eq!(git(&trees.run.path(), &["show", "HEAD:list.txt"]), "three");
    for (mode, into) in [(MergeMode::Squash, "release"), (MergeMode::Merge, "main")] {
        if into == "release" {
            git(&root, &["branch", into]);
        }
        std::fs::write(root.join(format!("{into}.txt")), "mine\n").unwrap();
        git(&root, &["checkout", "--quiet", into]);
        git(&root, &["add", "."]);
        git(&root, &["commit", "--quiet", "-m", into]);
        git(&root, &["checkout", "--quiet", "main"]);
        let request = MergeRequest {
            tree: TreeId::Run,
            into: Some(into.to_owned()),
            mode,
            message: None,
            dry_run: false,
            by: "mira".to_owned(),
        };
        let (report, _) = trees.run.merge(&request, into).unwrap();
        assert!(matches!(report.outcome, MergeOutcome::Landed { .. }), "{report:#?}");
        assert_eq!(git(&root, &["show", &format!("{into}:list.txt")]), "three");
    }
    git(&root, &["fsck", "--strict"]);
}

/// Naive: several calls of git for each tree of a list.
#[test]
fn whether_a_tree_is_landed_follows_from_what_was_asked_for_all_trees() {
    let mut trees = TwoTrees::new();
    commit(&trees.run, "zero\n");
    commit(&trees.task, "zero\n");
    std::fs::write(trees.task.path().join("new.txt"), "new\n").unwrap();
    git(&trees.task.path(), &["add", "."]);
    git(&trees.task.path(), &["commit", "--quiet", "-m", "new"]);
    let TreeReport::Landed(landed) = trees.land() else { panic!("it did not land") };
    trees.task.tree.landing = LandingPhase::Landed {
        onto: landed.onto.clone(),
        commit: landed.commit.clone(),
        tip: landed.tip.clone(),
    };
    let branches = ["coven/otter", "coven/otter.build"].map(str::to_owned).into();
    let bases = [trees.task.base().unwrap()].into();
    let (place, without_git) = (&trees.task, trees.folder.path().join("no-git"));
    let history = place.git.branch_history(&place.repository, &branches, &bases).unwrap();
    let known = Some(std::sync::Arc::new(history));
    let place = TreePlace { known, git: Git::new().wrapped_by([without_git]), ..place.clone() };
    assert!(place.is_landed().unwrap());
    assert_eq!(place.known_tip("coven/otter").unwrap().unwrap().to_string(), landed.commit);
}
