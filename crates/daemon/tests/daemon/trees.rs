//! Trees over the API: what changed in them, whatever agents wrote, and who may do what to them.

use coven_api::ProblemCode;
use coven_api::changes::{
    AgentCommentsQuery, ChangesQuery, FileChange, FileChangeStatus, FileChangesQuery, FileKind,
    SendReview,
};
use coven_api::device::DeviceRole;
use coven_api::tree::{
    MergeMode, MergeOutcome, MergeRequest, PruneTrees, RestoreTree, TreeState, TreesQuery,
};
use coven_api::workflow::{RunIsolation, StartWorkflow};
use coven_model::WorkflowStatus;
use coven_testkit::git::git;

use crate::support::{Daemon, Home, code};

/// Writes what agents can write: files of every kind, under names of every kind.
const WRITES: &str = r#"name: writes
description: Writes files of every kind.
steps:
  - name: write
    type: script
    command: |
      printf 'one\ntwo\r\nthree' > lines.txt
      printf 'a\000b' > binary.dat
      head -c 700000 /dev/zero | tr '\0' 'x' > large.txt
      ln -s /etc/passwd link
      chmod +x run.sh
      git mv old.txt new.txt
      rm gone.txt
      printf 'x\n' > "$(printf 'caf\351')"
      printf 'x\n' > "$(printf 'two\nlines')"
      printf 'x\n' > "$(printf 'a\342\200\256b')"
      printf 'if (\342\200\256admin) {\033[2J\n' > trick.txt
      echo secret > ignored.txt
"#;

fn repository(home: &Home) {
    let base = home.base();
    std::fs::write(home.path().join(".gitconfig"), "[user]\n\tname = Mira\n\temail = m@e\n")
        .unwrap();
    git(&base, &["init", "--quiet"]);
    for (name, text) in [
        (".gitignore", ".coven/\nignored.txt\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("old.txt", "the same before and after\n"),
        ("gone.txt", "gone\n"),
    ] {
        std::fs::write(base.join(name), text).unwrap();
    }
    git(&base, &["add", "."]);
    git(&base, &["commit", "--quiet", "-m", "first"]);
}

/// A run in a tree that is over; its id.
async fn over(daemon: &Daemon<'_>) -> String {
    let start = StartWorkflow { isolation: Some(RunIsolation::Run), ..daemon.definition(WRITES) };
    let id = daemon.start(&start).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    id
}

fn find<'a>(files: &'a [FileChange], path: &str) -> &'a FileChange {
    let found = files.iter().find(|file| file.path == path);
    found.unwrap_or_else(|| panic!("no {path:?} among {files:#?}"))
}

#[tokio::test]
async fn files_of_every_kind_and_name_are_shown_as_what_they_are() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let id = over(&daemon).await;
    let changes = daemon.client.changes(&id, "write", &ChangesQuery::default()).await.unwrap();
    assert_eq!((changes.tree.as_str(), changes.present, changes.omitted), ("@run", true, 0));
    let files = &changes.files;
    assert!(files.iter().all(|file| file.path != "ignored.txt"), "{files:#?}");
    let lines = find(files, "lines.txt");
    assert_eq!((lines.status, lines.added, lines.removed), (FileChangeStatus::Added, 3, 0));
    assert!(find(files, "binary.dat").binary);
    assert!(find(files, "large.txt").too_large);
    assert_eq!(find(files, "link").kind, FileKind::Symlink);
    let mode = find(files, "run.sh").mode.clone().unwrap();
    assert_eq!((mode.old.as_str(), mode.new.as_str()), ("100644", "100755"));
    let renamed = find(files, "new.txt");
    assert_eq!(
        (renamed.status, renamed.old.as_deref()),
        (FileChangeStatus::Renamed, Some("old.txt"))
    );
    assert_eq!(find(files, "gone.txt").status, FileChangeStatus::Deleted);
    for odd in [r#""caf\351""#, r#""two\nlines""#, r#""a\342\200\256b""#] {
        find(files, odd);
    }
    // Each is found again under the name that it has in the list.
    for file in files {
        let query = FileChangesQuery { path: file.path.clone(), against: None };
        let one = daemon.client.file_changes(&id, "@run", &query).await.unwrap();
        assert_eq!(&one.file, file);
        let has_lines = file.added + file.removed > 0 && !file.binary && !file.too_large;
        assert_eq!(!one.hunks.is_empty(), has_lines, "{one:#?}");
    }
    let file = |path: &str| FileChangesQuery { path: path.to_owned(), against: None };
    let link = daemon.client.file_changes(&id, "@run", &file("link")).await.unwrap();
    assert_eq!(link.hunks[0].lines[0].t, "/etc/passwd");
    let trick = daemon.client.file_changes(&id, "@run", &file("trick.txt")).await.unwrap();
    assert_eq!(trick.hunks[0].lines[0].t, "if (⟨U+202E⟩admin) {⟨U+001B⟩[2J");
    assert!(trick.marked && !link.marked);
    let lines = daemon.client.file_changes(&id, "@run", &file("lines.txt")).await.unwrap();
    let lines = &lines.hunks[0].lines;
    assert_eq!((lines[1].t.as_str(), lines[1].cr, lines[2].end), ("two", true, true));
    for (path, expected) in [
        ("nothing.txt", ProblemCode::FileNotChanged),
        ("../../etc/passwd", ProblemCode::BadInput),
        ("/etc/passwd", ProblemCode::BadInput),
    ] {
        let refused = daemon.client.file_changes(&id, "@run", &file(path)).await;
        assert_eq!(code(refused), expected, "{path}");
    }
    let against = |text: &str| ChangesQuery { against: Some(text.to_owned()) };
    let none = daemon.client.changes(&id, "@run", &against("checkpoint:9")).await;
    assert_eq!(code(none), ProblemCode::CheckpointNotFound);
    assert_eq!(
        code(daemon.client.changes(&id, "@run", &against("HEAD")).await),
        ProblemCode::BadInput
    );
    let since = daemon.client.changes(&id, "@run", &against("checkpoint:1")).await.unwrap();
    assert!(since.files.is_empty(), "{:#?}", since.files);
    let other = daemon.client.changes(&id, "other", &ChangesQuery::default()).await;
    assert_eq!(code(other), ProblemCode::TaskNotFound);
}

#[tokio::test]
async fn a_device_sees_changes_by_looking_and_lands_them_with_every_right_alone() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let id = over(&daemon).await;
    let look = daemon.tcp_with(daemon.token(DeviceRole::Look).await).await;
    let answer = daemon.tcp_with(daemon.token(DeviceRole::Answer).await).await;
    look.changes(&id, "@run", &ChangesQuery::default()).await.unwrap();
    let listed = look.trees(None, &TreesQuery { size: Some(true), removed: None }).await.unwrap();
    assert!(listed.trees[0].size.is_some_and(|size| size > 700_000), "{listed:#?}");
    let review =
        SendReview { summary: Some("well".to_owned()), send: true, ..SendReview::default() };
    assert_eq!(code(look.review(&id, "write", &review).await), ProblemCode::RoleMayNot);
    let merge = MergeRequest { mode: MergeMode::Squash, ..MergeRequest::default() };
    for client in [&look, &answer] {
        assert_eq!(code(client.merge(&id, &merge).await), ProblemCode::RoleMayNot);
        let dry = MergeRequest { dry_run: true, ..merge.clone() };
        assert_eq!(code(client.merge(&id, &dry).await), ProblemCode::RoleMayNot);
        let prune = PruneTrees::default();
        assert_eq!(code(client.prune_trees(&prune).await), ProblemCode::RoleMayNot);
        let restore = RestoreTree { workflow: id.clone(), task: None, checkpoint: None };
        assert_eq!(code(client.restore_tree(&restore).await), ProblemCode::RoleMayNot);
    }
    assert_eq!(git(&home.base(), &["rev-list", "--count", "HEAD"]), "1");
    let full = daemon.tcp().await;
    let landed = full.merge(&id, &merge).await.unwrap();
    assert_eq!(landed.outcome, MergeOutcome::Landed, "{landed:#?}");
    assert_eq!(git(&home.base(), &["rev-list", "--count", "HEAD"]), "2");
    let pruned = full.prune_trees(&PruneTrees::default()).await.unwrap();
    assert_eq!((pruned.removed.len(), pruned.kept.len()), (1, 0), "{pruned:#?}");
    let all = TreesQuery { removed: Some(true), size: None };
    let trees = full.trees(Some(&id), &all).await.unwrap().trees;
    assert_eq!(trees[0].state, TreeState::Removed);
    let wrong = PruneTrees { force: Some("@run".to_owned()), ..PruneTrees::default() };
    assert_eq!(code(full.prune_trees(&wrong).await), ProblemCode::BadInput);
}

/// One that writes, and one that reviews it.
const REVIEWED: &str = r#"name: reviewed
description: One agent writes, another reviews.
defaults: {isolation: run, adapter: demo, mode: headless}
steps:
  - {name: write, type: agent, permissions: all, prompt: 'write new.txt one\ntwo'}
  - name: check
    type: agent
    permissions: read-only
    expect: comments
    prompt: 'json {"summary": "Nearly.", "comments": [{"path": "new.txt", "line": 2, "text": "why two?"}]}'
"#;

#[tokio::test]
async fn what_an_agent_says_about_lines_is_told_with_its_name_and_followed() {
    let home = Home::new();
    repository(&home);
    let daemon = home.daemon().await;
    let start = StartWorkflow { isolation: Some(RunIsolation::Run), ..daemon.definition(REVIEWED) };
    let id = daemon.start(&start).await.id.to_string();
    daemon.ends(&id, WorkflowStatus::Completed).await;
    let all = AgentCommentsQuery::default();
    let found = daemon.client.agent_comments(&id, "write", &all).await.unwrap();
    assert_eq!((found.tree.as_deref(), found.comments.len()), (Some("@run"), 1));
    let changes = daemon.client.changes(&id, "write", &ChangesQuery::default()).await.unwrap();
    assert_eq!(found.head.as_deref(), Some(changes.head.as_str()), "the same files");
    let one = &found.comments[0];
    assert_eq!((one.task.as_str(), one.attempt, one.place), ("check", 1, 0));
    assert_eq!((one.path.as_str(), one.line, one.end_line), ("new.txt", 2, None));
    assert_eq!(
        (one.text.as_str(), one.lines.as_slice()),
        ("why two?", ["two".to_owned()].as_slice())
    );
    assert_eq!(found.summaries[0].text, "Nearly.");
    let trees = daemon.client.trees(Some(&id), &TreesQuery::default()).await.unwrap().trees;
    let file = std::path::Path::new(&trees[0].path).join("new.txt");
    std::fs::write(&file, "zero\none\ntwo\n").unwrap();
    let moved = daemon.client.agent_comments(&id, "@run", &all).await.unwrap();
    assert_eq!((moved.comments[0].line, moved.comments[0].outdated), (3, false));
    std::fs::write(&file, "zero\n").unwrap();
    let gone = daemon.client.agent_comments(&id, "@run", &all).await.unwrap();
    assert_eq!((gone.comments[0].line, gone.comments[0].outdated), (2, true));
    let from = |from: &str| AgentCommentsQuery { from: Some(from.to_owned()) };
    let named = daemon.client.agent_comments(&id, "write", &from("check")).await.unwrap();
    assert_eq!(named.comments.len(), 1);
    let nobody = daemon.client.agent_comments(&id, "write", &from("write")).await;
    assert_eq!(code(nobody), ProblemCode::BadInput);
    let no_task = daemon.client.agent_comments(&id, "none", &all).await;
    assert_eq!(code(no_task), ProblemCode::TaskNotFound);
}
