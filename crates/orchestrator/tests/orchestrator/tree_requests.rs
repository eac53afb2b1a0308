//! What people want of trees, with real git: compared, merged, brought back, removed, reviewed.

use std::path::{Path, PathBuf};

use coven_model::event::SessionEvent;
use coven_model::{AgentState, SessionId, TaskId, TreeId, WorkflowStatus};
use coven_orchestrator::{
    ChangeStatus, ChangesAgainst, MergeMode, MergeOutcome, MergeReport, MergeRequest, Orchestrator,
    PruneRequest, RequestError, RestoreRequest, Review, ReviewComment, ReviewDelivery, ReviewSide,
    TreeFileKind, TreeLandingState, TreeRequestError, TreeState,
};
use coven_testkit::git::git;

use crate::support::{Base, end, fact, until};

/// A repository on `main` with one commit and a clean checkout.
pub(crate) fn repository(base: &Base) {
    let path = base.path();
    git(path, &["init", "--quiet"]);
    git(path, &["config", "user.name", "Mira"]);
    git(path, &["config", "user.email", "mira@example.invalid"]);
    write(base, ".gitignore", ".coven/\ndemo-state/\n");
    write(base, "shared.txt", "one\ntwo\nthree\n");
    commit(base, "first");
}

pub(crate) fn write(base: &Base, name: &str, text: &str) {
    std::fs::write(base.path().join(name), text).unwrap();
}

pub(crate) fn commit(base: &Base, message: &str) -> String {
    git(base.path(), &["add", "."]);
    git(base.path(), &["commit", "--quiet", "-m", message]);
    git(base.path(), &["rev-parse", "HEAD"])
}

/// A run that does these things in its tree and is over.
pub(crate) async fn done(base: &Base, prompt: &str) -> (Orchestrator, SessionId) {
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = begin(&orchestrator, base, prompt).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    (orchestrator, id)
}

async fn begin(orchestrator: &Orchestrator, base: &Base, prompt: &str) -> SessionId {
    let text = format!(
        "name: one\ndescription: One.\nsteps:\n  - name: work\n    type: agent\n    isolation: run\n    \
         adapter: demo\n    mode: headless\n    permissions: all\n    prompt: {prompt:?}\n"
    );
    orchestrator.execute_workflow(base.definition(&text)).await.unwrap()
}

pub(crate) fn request(mode: MergeMode) -> MergeRequest {
    MergeRequest {
        tree: TreeId::Run,
        into: None,
        mode,
        message: None,
        dry_run: false,
        by: "mira".to_owned(),
    }
}

pub(crate) async fn merge(
    orchestrator: &Orchestrator,
    id: &SessionId,
    mode: MergeMode,
) -> MergeReport {
    orchestrator.merge(id, request(mode)).await.unwrap()
}

/// How often each kind of fact is in the journal of a session.
async fn count(orchestrator: &Orchestrator, id: &SessionId, kind: &str) -> usize {
    // The end of the subscription of a session that is in memory never comes.
    orchestrator.close().await;
    let mut events = orchestrator.subscribe(id, 0).await.unwrap();
    let mut count = 0;
    while let Some(envelope) = events.next().await.unwrap() {
        if let coven_orchestrator::PublishedEvent::Fact { event, .. } = &envelope.what {
            count += usize::from(event.kind() == kind);
        }
    }
    count
}

pub(crate) fn tree_folder(base: &Base) -> PathBuf {
    let listed = git(base.path(), &["worktree", "list", "--porcelain"]);
    let mut trees = listed.lines().filter_map(|line| line.strip_prefix("worktree "));
    PathBuf::from(trees.next_back().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_differs_in_a_tree_is_shown_also_when_its_run_is_over_and_it_is_gone() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) =
        done(&base, "write new.txt hello; write shared.txt one; write ./tool.sh x").await;
    let tree = tree_folder(&base);
    // A person works on in it, with everything that is hard to show.
    std::fs::write(tree.join("hidden.rs"), "let a = \"\u{202e}evil\";\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
    std::fs::write(tree.join("long.txt"), "line\n".repeat(200_000)).unwrap();
    std::fs::write(tree.join("zero.bin"), b"a\0b").unwrap();

    let base_changes = |against| {
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        async move {
            orchestrator
                .session_trees(&id)
                .await
                .unwrap()
                .changes(&TreeId::Run, against)
                .await
                .unwrap()
        }
    };
    let changes = base_changes(ChangesAgainst::Base).await;
    assert!(changes.present && changes.target.as_deref() == Some("main"));
    let seen: Vec<(&str, ChangeStatus)> =
        changes.files.iter().map(|file| (file.path.to_str().unwrap(), file.status)).collect();
    let added = |name| (name, ChangeStatus::Added);
    let wanted = [
        added("hidden.rs"),
        added("link"),
        added("long.txt"),
        added("new.txt"),
        ("shared.txt", ChangeStatus::Modified),
        added("tool.sh"),
        added("zero.bin"),
    ];
    assert_eq!(seen, wanted);
    let file = |name: &str| changes.files.iter().find(|file| file.path == Path::new(name)).unwrap();
    assert_eq!(file("link").kind, TreeFileKind::Symlink);
    assert!(file("long.txt").too_large && file("zero.bin").binary);
    // One checkpoint later there is only what came after it.
    let later = base_changes(ChangesAgainst::Checkpoint(1)).await;
    assert_eq!(later.files.len(), 4, "{:#?}", later.files);
    let unknown = orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .changes(&TreeId::Run, ChangesAgainst::Checkpoint(99))
        .await;
    assert!(matches!(unknown, Err(TreeRequestError::NoCheckpoint { number: 99, .. })));

    let lines = |name: &'static str| {
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        let against = ChangesAgainst::Base;
        async move {
            orchestrator
                .session_trees(&id)
                .await
                .unwrap()
                .file_changes(&TreeId::Run, against, Path::new(name))
                .await
        }
    };
    let shown = lines("shared.txt").await.unwrap();
    let texts: Vec<&str> = shown.hunks[0].lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
    assert!(lines("hidden.rs").await.unwrap().hunks[0].lines[0].bidirectional);
    assert_eq!(lines("link").await.unwrap().hunks[0].lines[0].text, "/etc/passwd");
    assert!(lines("long.txt").await.unwrap().hunks.is_empty());
    assert!(matches!(lines("none").await, Err(TreeRequestError::NotChanged(_))));
    let patch = orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .patch(&TreeId::Run, ChangesAgainst::Base)
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&patch).contains("+++ b/new.txt"));

    // What is on the target already is no change against it.
    assert_eq!(base_changes(ChangesAgainst::Target).await.files.len(), 7);
    git(base.path(), &["merge", "--quiet", "--ff-only", &changes.branch]);
    assert_eq!(base_changes(ChangesAgainst::Target).await.files.len(), 4);

    let task = orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .of_task(&TaskId::new("work").unwrap())
        .unwrap();
    assert_eq!(task, TreeId::Run);
    let by_name =
        orchestrator.session_trees(&id).await.unwrap().of_task(&TaskId::new("none").unwrap());
    assert!(matches!(by_name, Err(TreeRequestError::Request(RequestError::NoTask { .. }))));

    let force = vec![(id.clone(), TreeId::Run)];
    let request = PruneRequest { force, ..PruneRequest::default() };
    let pruned = orchestrator.prune_trees(request).await.unwrap();
    assert_eq!((pruned.len(), &pruned[0].kept), (1, &None));
    assert!(!tree.exists());
    let gone = base_changes(ChangesAgainst::Base).await;
    assert!(!gone.present);
    assert_eq!(gone.files.len(), 7, "its last checkpoint has everything");
    let entries = orchestrator.session_trees(&id).await.unwrap().list(true).await;
    assert_eq!((entries[0].state, entries[0].bytes), (TreeState::Removed, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_moves_the_clean_checkout_forward_and_a_second_one_brings_what_is_new() {
    for mode in [MergeMode::Merge, MergeMode::Squash, MergeMode::Rebase] {
        let base = Base::new();
        repository(&base);
        let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
        // The target goes on, so that there is something to bring together.
        write(&base, "other.txt", "other\n");
        commit(&base, "other");
        // Ours, and no part of git: it stays.
        std::fs::write(base.path().join(".git/info/exclude"), ".env\n").unwrap();
        write(&base, ".env", "SECRET=1\n");
        let dry = MergeRequest { dry_run: true, ..request(mode) };
        let dry = orchestrator.merge(&id, dry).await.unwrap();
        let would = MergeOutcome::WouldLand { paths: vec!["new.txt".into()] };
        assert_eq!((&dry.outcome, dry.commits), (&would, 1));
        assert_eq!(dry.checkout.as_deref(), Some(base.path()));
        assert!(!base.path().join("new.txt").exists());

        let landed = merge(&orchestrator, &id, mode).await;
        assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
        assert_eq!(std::fs::read_to_string(base.path().join("new.txt")).unwrap(), "hello\n");
        assert_eq!(git(base.path(), &["status", "--porcelain"]), "");
        let merges = git(base.path(), &["rev-list", "--count", "--merges", "main"]);
        assert_eq!(merges, if mode == MergeMode::Merge { "1" } else { "0" });
        assert_eq!(merge(&orchestrator, &id, mode).await.outcome, MergeOutcome::UpToDate);
        let entry = &orchestrator.session_trees(&id).await.unwrap().list(true).await[0];
        let TreeLandingState::Landed { onto, newer: false, .. } = &entry.landing else { panic!() };
        assert_eq!(onto, "main");
        assert!(entry.bytes.unwrap() > 0);

        // Both go on in lines that both have.
        write(&base, "new.txt", "hello\nand more on main\n");
        commit(&base, "changed what was merged");
        let tree = tree_folder(&base);
        std::fs::write(tree.join("later.txt"), "later\n").unwrap();
        let landed = merge(&orchestrator, &id, mode).await;
        let MergeOutcome::Landed { paths, .. } = &landed.outcome else { panic!("{landed:#?}") };
        assert_eq!(paths, &[PathBuf::from("later.txt")], "{mode:?}: what is new alone");
        assert_eq!(landed.uncommitted, Vec::<PathBuf>::new(), "it was committed first");
        let author = git(base.path(), &["log", "-1", "--format=%an", "--", "later.txt"]);
        assert_eq!(author, "Mira");
        let text = std::fs::read_to_string(base.path().join("new.txt")).unwrap();
        assert_eq!(text, "hello\nand more on main\n");
        let env = std::fs::read_to_string(base.path().join(".env")).unwrap();
        assert_eq!(env, "SECRET=1\n");
        git(base.path(), &["fsck", "--strict"]);
        assert_eq!(count(&orchestrator, &id, "tree.landed").await, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkout_with_changes_is_never_written_to() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) =
        done(&base, "write shared.txt theirs; write new.txt x; write .env x").await;
    let outcome = |dry_run| {
        let (orchestrator, id) = (orchestrator.clone(), id.clone());
        let request = MergeRequest { dry_run, ..request(MergeMode::Merge) };
        async move { orchestrator.merge(&id, request).await.unwrap().outcome }
    };
    // An ignored file is in the way as well.
    std::fs::write(base.path().join(".git/info/exclude"), ".env\n").unwrap();
    write(&base, ".env", "mine");
    write(&base, "shared.txt", "in the works\n");
    write(&base, "new.txt", "mine, and not added");
    git(base.path(), &["add", "shared.txt"]);
    let before = git(base.path(), &["--no-optional-locks", "status", "--porcelain"]);
    let dirty = MergeOutcome::DirtyCheckout {
        overlapping: [".env", "new.txt", "shared.txt"].map(PathBuf::from).to_vec(),
        changed: 1,
    };
    for dry_run in [true, false] {
        assert_eq!(outcome(dry_run).await, dirty);
    }
    assert_eq!(git(base.path(), &["--no-optional-locks", "status", "--porcelain"]), before);
    // A change elsewhere is a change too.
    git(base.path(), &["reset", "--quiet", "--hard"]);
    for name in [".env", "new.txt"] {
        std::fs::remove_file(base.path().join(name)).unwrap();
    }
    write(&base, ".gitignore", ".coven/\ndemo-state/\nmore\n");
    let elsewhere = MergeOutcome::DirtyCheckout { overlapping: Vec::new(), changed: 1 };
    assert_eq!(outcome(false).await, elsewhere);

    // A branch that is checked out nowhere is moved, and nothing else.
    git(base.path(), &["branch", "release"]);
    let request = MergeRequest { into: Some("release".to_owned()), ..request(MergeMode::Squash) };
    let landed = orchestrator.merge(&id, request).await.unwrap();
    assert!(matches!(landed.outcome, MergeOutcome::Landed { .. }), "{landed:#?}");
    assert_eq!(git(base.path(), &["show", "release:shared.txt"]), "theirs");
    assert_eq!(git(base.path(), &["rev-list", "--count", "main"]), "1");
    let none = MergeRequest { into: Some("none".to_owned()), ..self::request(MergeMode::Merge) };
    let none = orchestrator.merge(&id, none).await;
    assert!(matches!(none, Err(TreeRequestError::NoBranch(branch)) if branch == "none"));
}

/// Naive: what was landed in a tree that is gone is looked for on its branch, which is gone, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_of_a_tree_that_is_gone_says_what_is_there() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let kept = || async { orchestrator.all_trees(false).await[0].kept.clone() };
    assert!(kept().await.is_some());
    merge(&orchestrator, &id, MergeMode::Merge).await;
    assert_eq!(kept().await, None, "what it stayed for is on main");
    assert_eq!(orchestrator.prune_trees(PruneRequest::default()).await.unwrap()[0].kept, None);
    assert_eq!(merge(&orchestrator, &id, MergeMode::Merge).await.outcome, MergeOutcome::UpToDate);
    let other = MergeRequest { into: Some("other".to_owned()), ..request(MergeMode::Merge) };
    git(base.path(), &["branch", "other"]);
    let Err(TreeRequestError::NotNow(why)) = orchestrator.merge(&id, other).await else { panic!() };
    assert!(why.contains("coven trees restore") && why.ends_with("was in it"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_is_told_before_anything_is_touched() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) = done(&base, "write shared.txt theirs; say done").await;
    write(&base, "shared.txt", "ours\n");
    let head = commit(&base, "ours");
    for mode in [MergeMode::Merge, MergeMode::Squash, MergeMode::Rebase] {
        let MergeOutcome::Conflict { paths, messages } =
            merge(&orchestrator, &id, mode).await.outcome
        else {
            panic!("{mode:?}")
        };
        assert_eq!(paths, [PathBuf::from("shared.txt")]);
        assert!(messages.iter().any(|words| words.contains("shared.txt")), "{messages:?}");
    }
    assert_eq!(git(base.path(), &["rev-parse", "main"]), head);
    assert_eq!(git(base.path(), &["status", "--porcelain"]), "");
    assert_eq!(count(&orchestrator, &id, "tree.landed").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merge_into_what_has_it_already_is_written_down_and_the_tree_may_go() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let prune = || {
        let orchestrator = orchestrator.clone();
        async move { orchestrator.prune_trees(PruneRequest::default()).await.unwrap() }
    };
    let [kept] = &prune().await[..] else { panic!() };
    assert!(kept.kept.as_ref().unwrap().contains("alone"), "{kept:?}");
    let tree = tree_folder(&base);
    // By hand, as the contents of one commit: only a fact can tell.
    let entry = orchestrator.all_trees(false).await.remove(0);
    git(base.path(), &["merge", "--quiet", "--squash", &entry.branch]);
    commit(&base, "squashed by hand");
    assert!(prune().await[0].kept.is_some());
    assert_eq!(merge(&orchestrator, &id, MergeMode::Merge).await.outcome, MergeOutcome::UpToDate);

    // What is uncommitted, and who works there, keep it.
    std::fs::write(tree.join("draft.txt"), "draft").unwrap();
    let kept = prune().await.remove(0).kept.unwrap();
    assert!(kept.contains("draft.txt"), "{kept}");
    std::fs::remove_file(tree.join("draft.txt")).unwrap();
    let mut inside =
        std::process::Command::new("sleep").arg("1000").current_dir(&tree).spawn().unwrap();
    let kept = prune().await.remove(0).kept.unwrap();
    assert!(kept.contains(&inside.id().to_string()), "{kept}");
    inside.kill().unwrap();
    inside.wait().unwrap();

    let dry = PruneRequest { dry_run: true, ..PruneRequest::default() };
    assert_eq!(orchestrator.prune_trees(dry).await.unwrap()[0].kept, None);
    assert!(tree.exists());
    assert_eq!(prune().await[0].kept, None);
    assert!(!tree.exists());
    let branches = git(base.path(), &["branch", "--list", "coven/*"]);
    assert_eq!(branches, "");
    assert!(prune().await.is_empty());
    assert_eq!(count(&orchestrator, &id, "tree.removed").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_is_brought_back_in_a_tree_of_its_own() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id) = done(&base, "write new.txt hello; say done").await;
    let tree = tree_folder(&base);
    std::fs::write(tree.join("draft.txt"), "draft").unwrap();
    std::fs::remove_file(tree.join("shared.txt")).unwrap();
    let force = vec![(id.clone(), TreeId::Run)];
    let request = PruneRequest { force, ..PruneRequest::default() };
    assert_eq!(orchestrator.prune_trees(request).await.unwrap()[0].kept, None);
    assert!(!tree.exists());
    let branch = git(base.path(), &["branch", "--list", "coven/*"]);
    assert_ne!(branch, "", "its commits are nowhere else, so its branch stays");

    let request = || RestoreRequest { tree: TreeId::Run, checkpoint: None, by: "mira".to_owned() };
    let restored = orchestrator.restore_tree(&id, request()).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(restored.path.join(name)).unwrap();
    assert_eq!((read("new.txt"), read("draft.txt")), ("hello\n".to_owned(), "draft".to_owned()));
    assert!(!restored.path.join("shared.txt").exists());
    let status = git(&restored.path, &["status", "--porcelain"]);
    assert_eq!(status, " D shared.txt\n?? draft.txt", "the rest is committed on its base");
    let earlier = RestoreRequest { checkpoint: Some(1), ..request() };
    let earlier = orchestrator.restore_tree(&id, earlier).await.unwrap();
    assert_ne!(earlier.path, restored.path);
    assert!(earlier.path.join("shared.txt").exists() && !earlier.path.join("draft.txt").exists());
    let unknown = RestoreRequest { checkpoint: Some(99), ..request() };
    let unknown = orchestrator.restore_tree(&id, unknown).await;
    assert!(matches!(unknown, Err(TreeRequestError::NoCheckpoint { .. })), "{unknown:?}");

    let listed: Vec<PathBuf> = orchestrator
        .all_trees(false)
        .await
        .into_iter()
        .filter(|tree| tree.state == TreeState::Ready)
        .map(|tree| tree.path)
        .collect();
    assert_eq!(listed.len(), 2);
    let changes = orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .changes(&restored.tree, ChangesAgainst::Base)
        .await
        .unwrap();
    assert_eq!(changes.files.len(), 2, "{:#?}", changes.files);
    let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap();
    assert!(pruned.iter().all(|tree| tree.kept.is_some()), "{pruned:#?}");
    let facts = count(&orchestrator, &id, "tree.ready").await;
    assert_eq!(facts, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_reaches_the_living_agent_as_one_message() {
    let base = Base::new();
    repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    // The agent of a stage lives on after its turn.
    let text = r#"{"id": "one", "stages": [{"id": "first", "tasks": [{"id": "work",
        "adapter": "demo", "isolation": "run", "permissions": "all",
        "prompt": "write shared.txt hello; say ready"}]}]}"#;
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let task = TaskId::new("work").unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let is_idle = || {
        let agent = orchestrator.agent(&id, &task);
        agent.is_ok_and(|agent| agent.verdict().state == AgentState::Idle)
    };
    until("the end of the turn", is_idle).await;
    let comment = |line, text: &str| ReviewComment {
        path: "shared.txt".into(),
        side: ReviewSide::New,
        line,
        end_line: None,
        text: text.to_owned(),
    };
    let changes = orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .changes(&TreeId::Run, ChangesAgainst::Base)
        .await
        .unwrap();
    let review = Review {
        comments: vec![comment(1, "why hello?"), comment(1, "and not hi?")],
        summary: Some("Nearly.".to_owned()),
        against: ChangesAgainst::Base,
        head: Some(changes.to.clone()),
        dry_run: true,
        by: "mira".to_owned(),
        env: None,
        starts_no_run: false,
    };
    let dry = orchestrator.review(&id, &task, review.clone()).await.unwrap();
    assert_eq!(dry.delivery, None);
    assert!(dry.message.contains("shared.txt:1\n> "), "{}", dry.message);
    assert!(dry.message.contains("> +hello") && dry.message.contains("why hello?"));
    assert_eq!(dry.outdated, Vec::<usize>::new());
    let sent = orchestrator.review(&id, &task, Review { dry_run: false, ..review.clone() }).await;
    let sent = sent.unwrap();
    assert_eq!(sent.delivery, Some(ReviewDelivery::Message { arrived: true }));
    let comments = fact(&mut events, "the review", |event| match event {
        SessionEvent::ReviewSent { comments, .. } => Some(comments.clone()),
        _ => None,
    })
    .await;
    assert_eq!(comments.len(), 2);
    until("the end of the turn", is_idle).await;
    // What was shown is not what is there any more.
    std::fs::write(tree_folder(&base).join("shared.txt"), "hi\n").unwrap();
    let dry = orchestrator.review(&id, &task, review).await.unwrap();
    assert_eq!(dry.outdated, [0, 1]);
    assert!(dry.message.contains("> +hello"), "as it was seen: {}", dry.message);
    orchestrator.complete_task(&id, &task, "mira").await.unwrap();
    end(&orchestrator, &id).await;
    let over =
        Review { summary: Some("More.".to_owned()), by: "mira".to_owned(), ..Review::default() };
    let over = orchestrator.review(&id, &task, over).await.unwrap();
    assert!(matches!(over.delivery, Some(ReviewDelivery::Run { .. })), "{over:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_works_and_the_run_itself_are_not_overtaken() {
    let base = Base::new();
    repository(&base);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = begin(&orchestrator, &base, "write new.txt hello; hang").await;
    let task = TaskId::new("work").unwrap();
    let view = || orchestrator.controller(&id).unwrap().snapshot();
    until("the agent", || view().task(&task).is_ok_and(|task| task.is_live())).await;
    for dry_run in [true, false] {
        let wish = MergeRequest { dry_run, ..request(MergeMode::Merge) };
        let refused = orchestrator.merge(&id, wish).await;
        let Err(TreeRequestError::NotNow(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("work works in it"), "{why}");
    }
    let [kept] = &orchestrator.prune_trees(PruneRequest::default()).await.unwrap()[..] else {
        panic!()
    };
    assert!(kept.kept.as_ref().unwrap().contains("the run is"), "{kept:?}");
    orchestrator.cancel(&id, "mira", "").await.unwrap();
    end(&orchestrator, &id).await;
    // What a cancelled agent left is committed and merged when a person wants it.
    let landed = merge(&orchestrator, &id, MergeMode::Squash).await;
    assert!(matches!(landed.outcome, MergeOutcome::Landed { .. } | MergeOutcome::UpToDate));
}
