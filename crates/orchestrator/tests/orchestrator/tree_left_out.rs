//! What checkpoints leave out of a tree: ignored files, submodules and repositories inside. Nothing of
//! it is lost with the tree without a word.

use std::path::{Path, PathBuf};

use coven_model::{SessionId, TreeId, WorkflowStatus};
use coven_orchestrator::{
    ChangesAgainst, MergeMode, MergeRequest, Orchestrator, PruneRequest, PrunedTree,
    RestoreRequest, RestoredTree, TreeFileKind,
};
use coven_testkit::git::git;

use crate::support::{Base, end};

/// A run in a tree that is over, in a repository with many things that git ignores.
struct Run {
    base: Base,
    orchestrator: Orchestrator,
    id: SessionId,
    tree: PathBuf,
}

fn repository(base: &Base) {
    git(base.path(), &["init", "--quiet"]);
    git(base.path(), &["config", "user.name", "Mira"]);
    git(base.path(), &["config", "user.email", "mira@example.invalid"]);
    let ignored = ".coven/\ndemo-state/\n*.log\nnode_modules/\ntarget/\ncache/\ndata/\n.env\n";
    std::fs::write(base.path().join(".gitignore"), ignored).unwrap();
    std::fs::write(base.path().join("shared.txt"), "one\n").unwrap();
    commit(base.path());
}

fn commit(folder: &Path) -> String {
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "-m", "more"]);
    git(folder, &["rev-parse", "HEAD"])
}

impl Run {
    /// One that wrote a file, and was merged.
    async fn merged() -> Self {
        let base = Base::new();
        repository(&base);
        let run = Self::over(base).await;
        run.merge().await;
        run
    }

    async fn over(base: Base) -> Self {
        let orchestrator = Orchestrator::open(base.options()).await.unwrap();
        let text = "name: one\ndescription: One.\nsteps:\n  - name: work\n    type: agent\n    \
                    isolation: run\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
                    prompt: write new.txt hello\n";
        let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        let tree = orchestrator.all_trees(false).await.remove(0).path;
        Self { base, orchestrator, id, tree }
    }

    async fn merge(&self) {
        let request = MergeRequest {
            tree: TreeId::Run,
            into: None,
            mode: MergeMode::Merge,
            message: None,
            dry_run: false,
            by: "mira".to_owned(),
        };
        self.orchestrator.merge(&self.id, request).await.unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.tree.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    async fn prune(&self, force: bool) -> PrunedTree {
        let force = force.then(|| (self.id.clone(), TreeId::Run)).into_iter().collect();
        let request = PruneRequest { force, ..PruneRequest::default() };
        self.orchestrator.prune_trees(request).await.unwrap().remove(0)
    }

    async fn restore(&self) -> RestoredTree {
        let request = RestoreRequest { tree: TreeId::Run, checkpoint: None, by: "mira".to_owned() };
        self.orchestrator.restore_tree(&self.id, request).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ignored_file_that_an_agent_wrote_comes_back_with_its_tree() {
    let run = Run::merged().await;
    run.write("notes.log", "found it\n");
    run.write("data/deep/result.csv", "1,2\n");
    let pruned = run.prune(false).await;
    assert_eq!((&pruned.kept, &pruned.notes), (&None, &Vec::new()));
    assert!(!run.tree.exists());
    let back = run.restore().await;
    let read = |name: &str| std::fs::read_to_string(back.path.join(name)).unwrap();
    assert_eq!(
        (read("notes.log").as_str(), read("data/deep/result.csv").as_str()),
        ("found it\n", "1,2\n")
    );
    assert!(back.failed.is_empty(), "{:?}", back.failed);
    let changes = run.orchestrator.session_trees(&run.id).await.unwrap();
    let changes = changes.changes(&TreeId::Run, ChangesAgainst::Base).await.unwrap();
    assert_eq!(changes.files.len(), 1, "ignored files are no change: {:#?}", changes.files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_built_goes_with_the_tree_and_is_named() {
    let run = Run::merged().await;
    for number in 0..3_000 {
        run.write(&format!("node_modules/{}/{number}.js", number % 50), "x");
    }
    run.write("target/debug/program", "x");
    let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# made again\n";
    run.write("cache/CACHEDIR.TAG", tag);
    run.write("cache/much", &"x".repeat(1 << 20));
    let dry = PruneRequest { dry_run: true, ..PruneRequest::default() };
    let dry = run.orchestrator.prune_trees(dry).await.unwrap().remove(0);
    let pruned = run.prune(false).await;
    assert_eq!(pruned.kept, None);
    assert_eq!(pruned.notes, ["not kept: cache, node_modules, target (can be made again)"]);
    assert_eq!(dry, pruned, "a dry run says the same");
    assert!(!run.restore().await.path.join("node_modules").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_with_too_much_that_is_ignored_stays_until_somebody_says_so_by_name() {
    let run = Run::merged().await;
    run.write("notes.log", "found it\n");
    for number in 0..2_001 {
        run.write(&format!("data/{number}"), "x");
    }
    let why = run.prune(false).await.kept.unwrap();
    assert!(why.contains("git ignores data") && why.contains("2000 files or 64 MiB"), "{why}");
    assert!(run.tree.join("data/7").exists());
    let pruned = run.prune(true).await;
    assert_eq!(pruned.kept, None);
    assert_eq!(pruned.notes, ["not kept: data (ignored, and more than 2000 files or 64 MiB)"]);
    let back = run.restore().await;
    assert!(back.path.join("notes.log").exists() && !back.path.join("data").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_tree_was_made_with_is_kept_only_where_it_was_changed() {
    let base = Base::new();
    repository(&base);
    std::fs::write(base.path().join(".worktreeinclude"), ".env\n*.log\n").unwrap();
    commit(base.path());
    std::fs::write(base.path().join(".env"), "SECRET=1\n").unwrap();
    std::fs::write(base.path().join("old.log"), "old\n").unwrap();
    let run = Run::over(base).await;
    run.merge().await;
    assert!(run.tree.join(".env").exists());
    run.write("old.log", "new\n");
    assert_eq!(run.prune(false).await.kept, None);
    let back = run.restore().await;
    assert_eq!(std::fs::read_to_string(back.path.join("old.log")).unwrap(), "new\n");
    assert!(!back.path.join(".env").exists(), "nobody changed it, and the checkout has it");
    assert!(run.base.path().join(".env").exists());
}

/// A base with a submodule `sub`, not checked out in new trees.
fn with_submodule() -> (Base, tempfile::TempDir) {
    let (base, other) = (Base::new(), tempfile::tempdir().unwrap());
    git(other.path(), &["init", "--quiet"]);
    std::fs::write(other.path().join("lib.txt"), "lib\n").unwrap();
    commit(other.path());
    repository(&base);
    let from = other.path().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"];
    git(base.path(), &add);
    commit(base.path());
    (base, other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_the_folder_of_a_submodule_that_is_not_checked_out_are_kept() {
    let (base, _other) = with_submodule();
    let run = Run::over(base).await;
    run.merge().await;
    run.write("sub/notes.txt", "found it\n");
    let why = run.prune(false).await.kept.unwrap();
    assert!(why.contains("sub/notes.txt"), "{why}");
    assert_eq!(run.prune(true).await.kept, None);
    let back = run.restore().await;
    let notes = std::fs::read_to_string(back.path.join("sub/notes.txt")).unwrap();
    assert_eq!(notes, "found it\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_in_a_submodule_outlive_its_tree_and_its_new_commit_is_shown() {
    let (base, _other) = with_submodule();
    let run = Run::over(base).await;
    run.merge().await;
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git(&run.tree, &update);
    let sub = run.tree.join("sub");
    std::fs::write(sub.join("lib.txt"), "better\n").unwrap();
    let made = commit(&sub);
    let why = run.prune(false).await.kept.unwrap();
    assert!(why.contains("not committed: sub"), "{why}");

    // Whether or not it is staged, it is what the next commit has.
    let shown = async || {
        let trees = run.orchestrator.session_trees(&run.id).await.unwrap();
        let changes = trees.changes(&TreeId::Run, ChangesAgainst::Base).await.unwrap();
        let sub = changes.files.into_iter().find(|file| file.path == Path::new("sub"));
        sub.map(|file| file.kind)
    };
    assert_eq!(shown().await, Some(TreeFileKind::Submodule));
    git(&run.tree, &["add", "sub"]);
    assert_eq!(shown().await, Some(TreeFileKind::Submodule));
    git(&run.tree, &["commit", "--quiet", "-m", "newer library"]);
    assert_eq!(shown().await, Some(TreeFileKind::Submodule));

    let pruned = run.prune(true).await;
    assert_eq!(pruned.kept, None);
    let [note] = &pruned.notes[..] else { panic!("{:?}", pruned.notes) };
    let kept = Path::new(note.strip_prefix("the git repository of sub is kept in ").unwrap());
    assert_eq!(git(kept, &["show", &format!("{made}:lib.txt")]), "better");
    let back = run.restore().await;
    assert!(back.failed.iter().any(|(path, _)| kept.starts_with(path)), "{:?}", back.failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_an_agent_made_in_its_tree_outlives_it() {
    let run = Run::merged().await;
    run.write("data/clone/file.txt", "first\n");
    let clone = run.tree.join("data/clone");
    git(&clone, &["init", "--quiet"]);
    let made = commit(&clone);
    std::fs::write(clone.join("file.txt"), "second\n").unwrap();
    let why = run.prune(false).await.kept.unwrap();
    assert!(why.contains("the repository data/clone"), "{why}");
    let pruned = run.prune(true).await;
    let [note] = &pruned.notes[..] else { panic!("{:?}", pruned.notes) };
    let kept =
        Path::new(note.strip_prefix("the git repository of data/clone is kept in ").unwrap());
    assert_eq!(git(kept, &["show", &format!("{made}:file.txt")]), "first");
    let back = run.restore().await;
    let file = std::fs::read_to_string(back.path.join("data/clone/file.txt")).unwrap();
    assert_eq!(file, "second\n");
}

/// Naive: git is told to remove it whatever is in it, because nothing in it looked changed to us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_no_checkpoint_can_have_keeps_its_tree() {
    let run = Run::merged().await;
    // On a disk that takes upper and lower case for the same, this would be the repository.
    run.write(".GIT/notes.txt", "found it\n");
    let why = run.prune(false).await.kept.unwrap();
    assert!(why.contains(".GIT cannot be kept in a checkpoint"), "{why}");
    assert!(run.tree.join(".GIT/notes.txt").exists());
    let pruned = run.prune(true).await;
    assert_eq!(
        (pruned.kept, pruned.notes),
        (None, vec![".GIT cannot be kept in a checkpoint".to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submodules_that_nobody_touched_keep_no_tree() {
    let (base, _other) = with_submodule();
    let run = Run::over(base).await;
    run.merge().await;
    let pruned = run.prune(false).await;
    assert_eq!((pruned.kept, pruned.notes), (None, Vec::new()));
}
