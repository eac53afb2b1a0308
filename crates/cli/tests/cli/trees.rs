//! Agents in worktrees of their own, as a person meets them: `coven diff`, `merge`, `trees`, `pr`,
//! with real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::home::{Home, SIZE, Said};
use crate::terminal::Terminal;

/// Two agents at once, each with a file of its own.
const TEAM: &str = "  - name: build\n    type: parallel-agents\n    isolation: auto\n    \
    mode: headless\n    permissions: all\n    \
    for_each: [{file: a.txt, text: alpha}, {file: b.txt, text: beta}]\n    \
    prompt: write ${item.file} ${item.text}\n";

/// A project that is a git repository with one commit, of a user that git knows.
pub(crate) fn repository() -> Home {
    let home = Home::new();
    let config =
        "[user]\n\tname = Mira\n\temail = mira@example.invalid\n[init]\n\tdefaultBranch = main\n";
    fs::write(home.path("home/.gitconfig"), config).unwrap();
    home.write(".gitignore", ".coven/\ntest.yaml\n");
    home.write("shared.txt", "one\n");
    git(&home, "init -q && git add . && git commit -qm first");
    home
}

/// What git says in the project.
pub(crate) fn git(home: &Home, args: &str) -> String {
    let output = home.shell("bash", &["-c", &format!("git {args}")]).output().unwrap();
    let said = Said::of(&output).ok();
    said.out.trim().to_owned()
}

/// A run of the team that is over; its name.
fn team(home: &Home) -> String {
    home.run(TEAM, &[]).ok();
    home.only()
}

fn paths(value: &Value) -> Vec<String> {
    let files = value.as_array().unwrap().iter();
    files.map(|file| file.as_str().or(file["path"].as_str()).unwrap().to_owned()).collect()
}

#[test]
fn what_a_team_did_is_looked_at_landed_removed_and_brought_back() {
    let home = repository();
    let name = team(&home);
    assert_eq!(git(&home, "status --porcelain"), "", "the checkout is left as it is");
    let trees = home.coven(&["trees", "--json"]).ok().json();
    let tree = &trees["trees"][0];
    assert_eq!((trees["trees"].as_array().unwrap().len(), &tree["tree"]), (1, &json!("@run")));
    assert_eq!((&tree["workflowName"], &tree["state"]), (&json!(name), &json!("ready")));
    assert_eq!((&tree["target"], &tree["landing"]["state"]), (&json!("main"), &json!("open")));
    let listed = home.coven(&["trees", &name, "--size"]).ok().out;
    assert!(listed.contains(&format!("{name}/@run")) && listed.contains("it stays: "), "{listed}");
    assert!(listed.contains("SIZE"), "{listed}");

    let stat = home.coven(&["diff", &name, "--stat"]).ok().out;
    assert_eq!(stat, " a.txt | +1 new\n b.txt | +1 new\n2 files changed, +2 -0\n");
    let changes = home.coven(&["diff", &name, "--json"]).ok().json();
    assert_eq!(paths(&changes["files"]), ["a.txt", "b.txt"]);
    assert_eq!((&changes["tree"], &changes["present"]), (&json!("@run"), &json!(true)));
    let task = home.coven(&["diff", &format!("{name}/build.0"), "--json"]).ok().json();
    assert_eq!((&task["tree"], &task["present"]), (&json!("build.0"), &json!(false)));
    assert_eq!(paths(&task["files"]), ["a.txt"]);
    assert!(!task["checkpoints"].as_array().unwrap().is_empty(), "{task:#}");
    let patch = home.coven(&["diff", &name]).ok().out;
    assert!(
        patch.contains("diff --git a/a.txt b/a.txt") && patch.contains("\n+alpha\n"),
        "{patch}"
    );
    let applied = home.shell("bash", &["-c", &format!("coven diff {name} | git apply --stat")]);
    let applied = Said::of(&{ applied }.output().unwrap()).ok().out;
    assert!(applied.contains("2 files changed"), "{applied}");
    let against = home.coven(&["diff", &name, "--against", "target", "--json"]).ok().json();
    assert_eq!(paths(&against["files"]), ["a.txt", "b.txt"]);
    let none = home.coven(&["diff", &name, "--against", "checkpoint:99", "--json"]).code(1).err;
    assert!(none.contains(r#""code":"checkpoint-not-found""#), "{none}");
    home.coven(&["diff", &name, "--against", "main"]).code(2);

    let would = home.coven(&["merge", &name, "--dry-run", "--json"]).ok().json();
    assert_eq!((&would["outcome"], &would["into"]), (&json!("would-land"), &json!("main")));
    assert_eq!(paths(&would["paths"]), ["a.txt", "b.txt"]);
    assert_eq!(git(&home, "rev-list --count main"), "1", "nothing happened yet");
    let said = home.coven(&["merge", &name, "--squash", "-m", "The team's work"]).ok().out;
    assert!(said.starts_with(&format!("coven/{name} is on main: ")), "{said}");
    assert_eq!(git(&home, "log --format=%s main"), "The team's work\nfirst");
    assert_eq!(fs::read_to_string(home.path("project/a.txt")).unwrap(), "alpha\n");
    assert_eq!(git(&home, "status --porcelain"), "");
    let again = home.coven(&["merge", &name, "--json"]).ok().json();
    assert_eq!(again["outcome"], "nothing");

    let would = home.coven(&["trees", "prune", "--dry-run", "--json"]).ok().json();
    assert_eq!(would["removed"][0]["tree"], "@run", "{would:#}");
    let said = home.coven(&["trees", "prune"]).ok().out;
    assert_eq!(said, format!("{name}/@run is removed\n"));
    assert_eq!(home.coven(&["trees", "--json"]).ok().json()["trees"], json!([]));
    let all = home.coven(&["trees", "--all", "--json"]).ok().json();
    assert_eq!(all["trees"][0]["state"], "removed");
    assert_eq!(git(&home, "worktree list --porcelain").matches("worktree ").count(), 1);
    let kept = home.coven(&["diff", &name, "--json"]).ok().json();
    assert_eq!((&kept["present"], paths(&kept["files"]).len()), (&json!(false), 2), "{kept:#}");

    let back = home.coven(&["trees", "restore", &name, "--json"]).ok().json();
    let folder = std::path::Path::new(back["path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "beta\n", "{back:#}");
    let restored = format!("{name}/{}", back["tree"].as_str().unwrap());
    assert!(home.coven(&["trees"]).ok().out.contains(&restored));
    let half = home.coven(&["trees", "prune", "--force", "@/@run"]).code(2).err;
    assert!(half.contains("takes the whole name"), "{half}");
    home.coven(&["trees", "prune", "--force", &restored]).ok();
    assert!(!folder.exists());
    // Commands that ran in trees, and what became of trees after the run, are nothing wrong.
    home.coven(&["audit"]).ok();
}

#[test]
fn a_conflict_and_changes_in_the_way_are_told_and_nothing_is_touched() {
    let home = repository();
    let name = team(&home);
    home.write("a.txt", "mine\n");
    git(&home, "add a.txt && git commit -qm mine");
    let head = git(&home, "rev-parse main");
    let told = home.coven(&["merge", &name]).code(1).err;
    assert!(told.contains("both changed a.txt; nothing was touched"), "{told}");
    let told = home.coven(&["merge", &name, "--json"]).code(1).json();
    assert_eq!((&told["outcome"], &told["paths"]), (&json!("conflict"), &json!(["a.txt"])));
    git(&home, "reset -q --hard HEAD~1");
    home.write("b.txt", "in the works\n");
    git(&home, "add b.txt");
    let told = home.coven(&["merge", &name, "--json"]).code(1).json();
    assert_eq!(told["outcome"], "dirty-checkout", "{told:#}");
    assert_eq!(told["paths"], json!(["b.txt"]), "{told:#}");
    let told = home.coven(&["merge", &name]).code(1).err;
    assert!(told.contains("is checked out in") && told.contains("coven pr"), "{told}");
    assert_eq!(git(&home, "status --porcelain"), "A  b.txt");
    assert_ne!(git(&home, "rev-parse main"), head);
    assert_eq!(git(&home, "rev-list --count main"), "1");
    git(&home, "branch next");
    home.coven(&["merge", &name, "--into", "next", "--rebase"]).ok();
    assert_eq!(git(&home, "show next:b.txt"), "beta");
    let missing = home.coven(&["merge", &name, "--into", "nowhere", "--json"]).code(1).err;
    assert!(missing.contains(r#""code":"branch-not-found""#), "{missing}");
    home.coven(&["merge", &name, "--squash", "--rebase"]).code(2);
}

#[test]
fn a_session_without_a_tree_says_so_and_says_how_to_get_one() {
    let home = repository();
    home.run("  - {name: one, type: script, command: 'true'}\n", &[]).ok();
    let name = home.only();
    for verb in
        [&["diff", &name][..], &["merge", &name], &["pr", &name], &["comment", &name, "--list"]]
    {
        let said = home.coven(verb).code(1).err;
        assert!(said.contains("has no tree: its agents work in"), "{verb:?}: {said}");
        assert!(said.contains("coven run --tree"), "{verb:?}: {said}");
    }
    let said = home.coven(&["diff", &format!("{name}/one"), "--json"]).code(1).err;
    assert!(said.contains(r#""code":"no-tree""#), "{said}");
    let said = home.coven(&["diff", &format!("{name}/on")]).code(1).err;
    assert!(said.contains(&format!("did you mean {name}/one?")), "{said}");
    assert!(home.coven(&["trees"]).ok().err.contains("There are no trees."));
    let listed = home.coven(&["trees", "--json"]).ok().json();
    assert_eq!(listed, json!({"trees": []}));
}

#[test]
fn a_run_gets_a_tree_by_an_option_or_by_the_configuration() {
    let home = repository();
    let step = "  - {name: one, type: script, command: 'echo two > shared.txt; pwd'}\n";
    home.run(step, &["--tree"]).ok();
    assert_eq!(fs::read_to_string(home.path("project/shared.txt")).unwrap(), "one\n");
    let name = home.only();
    let stat = home.coven(&["diff", "@", "--stat"]).ok().out;
    assert!(stat.starts_with(" shared.txt | +1 -1\n"), "{stat}");
    let shown = home.coven(&["show", &format!("{name}/one")]).ok().out;
    assert!(shown.contains("that of @run: coven diff"), "{shown}");
    home.coven(&["daemon", "stop"]).ok();
    fs::create_dir_all(home.path("home/.config/coven")).unwrap();
    fs::write(home.path("home/.config/coven/config.yaml"), "defaults: {isolation: run}\n").unwrap();
    home.run(step, &[]).ok();
    assert_eq!(fs::read_to_string(home.path("project/shared.txt")).unwrap(), "one\n");
}

#[test]
fn a_patch_on_a_terminal_goes_through_the_pager_and_names_what_would_turn_text_around() {
    let home = repository();
    let step = "  - name: one\n    type: script\n    command: printf 'if a \\342\\200\\256 b\\033[2J\\n' > trick.txt\n";
    home.run(step, &["--tree"]).ok();
    let name = home.only();
    let mut command = home.command(&["diff", &name]);
    command.env("PAGER", "cat");
    let mut terminal = Terminal::start(command, SIZE);
    terminal.until_shows("<U+202E> b<U+001B>[2J");
    assert_eq!(terminal.finish().code(), Some(0));
    let mut command = home.command(&["diff", &name]);
    command.env("PAGER", "sed s/trick/TRICK/");
    let mut terminal = Terminal::start(command, SIZE);
    terminal.until_shows("b/TRICK.txt");
    assert_eq!(terminal.finish().code(), Some(0));
}

#[test]
fn a_pull_request_is_made_by_gh_and_otherwise_the_push_is_printed() {
    let home = repository();
    let name = team(&home);
    let none = home.coven(&["pr", &name]).code(1).err;
    assert!(none.contains("has no remote to push to"), "{none}");
    git(&home, "init -q --bare ../remote.git && git remote add origin ../remote.git");
    let printed = home.coven(&["pr", &name, "--json"]).ok().json();
    assert_eq!(printed["pushed"], false);
    let push = printed["commands"][0].as_str().unwrap();
    assert!(
        push.contains(&format!("push --set-upstream origin refs/heads/coven/{name}:")),
        "{push}"
    );
    fs::create_dir(home.path("bin")).unwrap();
    let gh = home.path("bin/gh");
    fs::write(&gh, "#!/bin/sh\necho \"$@\" > gh.txt\necho https://example.invalid/pull/7\n")
        .unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let made = home.shell("bash", &["-c", &format!("coven pr {name} --draft --title 'Two files'")]);
    let made = Said::of(&{ made }.output().unwrap()).ok();
    assert_eq!(made.out, "https://example.invalid/pull/7\n");
    let asked = fs::read_to_string(home.path("project/gh.txt")).unwrap();
    assert!(
        asked.contains(&format!("--head coven/{name} --base main --title Two files")),
        "{asked}"
    );
    assert!(asked.contains("--draft"), "{asked}");
    assert_eq!(git(&home, &format!("ls-remote --heads origin coven/{name} | wc -l")), "1");
}

#[test]
fn two_agents_that_may_write_to_one_folder_are_told_of_wherever_one_looks() {
    let home = repository();
    let one = home.agent("say one");
    home.coven(&["wait", &one, "--until", "idle", "--timeout", "60s"]).ok();
    assert!(!home.coven(&["ls"]).ok().err.contains("may write"));
    let two = home.agent("say two");
    home.coven(&["wait", &two, "--until", "idle", "--timeout", "60s"]).ok();
    let reader = ["new", "demo", "say three", "--permissions", "read-only", "--detach"];
    home.coven(&reader).ok();
    let apart = home.coven(&["new", "demo", "say four", "-t", "--detach"]).ok().out;
    home.coven(&["wait", apart.trim(), "--until", "idle", "--timeout", "60s"]).ok();
    for verb in ["ls", "inbox"] {
        let said = home.coven(&[verb]).ok().err;
        assert!(said.contains("2 agents that may write share "), "{verb}: {said}");
        assert!(said.contains(&format!("{one}/agent (demo)")), "{verb}: {said}");
        assert!(said.contains(&format!("{two}/agent (demo)")), "{verb}: {said}");
        assert!(said.contains("coven new -t"), "{verb}: {said}");
    }
    assert!(home.coven(&["show", &two]).ok().out.contains("agents that may write share"));
    let listed = home.coven(&["ls", "--json"]).ok().json();
    let sharing = |name: &str| {
        let item = listed["workflows"].as_array().unwrap().iter().find(|item| item["name"] == name);
        item.unwrap().get("sharing").cloned()
    };
    assert_eq!(sharing(&one).unwrap()["agents"].as_array().unwrap().len(), 2);
    assert!(sharing(apart.trim()).is_none());
}

#[test]
fn what_a_project_says_about_its_trees_counts_once_it_is_trusted() {
    let home = repository();
    let step = "  - {name: one, type: script, command: 'cat made.txt'}\n";
    home.write(".coven/config.yaml", "trees:\n  setup: [echo set-up > made.txt]\n");
    home.run(step, &["--tree"]).code(1);
    home.coven(&["trust", "--yes"]).ok();
    let said = home.run(step, &["--tree"]).ok();
    assert!(said.out.contains("completed") || said.err.contains("completed"), "{said:?}");
    home.write(".coven/config.yaml", "trees:\n  setups: [x]\n");
    home.coven(&["trust", "--yes"]).ok();
    let wrong = home.run(step, &["--tree", "--json"]).code(1).err;
    let wrong: Value = serde_json::from_str(&wrong).unwrap();
    assert_eq!(wrong["error"]["problems"][0]["line"], 2, "{wrong:#}");
    assert!(wrong["error"]["hint"].as_str().unwrap().contains("config.yaml"), "{wrong:#}");
}

#[test]
fn an_agent_looks_at_trees_and_changes_nothing_about_them() {
    let home = repository();
    let name = team(&home);
    let program = env!("CARGO_BIN_EXE_coven");
    let commands = [
        (format!("diff {name} --stat"), 0),
        ("trees".to_owned(), 0),
        (format!("merge {name} --dry-run"), 1),
        (format!("merge {name}"), 1),
        ("trees prune".to_owned(), 1),
        (format!("trees restore {name}"), 1),
        (format!("review send {name}/build.0 --summary well"), 1),
    ];
    for (command, code) in commands {
        let steps = format!(
            "  - name: inside\n    type: script\n    command: |\n      {program} {command} > said.txt 2>&1 || code=$?\n      echo \"$${{code:-0}}\" > code.txt\n"
        );
        home.run(&steps, &[]).ok();
        let read = |file: &str| fs::read_to_string(home.path("project").join(file)).unwrap();
        let said = read("said.txt");
        assert_eq!(read("code.txt").trim(), code.to_string(), "{command}: {said}");
        assert_eq!(said.contains("ask the person who runs you"), code == 1, "{command}: {said}");
    }
    assert_eq!(git(&home, "rev-list --count main"), "1");
}

/// Naive: "has everything already", which is true of the branch and not of what was done.
#[test]
fn a_merge_of_a_run_says_which_trees_of_tasks_are_not_landed_on_it() {
    let home = repository();
    home.run(&format!("{TEAM}    land: none\n"), &[]).ok();
    let name = home.only();
    for dry_run in [&["--dry-run"][..], &[]] {
        let said = home.coven(&[&["merge", &format!("{name}/@run")], dry_run].concat()).ok();
        assert!(said.out.contains("has everything of"), "{}", said.out);
        assert!(said.err.contains("the trees of build.0, build.1"), "{}", said.err);
    }
    let answer = home.coven(&["merge", &format!("{name}/@run"), "--json"]).ok().json();
    assert_eq!(answer["unlanded"], json!(["build.0", "build.1"]));
    home.coven(&["merge", &format!("{name}/build.0")]).ok();
    let answer = home.coven(&["merge", &format!("{name}/@run"), "--json"]).ok().json();
    assert_eq!(answer["unlanded"], json!(["build.1"]));
}

/// Naive: the name that the request has for it, which is no option.
#[test]
fn a_run_that_began_on_no_branch_is_merged_with_an_option_that_there_is() {
    let home = repository();
    git(&home, "checkout -q --detach");
    let name = team(&home);
    let refused = home.coven(&["merge", &name]).code(2).err;
    assert!(refused.contains("`--into`"), "{refused}");
    home.coven(&["merge", &name, "--into", "main"]).ok();
}

/// Naive: what was recorded when the session was made, which leads to a folder that is not there.
#[test]
fn a_session_with_trees_is_imported_after_its_folder_was_renamed() {
    let home = repository();
    let name = team(&home);
    let before = home.coven(&["trees", "--json"]).ok().json()["trees"][0].clone();
    home.coven(&["daemon", "stop"]).ok();
    let moved = home.path("moved");
    fs::rename(home.path("project"), &moved).unwrap();
    fs::create_dir(home.path("project")).unwrap();
    let (place, key) = (moved.to_str().unwrap(), home.path("state/coven/seal.key"));
    home.coven(&["import", place, "--key", key.to_str().unwrap()]).ok();
    let tree = home.coven(&["trees", &name, "--json"]).ok().json()["trees"][0].clone();
    assert_eq!((&tree["state"], &tree["head"]), (&before["state"], &before["head"]));
    assert_eq!(tree["root"], json!(fs::canonicalize(&moved).unwrap()));
    let stat = home.coven(&["diff", &name, "--stat"]).ok().out;
    assert!(stat.contains("2 files changed"), "{stat}");
    // An agent, or a person, finds the repository in the tree again.
    let inside = format!("git -C '{}' status --porcelain", tree["path"].as_str().unwrap());
    Said::of(&home.shell("bash", &["-c", &inside]).output().unwrap()).ok();
    // What was kept before it was moved is found as well.
    let task = home.coven(&["diff", &format!("{name}/build.0"), "--json"]).ok().json();
    assert_eq!(paths(&task["files"]), ["a.txt"]);
    home.coven(&["merge", &name]).ok();
    assert_eq!(fs::read_to_string(moved.join("a.txt")).unwrap(), "alpha\n");
    home.coven(&["trees", "prune"]).ok();
    let back = home.coven(&["trees", "restore", &name, "--json"]).ok().json();
    let folder = std::path::Path::new(back["path"].as_str().unwrap());
    assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "beta\n");
    home.coven(&["audit", "-C", place]).ok();
}

/// Naive: agents that share the folder, and nobody knows why.
#[test]
fn a_run_that_has_no_trees_says_why() {
    let home = Home::new();
    let reason = "is in no git repository";
    let would = home.run(TEAM, &["--dry-run"]).ok().err;
    assert!(would.contains("no trees can be made") && would.contains(reason), "{would}");
    let said = home.run(TEAM, &[]).ok().err;
    assert!(said.contains("there are no trees") && said.contains(reason), "{said}");
    let name = home.only();
    let shown = home.coven(&["show", &name]).ok().out;
    assert!(shown.contains("none: ") && shown.contains(reason), "{shown}");
    let json = home.coven(&["show", &name, "--json"]).ok().json();
    assert!(json["session"]["noTrees"].as_str().unwrap().contains(reason), "{json:#}");
    git(&home, "init -q");
    let would = home.run(TEAM, &["--dry-run"]).ok().err;
    assert!(would.contains("has no commits yet"), "{would}");
}

/// Naive: a patch that is refused as a whole because one file is large.
#[test]
fn a_patch_that_is_too_large_leaves_out_files_and_names_them() {
    let home = repository();
    let name = team(&home);
    let tree = home.coven(&["trees", "--json"]).ok().json()["trees"][0]["path"].clone();
    let large: String = (0..600_000).map(|line| format!("line {line}\n")).collect();
    fs::write(std::path::Path::new(tree.as_str().unwrap()).join("aa-large.txt"), large).unwrap();
    let said = home.coven(&["diff", &name]).ok();
    assert!(said.err.contains("aa-large.txt") && said.err.contains("5 MiB"), "{}", said.err);
    assert!(said.out.contains("+alpha") && said.out.len() < 10_000);
    let apply = format!("coven diff {name} 2>/dev/null | git apply --stat");
    let applied = Said::of(&home.shell("bash", &["-c", &apply]).output().unwrap()).ok().out;
    assert!(applied.contains("2 files changed"), "{applied}");
}
