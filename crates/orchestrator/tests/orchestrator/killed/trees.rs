//! A fan-out in trees whose keeper is killed, in a repository in which a person is in the middle of
//! something: everything is landed or asked about once, nothing of the person's is touched, and nothing
//! that an agent wrote is lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coven_model::event::SessionEvent;
use coven_model::{InterventionKind, SessionId, TreeId};
use coven_orchestrator::{
    ChangesAgainst, Orchestrator, PublishedEvent, TreeEntry, TreeLandingState, TreeState,
};
use coven_testkit::git::git;

use super::EVERY_RECORD_VARIABLE;
use super::keeper::{GIVEN, Place, Play, wait_until};
use crate::support::{program, state_of};

/// How many items there are; two of them change the same file.
fn items() -> usize {
    if std::env::var_os(EVERY_RECORD_VARIABLE).is_some() { 12 } else { 4 }
}

/// The file of an item. The second and the last have the same.
fn file(item: usize) -> String {
    if item == 1 || item == items() - 1 { "shared.txt".to_owned() } else { format!("{item}.txt") }
}

fn definition() -> String {
    let item = |at| format!("{{file: {}, text: item-{at}}}", file(at));
    let items: Vec<String> = (0..items()).map(item).collect();
    format!(
        "name: team\ndescription: A team.\nsteps:\n  - name: build\n    type: parallel-agents\n    \
         isolation: auto\n    adapter: demo\n    mode: headless\n    permissions: all\n    \
         for_each: [{}]\n    max_concurrent: 4\n    prompt: write ${{item.file}} ${{item.text}}\n",
        items.join(", ")
    )
}

/// A person's checkout with something modified, staged, untracked and stashed.
fn repository(path: &Path) {
    git(path, &["init", "--quiet"]);
    git(path, &["config", "user.name", "Mira"]);
    git(path, &["config", "user.email", "mira@example.invalid"]);
    let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
    write(".gitignore", ".coven/\nverdict.txt\n");
    for name in ["shared.txt", "staged.txt", "stashed.txt", "modified.txt"] {
        write(name, "one\n");
    }
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "-m", "first"]);
    write("stashed.txt", "put aside\n");
    git(path, &["stash", "--quiet"]);
    write("staged.txt", "staged\n");
    git(path, &["add", "staged.txt"]);
    write("staged.txt", "staged, and changed again\n");
    write("modified.txt", "in the works\n");
    write("new.txt", "not added\n");
}

/// Everything of the person that must be as it was, to the byte.
#[derive(Debug, PartialEq, Eq)]
struct Checkout {
    files: Vec<(PathBuf, Vec<u8>)>,
    index: Vec<u8>,
    status: String,
    stash: String,
    reflog: String,
    head: String,
}

impl Checkout {
    fn of(path: &Path) -> Self {
        let mut files: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        Self {
            files,
            index: std::fs::read(path.join(".git/index")).unwrap(),
            status: git(path, &["--no-optional-locks", "status", "--porcelain"]),
            stash: git(path, &["stash", "list"]),
            reflog: git(path, &["reflog"]),
            head: git(path, &["rev-parse", "HEAD"]),
        }
    }
}

/// Everything that must hold afterwards.
async fn check(place: &Place, before: &Checkout, what: &str) {
    let base = place.base();
    assert_eq!(&Checkout::of(base), before, "{what}");
    git(base, &["fsck", "--strict"]);
    let options = coven_orchestrator::Options::new(base, state_of(base), program());
    let orchestrator = Orchestrator::open(options).await.unwrap();
    let id = orchestrator.list()[0].id.clone();
    let trees = orchestrator.session_trees(&id).await.unwrap().list(false).await;
    same_as_git(base, &trees, what);
    landed_or_asked_about(&orchestrator, &id, &trees, what).await;
    for item in 0..items() {
        let tree = TreeId::Task(format!("build.{item}").parse().unwrap());
        let changes = orchestrator
            .session_trees(&id)
            .await
            .unwrap()
            .changes(&tree, ChangesAgainst::Base)
            .await
            .unwrap();
        let path = PathBuf::from(file(item));
        assert!(changes.files.iter().any(|file| file.path == path), "{what}: {item} {changes:#?}");
        let diff = orchestrator
            .session_trees(&id)
            .await
            .unwrap()
            .patch(&tree, ChangesAgainst::Base)
            .await
            .unwrap();
        let diff = String::from_utf8(diff).unwrap();
        assert!(diff.contains(&format!("+item-{item}")), "{what}: what {item} wrote: {diff}");
    }
    orchestrator.close().await;
}

/// The trees and branches that git has are those that are listed.
fn same_as_git(base: &Path, trees: &[TreeEntry], what: &str) {
    let known = git(base, &["worktree", "list", "--porcelain"]);
    let known = known.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1);
    let ready = trees.iter().filter(|tree| tree.state == TreeState::Ready);
    let ready: BTreeSet<&str> = ready.map(|tree| tree.path.to_str().unwrap()).collect();
    assert_eq!(known.collect::<BTreeSet<&str>>(), ready, "{what}");
    let branches = git(base, &["branch", "--format=%(refname:short)", "--list", "coven*"]);
    let listed = trees.iter().filter(|tree| tree.state == TreeState::Ready);
    let listed: BTreeSet<&str> = listed.map(|tree| tree.branch.as_str()).collect();
    assert_eq!(branches.lines().collect::<BTreeSet<&str>>(), listed, "{what}");
}

async fn landed_or_asked_about(
    orchestrator: &Orchestrator,
    id: &SessionId,
    trees: &[TreeEntry],
    what: &str,
) {
    let mut events = orchestrator.subscribe(id, 0).await.unwrap();
    let (mut landed, mut asked) = (Vec::new(), Vec::new());
    while let Some(envelope) = events.next().await.unwrap() {
        let PublishedEvent::Fact { event, .. } = &envelope.what else { continue };
        match event.as_ref() {
            SessionEvent::TreeLanded(fact) => landed.push(fact.tree.to_string()),
            SessionEvent::InterventionRequired { intervention, .. } => {
                assert_eq!(intervention.kind, InterventionKind::MergeConflict, "{what}");
                asked.push(intervention.task.as_ref().unwrap().to_string());
            }
            SessionEvent::WorkflowCompleted { .. } => break,
            _ => {}
        }
    }
    let last = items() - 1;
    assert_eq!(asked, [format!("build.{last}")], "{what}");
    let wanted: Vec<String> = (0..last).map(|item| format!("build.{item}")).collect();
    assert_eq!(landed, wanted, "{what}: each once and in order");
    let open = trees.iter().filter(|tree| {
        tree.tree != TreeId::Run && !matches!(tree.landing, TreeLandingState::Landed { .. })
    });
    let open: Vec<String> = open.map(|tree| tree.tree.to_string()).collect();
    assert_eq!(open, asked, "{what}");
}

/// Lets the run go to its end, its keeper killed once after so many records. Says whether there was
/// something to kill.
fn play(record: usize) -> bool {
    let place = Place::new(Play::Given);
    repository(place.base());
    std::fs::write(place.base().with_file_name(GIVEN), definition()).unwrap();
    let before = Checkout::of(place.base());
    let mut first = place.keeper();
    let mut ended = false;
    wait_until("the record to be killed at", || {
        ended = first.has_ended();
        ended || place.records() >= record
    });
    first.kill();
    let what = format!("a kill at record {record}");
    place.finish(&what);
    let reactor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    reactor.block_on(check(&place, &before, &what));
    !ended
}

#[test]
fn a_team_in_trees_killed_at_any_record_lands_everything_and_touches_nothing_else() {
    let every = std::env::var_os(EVERY_RECORD_VARIABLE).is_some();
    let (mut at, step) = if every { (1, 1) } else { (11, 17) };
    let mut kills = 0;
    while play(at) {
        kills += 1;
        at += step;
    }
    eprintln!("{kills} kills of a team, up to record {at}");
    assert!(kills > 1, "the run was hardly killed at all");
}
