//! What agents leave behind in their trees that is no plain change: a conflict, a submodule at another
//! commit, no tree at all.

use std::path::Path;

use coven_model::TreeId;
use coven_model::event::SessionEvent;
use coven_orchestrator::{ChangesAgainst, Orchestrator, RestoreRequest, TreeFileKind};
use coven_testkit::git::git;

use crate::support::{Base, end, fact, run};
use crate::tree_requests::{commit, repository, tree_folder};

/// One agent in a tree of its own that runs this.
fn agent(command: &str) -> String {
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: auto\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: [{command:?}]\n    prompt: disobey ${{item}}\n"
    )
}

/// Who an agent is when it commits.
const AS_AGENT: &str = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.invalid \
                        GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.invalid";

/// Naive: everything that lies in the tree is committed, also a file with the marks of a conflict.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflict_that_an_agent_left_is_asked_about_and_never_committed() {
    let base = Base::new();
    repository(&base);
    let command = format!(
        "{AS_AGENT}; git checkout -q -b side && echo side > shared.txt && git commit -qam side && \
         git checkout -q \"$COVEN_BRANCH\" && echo mine > shared.txt && git commit -qam mine && \
         git merge -q side; echo more > extra.txt"
    );
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = orchestrator.execute_workflow(base.definition(&agent(&command))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let (mut asked, mut held) = (None, false);
    let asked = fact(&mut events, "the question", |event| {
        match event {
            SessionEvent::InterventionRequired { intervention, .. } => {
                asked = Some(intervention.as_ref().clone());
            }
            SessionEvent::TreeCheckpoint(checkpoint) => held |= checkpoint.number > 0,
            _ => {}
        }
        asked.clone()
    })
    .await;
    assert!(held, "what it left is in a checkpoint");
    let said = format!("{asked:?}");
    assert!(said.contains("shared.txt") && said.contains("conflict"), "{said}");
    let name = orchestrator.entry(&id).unwrap().name;
    let landed = git(base.path(), &["show", &format!("coven/{name}:shared.txt")]);
    assert_eq!(landed, "one\ntwo\nthree");
    orchestrator.cancel(&id, "mira", "").await.ok();
    end(&orchestrator, &id).await;
    let all = git(base.path(), &["log", "--all", "--oneline", "-S<<<<<<<"]);
    assert_eq!(all, "", "no commit has the marks");
}

/// Naive: the folder that a call begins in is missing, and it is said that git is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_removed_its_own_tree_has_failed_and_what_it_committed_is_on_its_branch() {
    let base = Base::new();
    repository(&base);
    let command = format!(
        "{AS_AGENT}; echo done > done.txt; git add . && git commit -qm done; T=$PWD; cd /; \
         rm -rf \"$T\""
    );
    let orchestrator = Orchestrator::open(base.options()).await.unwrap();
    let id = orchestrator.execute_workflow(base.definition(&agent(&command))).await.unwrap();
    let mut events = orchestrator.subscribe(&id, 0).await.unwrap();
    let outcome = fact(&mut events, "the end of the task", |event| match event {
        SessionEvent::TaskEnded(ended) => Some(ended.outcome.clone()),
        _ => None,
    })
    .await;
    assert!(!outcome.ok, "{outcome:#?}");
    assert!(outcome.reason.contains("tree-gone"), "{}", outcome.reason);
    orchestrator.cancel(&id, "mira", "").await.ok();
    let view = end(&orchestrator, &id).await;
    let told = format!("{view:#?}");
    assert!(!told.contains("cannot start"), "{told}");
    let branch = format!("coven/{}.build.0:done.txt", view.name);
    assert_eq!(git(base.path(), &["show", &branch]), "done");
}

/// Naive: what is staged says at which commit a submodule is, and nobody has staged it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submodule_that_an_agent_moved_is_shown_and_committed() {
    let base = Base::new();
    repository(&base);
    let library = base.path().with_file_name("library");
    std::fs::create_dir(&library).unwrap();
    git(&library, &["init", "--quiet"]);
    std::fs::write(library.join("lib.txt"), "lib\n").unwrap();
    git(&library, &["add", "."]);
    git(&library, &["commit", "--quiet", "-m", "library"]);
    let path = library.to_str().unwrap();
    let allow = "protocol.file.allow=always";
    git(base.path(), &["-c", allow, "submodule", "--quiet", "add", path, "lib"]);
    let old = git(&base.path().join("lib"), &["rev-parse", "HEAD"]);
    commit(&base, "submodule");
    let command = format!(
        "{AS_AGENT}; git -c {allow} submodule update -q --init && cd lib && echo in > in.txt && \
         git add . && git commit -qm in"
    );
    let (orchestrator, id, view) = run(&base, &agent(&command)).await;
    let entry = format!("coven/{}:lib", view.name);
    let landed = git(base.path(), &["rev-parse", &entry]);
    assert_ne!(landed, old, "{:#?}", view.errors);
    let trees = orchestrator.session_trees(&id).await.unwrap();
    let tree = TreeId::Task("build.0".parse().unwrap());
    let changes = trees.changes(&tree, ChangesAgainst::Base).await.unwrap();
    let seen: Vec<_> = changes.files.iter().map(|file| (file.path.as_path(), file.kind)).collect();
    assert_eq!(seen, [(Path::new("lib"), TreeFileKind::Submodule)]);
    // Its commit is nowhere else.
    let listed = trees.list(false).await;
    let own = listed.iter().find(|listed| listed.tree == tree).unwrap();
    assert!(own.kept.as_ref().is_some_and(|why| why.contains("lib")), "{own:#?}");
    assert!(own.path.join("lib/in.txt").exists());
    assert_eq!(git(&own.path.join("lib"), &["rev-parse", "HEAD"]), landed);
    assert_eq!(git(&own.path, &["status", "--porcelain"]), "");
}

/// Naive: the newest checkpoint of the tree of a run is the one it was made with, because what is
/// landed in it comes without one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_that_is_there_is_brought_back_as_it_is_now() {
    let base = Base::new();
    repository(&base);
    let (orchestrator, id, _) = run(&base, &agent("echo landed > landed.txt")).await;
    assert!(tree_folder(&base).join("landed.txt").exists());
    let request = RestoreRequest { tree: TreeId::Run, checkpoint: None, by: "mira".to_owned() };
    let restored = orchestrator.restore_tree(&id, request.clone()).await.unwrap();
    assert!(restored.path.join("landed.txt").exists(), "{restored:#?}");
    let again = orchestrator.restore_tree(&id, request).await.unwrap();
    assert_eq!(again.checkpoint, restored.checkpoint, "nothing has changed since");
}
