//! Repositories in which trees are easily done wrong: hooks that change what is committed, filters as
//! large-file storage has them, a base directory below the root, a tree that vanishes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_model::event::SessionEvent;
use coven_model::{InterventionKind, PortRange, SessionId, TreeId, WorkflowStatus};
use coven_orchestrator::{
    MergeMode, MergeRequest, Orchestrator, PruneRequest, TreeState, TreesConfig,
};
use coven_testkit::git::git;
use serde_json::json;

use crate::storage::disk::SmallDisk;
use crate::support::{Base, end, fact, run, until};

fn repository(root: &Path) {
    git(root, &["init", "--quiet"]);
    git(root, &["config", "user.name", "Mira"]);
    git(root, &["config", "user.email", "mira@example.invalid"]);
    write(root, ".gitignore", ".coven/\ndemo-state/\nstate/\ncache\n");
    write(root, "shared.txt", "one\n");
    commit(root);
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn commit(root: &Path) {
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "more"]);
}

fn hook(root: &Path, name: &str, text: &str) {
    let path = root.join(".git/hooks").join(name);
    write(root, &format!(".git/hooks/{name}"), &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Agents in trees of their own that do these things.
fn team(prompts: &[&str]) -> String {
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: auto\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: {prompts:?}\n    prompt: ${{item}}\n    output: results\n"
    )
}

fn branch(base: &Base, name: &str, file: &str) -> String {
    git(base.path(), &["show", &format!("coven/{name}:{file}")])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_hook_reformats_is_landed_as_the_hook_left_it() {
    let base = Base::new();
    repository(base.path());
    hook(base.path(), "pre-commit", "sed -i s/hello/HELLO/ new.txt && git add new.txt");
    let (orchestrator, _, view) = run(&base, &team(&["write new.txt hello"])).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(branch(&base, &view.name, "new.txt"), "HELLO");
    let trees = orchestrator.all_trees(false).await;
    assert_eq!(trees.len(), 2);
    assert!(trees[1].kept.is_none(), "nothing of it is left: {trees:#?}");
}

/// Naive: the last checkpoint is that of the last turn, and a hook writes over what came after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_after_the_last_turn_is_kept_before_a_hook_changes_it() {
    let base = Base::new();
    repository(base.path());
    hook(base.path(), "pre-commit", "sed -i s/edited/EDITED/ new.txt && git add new.txt");
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let text = team(&["write new.txt hello"]) + "    land: ask\n";
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let (mut asked, mut kept) = (None, false);
    let asked = fact(&mut events, "the question and the checkpoint", |event| {
        match event {
            SessionEvent::InterventionRequired { intervention, .. } => {
                asked = Some(intervention.as_ref().clone());
            }
            SessionEvent::TreeCheckpoint(_) => kept = true,
            _ => {}
        }
        asked.clone().filter(|_| kept)
    })
    .await;
    let tree = TreeId::Task("build.0".parse().unwrap());
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    let folder = &trees.iter().find(|entry| entry.tree == tree).unwrap().path;
    write(folder, "new.txt", "edited\n");
    crate::support::decide(&orchestrator, &asked, coven_model::InterventionChoice::Approve).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(branch(&base, &view.name, "new.txt"), "EDITED");
    let mirrors = std::fs::read_dir(base.path().with_file_name("state").join("trees")).unwrap();
    let mirrors = mirrors.map(|entry| entry.unwrap().path().join("mirror.git"));
    let mirror = mirrors.into_iter().find(|path| path.is_dir()).unwrap();
    let mut held = Vec::new();
    for checkpoint in orchestrator
        .session_trees(&id)
        .await
        .unwrap()
        .checkpoints(&tree)
        .await
        .unwrap()
        .iter()
        .skip(1)
    {
        held.push(git(&mirror, &["show", &format!("{}:new.txt", checkpoint.commit)]));
    }
    assert!(held.contains(&"hello".to_owned()) && held.contains(&"edited".to_owned()), "{held:?}");
}

/// Writes a file that a filter changes, and commits it.
const COMMITS_ITSELF: &str =
    "write b.big BETA; disobey git add . && git -c user.name=A -c user.email=a@b commit -qm b";

/// A repository with a filter, which its attributes may name.
fn shouting() -> Base {
    let base = Base::new();
    repository(base.path());
    git(base.path(), &["config", "filter.shout.clean", "tr A-Z a-z"]);
    git(base.path(), &["config", "filter.shout.smudge", "tr a-z A-Z"]);
    base
}

/// Naive: what a filter made of a file counts as uncommitted for ever, and a commit of it as failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_a_filter_changes_are_committed_and_landed() {
    let base = shouting();
    write(base.path(), ".gitattributes", "*.big filter=shout\n*.txt text eol=crlf\n");
    write(base.path(), "old.big", "OLD\n");
    commit(base.path());
    // The second commits by itself, so that nothing is left to commit.
    let prompts = ["write a.big ALPHA; write lines.txt one", COMMITS_ITSELF];
    let (orchestrator, id, view) = run(&base, &team(&prompts)).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(branch(&base, &view.name, "a.big"), "alpha");
    assert_eq!(branch(&base, &view.name, "b.big"), "beta");
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    let kept = left(&orchestrator, &id).await;
    assert_eq!(kept, ["@run"], "what git would check out is committed: {trees:#?}");

    // In the person's own checkout no filter is run on them; the person's own git does that.
    let refused = orchestrator.merge(&id, merge_request()).await.unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("is to change a.big, b.big") && said.contains("git merge coven/"),
        "{said}"
    );
    assert!(!base.path().join("a.big").exists());
    git(base.path(), &["merge", "-q", &format!("coven/{}", view.name)]);
    assert_eq!(std::fs::read_to_string(base.path().join("a.big")).unwrap(), "ALPHA\n");

    // The tree of the run has files that git checked out through the filter when they were landed.
    let path = trees.iter().find(|tree| tree.tree == TreeId::Run).unwrap().path.clone();
    assert_eq!(std::fs::read_to_string(path.join("b.big")).unwrap(), "BETA\n");
    let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap();
    assert_eq!(left(&orchestrator, &id).await, [""; 0], "{pruned:#?}");
}

/// Naive: all that git would clean to what is committed counts as committed, though a file was changed
/// behind its back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_beside_files_of_a_filter_keeps_a_tree() {
    let base = shouting();
    write(base.path(), ".gitattributes", "*.big filter=shout\n");
    commit(base.path());
    let (orchestrator, id, view) = run(&base, &team(&[COMMITS_ITSELF])).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    git(base.path(), &["merge", "-q", &format!("coven/{}", view.name)]);
    let tree = orchestrator.session_trees(&id).await.unwrap().list(false).await[0].path.clone();
    write(&tree, "b.big", "BETTER\n");
    // git itself is told to look away.
    git(&tree, &["update-index", "--assume-unchanged", "b.big"]);
    let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap();
    assert!(pruned.iter().all(|tree| tree.kept.is_some()), "{pruned:#?}");
    assert_eq!(std::fs::read_to_string(tree.join("b.big")).unwrap(), "BETTER\n");
}

/// To bring what the run has onto the branch that it was started from.
pub(crate) fn merge_request() -> MergeRequest {
    MergeRequest {
        tree: TreeId::Run,
        into: None,
        mode: MergeMode::Merge,
        message: None,
        dry_run: false,
        by: "mira".to_owned(),
    }
}

/// The trees that are there.
async fn left(orchestrator: &Orchestrator, id: &SessionId) -> Vec<String> {
    let trees = orchestrator.session_trees(id).await.unwrap().list(false).await.into_iter();
    trees
        .filter(|tree| tree.state == TreeState::Ready)
        .map(|tree| match tree.tree {
            TreeId::Run => "@run".to_owned(),
            TreeId::Task(task) => task.to_string(),
        })
        .collect()
}

/// Hooks see whether the repository is locked against other processes while they run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_repository_is_locked_for_other_processes_while_its_trees_and_branches_change() {
    let base = Base::new();
    repository(base.path());
    let seen = base.path().with_file_name("seen");
    let common = base.path().join(".git");
    let look = |what: &str| {
        format!(
            "command -v flock > /dev/null || {{ echo skip >> '{0}'; exit 0; }}\n\
             if flock -n '{1}' true; then echo {what} free >> '{0}'; \
             else echo {what} locked >> '{0}'; fi",
            seen.display(),
            common.display()
        )
    };
    hook(base.path(), "post-checkout", &look("made"));
    hook(base.path(), "pre-commit", &look("committed"));
    let (_, _, view) = run(&base, &team(&["write new.txt hello"])).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let seen = std::fs::read_to_string(&seen).unwrap();
    if seen.contains("skip") {
        return coven_testkit::skip::skip("there is no `flock`");
    }
    let lines: std::collections::BTreeSet<&str> = seen.lines().collect();
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["committed locked", "made locked"]);
    let free = std::fs::File::open(&common).unwrap().try_lock();
    assert!(free.is_ok(), "{free:?}");
}

/// A program that signs and asks for a passphrase: nothing answers it, and it does not wait for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_signing_asks_for_a_passphrase_is_told_and_nothing_is_landed() {
    let base = Base::new();
    repository(base.path());
    let signer = base.path().with_file_name("signer");
    let text = "#!/bin/sh\nif read -r pass < /dev/tty; then exit 0; fi\n\
                echo 'no passphrase was given' >&2; exit 2\n";
    std::fs::write(&signer, text).unwrap();
    std::fs::set_permissions(&signer, std::fs::Permissions::from_mode(0o755)).unwrap();
    git(base.path(), &["config", "commit.gpgsign", "true"]);
    git(base.path(), &["config", "gpg.program", signer.to_str().unwrap()]);
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let text = team(&["write new.txt hello"]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = crate::support::intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::TreeProblem);
    assert!(asked.reason.contains("no passphrase was given"), "{}", asked.reason);
    let tree = orchestrator.session_trees(&id).await.unwrap().list(false).await[1].path.clone();
    assert_eq!(std::fs::read_to_string(tree.join("new.txt")).unwrap(), "hello\n");
    git(base.path(), &["config", "commit.gpgsign", "false"]);
    crate::support::decide(&orchestrator, &asked, coven_model::InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(branch(&base, &view.name, "new.txt"), "hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_directory_below_the_root_is_the_same_folder_in_each_tree() {
    let base = Base::new();
    let root = base.path().parent().unwrap();
    write(root, "base/here.txt", "here\n");
    repository(root);
    let text = team(&["write new.txt hello"])
        + "  - {name: look, type: script, isolation: auto, command: 'pwd; cat here.txt new.txt', output: seen}\n";
    let (_, _, view) = run(&base, &text).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    let seen = view.variables["seen"].as_str().unwrap();
    assert!(seen.contains("@run/base\nhere\nhello"), "{seen}");
    assert_eq!(branch(&base, &view.name, "base/new.txt"), "hello");
    assert!(!base.path().join("new.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_tree_vanished_fails_and_works_nowhere_else() {
    let base = Base::new();
    repository(base.path());
    // The first step removes the folder in which the second would work.
    let text = "name: gone\ndescription: Gone.\ndefaults: {isolation: run}\nsteps:\n  \
                - {name: one, type: script, command: 'rm -rf \"$COVEN_TREE\"'}\n  \
                - {name: two, type: script, command: 'touch made.txt'}\n";
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = orchestrator.execute_workflow(base.definition(text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let reason = fact(&mut events, "the end of the second step", |event| match event {
        SessionEvent::TaskEnded(ended) if ended.job.task.as_str() == "two" => {
            Some(ended.outcome.reason.clone())
        }
        _ => None,
    })
    .await;
    assert!(reason.contains("its tree is gone"), "{reason}");
    assert!(!base.path().join("made.txt").exists());
    orchestrator.cancel(&id, "mira", "").await.ok();
    end(&orchestrator, &id).await;
}

fn config() -> TreesConfig {
    TreesConfig {
        setup: vec![
            "mkdir state".to_owned(),
            "echo \"$COVEN_PORT $COVEN_BRANCH\" > state/setup.txt".to_owned(),
        ],
        teardown: vec!["pwd > \"$COVEN_ROOT/.coven/torn-down\"".to_owned()],
        link: vec!["cache".to_owned(), "shared.txt".to_owned(), "../out".to_owned()],
        ports: Some(20),
        timeout: Some(Duration::from_mins(1)),
        ..TreesConfig::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_project_wants_in_each_tree_is_there_before_anything_works_in_it() {
    let base = Base::new();
    repository(base.path());
    write(base.path(), "cache/deep.bin", "cached");
    let mut options = base.options();
    options.trees = config();
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let text = team(&["disobey cat state/setup.txt cache/deep.bin > seen.txt", "say nothing"]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let mut ports: Vec<PortRange> = Vec::new();
    for _ in 0..3 {
        let (given, notes) = fact(&mut events, "a tree", |event| match event {
            SessionEvent::TreeReady(ready) => Some((ready.ports, ready.notes.clone())),
            _ => None,
        })
        .await;
        ports.push(given.unwrap());
        let wanted = [
            "shared.txt is not linked: there is something already",
            "../out is not linked: it is no path below the checkout",
        ];
        assert_eq!(notes, wanted);
    }
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    ports.sort_by_key(|ports| ports.first);
    assert!(ports.windows(2).all(|two| two[0].first + 20 <= two[1].first), "{ports:?}");
    let seen = branch(&base, &view.name, "seen.txt");
    let (port, rest) = seen.split_once(' ').unwrap();
    assert!(ports.iter().any(|ports| ports.first.to_string() == port), "{seen}");
    assert_eq!(rest, format!("coven/{}.build.0\ncached", view.name));
    let torn_down = std::fs::read_to_string(base.path().join(".coven/torn-down")).unwrap();
    assert!(torn_down.contains("build."), "{torn_down}");
    assert!(base.path().join("cache/deep.bin").exists(), "a link goes and not what it leads to");
    let tape = base.attempt(&id, "build.0.setup", 1).join("tape");
    assert!(tape.exists() || base.attempt(&id, "build.0.setup", 1).is_dir());
    let ledger = base.path().with_file_name("state").join("trees/ports.json");
    let ledger = std::fs::read_to_string(ledger).unwrap();
    assert_eq!(
        ledger.matches("\"tree\"").count(),
        1,
        "those of trees that went are free: {ledger}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_up_that_fails_is_told_with_its_words_and_can_be_tried_again() {
    let base = Base::new();
    repository(base.path());
    let allowed = base.path().with_file_name("allowed");
    let mut options = base.options();
    options.trees = TreesConfig {
        setup: vec![format!("test -e '{}' || {{ echo no network; exit 7; }}", allowed.display())],
        ..TreesConfig::default()
    };
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let text = team(&["write new.txt hello"]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = crate::support::intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::TreeProblem);
    assert!(asked.reason.contains("no network") && asked.reason.contains("setup"), "{asked:?}");
    std::fs::write(&allowed, "").unwrap();
    let choice = coven_model::InterventionChoice::Retry;
    crate::support::decide(&orchestrator, &asked, choice).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
}

/// Fifty trees of one repository, asked for in the same moment, with set-up and ports.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_trees_asked_for_at_once_are_fifty_trees() {
    let base = Base::new();
    repository(base.path());
    let mut options = base.options();
    options.admission = coven_orchestrator::AdmissionQueue::new(8);
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let items: Vec<u32> = (0..50).collect();
    let text = format!(
        "name: many\ndescription: Many.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: task\n    land: none\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: {items:?}\n    max_concurrent: 50\n    prompt: hang\n"
    );
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let ready = || {
        let snapshot = orchestrator.controller(&id).unwrap().snapshot();
        let run = snapshot.state().run().unwrap();
        assert!(run.trees().all(|tree| tree.problem.is_none()), "{:#?}", run.trees);
        run.trees().filter(|tree| tree.tree != TreeId::Run && tree.is_ready()).count()
    };
    until("fifty trees", || ready() == 50).await;
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    let paths: std::collections::BTreeSet<PathBuf> =
        trees.iter().map(|tree| tree.path.clone()).collect();
    let ports: std::collections::BTreeSet<u16> =
        trees.iter().map(|tree| tree.ports.unwrap().first).collect();
    assert_eq!((paths.len(), ports.len()), (51, 51));
    orchestrator.cancel(&id, "mira", "").await.unwrap();
    end(&orchestrator, &id).await;
    let pruned = orchestrator.prune_trees(PruneRequest::default()).await.unwrap();
    assert!(pruned.iter().all(|tree| tree.kept.is_none()), "{pruned:#?}");
    assert_eq!(git(base.path(), &["branch", "--list", "coven/*"]), "");
}

/// A disk that is full in the middle of a checkout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_while_a_tree_is_made_is_told_and_the_tree_is_made_when_there_is_room()
{
    let base = Base::new();
    repository(base.path());
    let mut bytes = vec![0_u8; 256 << 10];
    let mut seed = 1_u32;
    for byte in &mut bytes {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (seed >> 24) as u8;
    }
    std::fs::write(base.path().join("large.bin"), bytes).unwrap();
    commit(base.path());
    let folder = base.path().with_file_name("disk");
    std::fs::create_dir(&folder).unwrap();
    let Some(disk) = SmallDisk::mount(&folder) else {
        return coven_testkit::skip::skip("no disk can be mounted");
    };
    let mut options = base.options();
    options.trees = TreesConfig { root: Some(folder.clone()), ..TreesConfig::default() };
    let ballast = disk.fill();
    // Room for folders and small files, and not for the large one.
    let file = std::fs::File::options().write(true).open(&ballast).unwrap();
    file.set_len(file.metadata().unwrap().len() - (128 << 10)).unwrap();
    drop(file);
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let text = team(&["write new.txt hello"]);
    let id = orchestrator.execute_workflow(base.definition(&text)).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let asked = crate::support::intervention(&mut events).await;
    assert_eq!(asked.kind, InterventionKind::TreeProblem);
    assert!(asked.reason.contains("unable to write file large.bin"), "{}", asked.reason);
    std::fs::remove_file(&ballast).unwrap();
    crate::support::decide(&orchestrator, &asked, coven_model::InterventionChoice::Retry).await;
    let view = end(&orchestrator, &id).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    assert_eq!(branch(&base, &view.name, "new.txt"), "hello");
    let names = left(&orchestrator, &id).await;
    assert_eq!(names, ["@run"]);
    orchestrator.close().await;
}

/// Naive: a branch or a reference with the name of the task, of which git takes not every one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_with_names_that_git_keeps_for_itself_run_in_trees_and_are_brought_back() {
    let base = Base::new();
    repository(base.path());
    let names = ["lock", "LOCK", "HEAD", "FETCH_HEAD", "-x", "gitdir", "heads", "x-lock"];
    let tasks = names.map(|name| {
        json!({
            "id": name, "adapter": "demo", "executionMode": "headless", "permissions": "all",
            "isolation": "task", "prompt": format!("write of{name}.txt {name}"),
        })
    });
    let text = json!({"id": "names", "stages": [{"id": "all", "tasks": tasks}]}).to_string();
    let (orchestrator, id, view) = run(&base, &text).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    for name in names {
        assert_eq!(branch(&base, &view.name, &format!("of{name}.txt")), name);
        let tree = TreeId::Task(name.parse().unwrap());
        let request =
            coven_orchestrator::RestoreRequest { tree, checkpoint: None, by: "mira".to_owned() };
        let back = orchestrator.restore_tree(&id, request).await.unwrap();
        assert!(back.path.join(format!("of{name}.txt")).exists(), "{name}");
    }
}

/// Naive: the list of what was put aside is the repository's, so an agent's entry goes when anybody
/// clears it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_put_aside_is_kept_when_the_person_clears_the_stash() {
    let base = Base::new();
    repository(base.path());
    write(base.path(), "shared.txt", "mine\n");
    git(base.path(), &["stash", "--quiet"]);
    let prompt = "write shared.txt aside; write new.txt aside; disobey git -c user.name=A \
                  -c user.email=a@b stash push -q -u; write done.txt done";
    let (orchestrator, id, view) = run(&base, &team(&[prompt])).await;
    assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
    git(base.path(), &["stash", "clear"]);
    git(base.path(), &["gc", "--quiet", "--prune=now"]);
    let mirrors = std::fs::read_dir(base.path().with_file_name("state").join("trees")).unwrap();
    let mirrors = mirrors.map(|entry| entry.unwrap().path().join("mirror.git"));
    let mirror = mirrors.into_iter().find(|path| path.is_dir()).unwrap();
    let list = ["for-each-ref", "--format=%(refname)", "refs/stashes/"];
    let kept = git(&mirror, &list);
    assert_eq!(kept.lines().count(), 1, "that of the agent and not the person's: {kept}");
    assert_eq!(git(&mirror, &["show", &format!("{kept}:shared.txt")]), "aside");
    assert_eq!(git(&mirror, &["show", &format!("{kept}^3:new.txt")]), "aside");
    // Whoever looks for it is told where it is.
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let removed = |event: &SessionEvent| match event {
        SessionEvent::TreeRemoved { notes, .. } => Some(notes.clone()),
        _ => None,
    };
    let notes = fact(&mut events, "the removal", removed).await;
    assert!(notes.iter().any(|note| note.contains(&kept)), "{notes:?}");
}
