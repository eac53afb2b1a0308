//! `coven comment` and `coven review`: comments about what an agent changed, sent in one message.

use std::fs;

use serde_json::json;

use crate::home::Home;
use crate::trees::repository;

/// An agent on a terminal that wrote a file in a tree of its own and waits; its session's name.
fn agent(home: &Home) -> String {
    let prompt = "write notes.txt first\\nsecond\\nthird";
    let args = ["new", "demo", prompt, "-t", "--permissions", "all", "--detach"];
    let name = home.coven(&args).ok().out.trim().to_owned();
    home.coven(&["wait", &name, "--until", "idle", "--timeout", "60s"]).ok();
    name
}

#[test]
fn comments_are_kept_until_they_are_sent_and_then_go_in_one_message() {
    let home = repository();
    let name = agent(&home);
    let full = format!("{name}/agent");
    let stat = home.coven(&["diff", &full, "--stat"]).ok().out;
    assert_eq!(stat, " notes.txt | +3 new\n1 file changed, +3 -0\n");
    let said = home.coven(&["comment", &full, "notes.txt:2", "why this?"]).ok();
    assert!(said.out.contains("notes.txt:2") && said.out.contains("│ second"), "{}", said.out);
    assert!(said.err.contains("1 comment not sent yet: coven review send"), "{}", said.err);
    let kept = home.coven(&["comment", &name, "notes.txt:1-2", "both", "--json"]).ok().json();
    assert_eq!((&kept["drafts"], &kept["comment"]["endLine"]), (&json!(2), &json!(2)));
    let list = home.coven(&["comment", &full, "--list", "--json"]).ok().json();
    let texts: Vec<&str> = list["comments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["why this?", "both"]);
    for (place, code) in [("notes.txt:9", 1), ("other.txt:1", 1), ("notes.txt", 2)] {
        let said = home.coven(&["comment", &full, place, "x"]).code(code).err;
        assert!(!said.is_empty(), "{place}");
    }
    let would = home.coven(&["review", "send", &full, "--dry-run"]).ok().out;
    for part in ["notes.txt", "why this?", "both", "second"] {
        assert!(would.contains(part), "{part}: {would}");
    }
    let sent = ["review", "send", &full, "--summary", "say reviewed", "--json"];
    let sent = home.coven(&sent).ok().json();
    assert_eq!(sent["comments"], 2);
    assert!(sent["delivery"] == "message" || sent["delivery"] == "queued", "{sent:#}");
    assert!(sent["message"].as_str().unwrap().contains("say reviewed"), "{sent:#}");
    let left = home.coven(&["comment", &full, "--list", "--json"]).ok().json();
    assert_eq!(left["comments"], json!([]));
    let events = home.coven(&["events", &name, "--json"]).ok().lines();
    assert_eq!(events.iter().filter(|event| event["type"] == "review.sent").count(), 1);
    let nothing = home.coven(&["review", "send", &full]).code(1).err;
    assert!(nothing.contains("nothing is written about"), "{nothing}");
    home.coven(&["comment", &full, "notes.txt:1", "again"]).ok();
    let cleared = home.coven(&["comment", &full, "--clear"]).ok().out;
    assert_eq!(cleared, format!("1 comment of {full} thrown away\n"));
}

#[test]
fn a_comment_follows_its_line_and_is_sent_with_what_it_was_about_once_that_is_gone() {
    let home = repository();
    let name = agent(&home);
    let trees = home.coven(&["trees", "--json"]).ok().json();
    let trees = trees["trees"].as_array().unwrap();
    let own = trees.iter().find(|tree| tree["tree"] == "agent").unwrap();
    let file = std::path::Path::new(own["path"].as_str().unwrap()).join("notes.txt");
    home.coven(&["comment", &name, "notes.txt:2", "about second"]).ok();
    home.coven(&["comment", &name, "notes.txt:3", "about third"]).ok();
    fs::write(&file, "zero\nfirst\nsecond\n").unwrap();
    home.coven(&["comment", &name, "notes.txt:1", "about zero"]).ok();
    let list = home.coven(&["comment", &name, "--list", "--json"]).ok().json();
    let told = |place: usize| {
        let one = &list["comments"][place];
        (one["line"].as_u64().unwrap(), one["outdated"] == true)
    };
    assert_eq!((told(0), told(1), told(2)), ((3, false), (3, true), (1, false)), "{list:#}");
    let would = home.coven(&["review", "send", &name, "--dry-run"]).ok().out;
    assert!(would.contains("About notes.txt:3, which was:\n> third\nabout third"), "{would}");
}

#[test]
fn a_review_of_what_is_over_begins_a_run_and_says_which() {
    let home = repository();
    let name = agent(&home);
    home.coven(&["finish", &name]).ok();
    home.coven(&["wait", &name, "--timeout", "60s"]).ok();
    let full = format!("{name}/agent");
    let sent = ["review", "send", &full, "--summary", "write more.txt reviewed", "--json"];
    let sent = home.coven(&sent).ok().json();
    assert_eq!(sent["delivery"], "run", "{sent:#}");
    let run = sent["run"].as_str().unwrap();
    assert_ne!(run, name);
    home.coven(&["wait", run, "--timeout", "60s"]).ok();
    let trees = home.coven(&["trees", run, "--json"]).ok().json();
    let path = trees["trees"][0]["path"].as_str().unwrap_or_else(|| panic!("{trees:#}"));
    let text = |file| fs::read_to_string(std::path::Path::new(path).join(file)).unwrap();
    assert_eq!(text("more.txt"), "reviewed\n");
    assert_eq!(text("notes.txt"), "first\nsecond\nthird\n", "it goes on from what was done");
    let said = home.coven(&["review", "send", &full, "--summary", "say more"]).ok().out;
    assert!(said.contains("is over; ") && said.contains(" begins with it"), "{said}");
}

/// One that writes and one that reviews it, in the tree of the run.
const REVIEWED: &str = "  - name: build\n    type: agent\n    isolation: run\n    mode: headless\n    \
    permissions: all\n    prompt: 'write notes.txt first\\nsecond\\nthird'\n  - name: check\n    \
    type: agent\n    isolation: run\n    mode: headless\n    permissions: read-only\n    \
    expect: comments\n    prompt: 'json {\"summary\": \"Nearly.\", \"comments\": [{\"path\": \
    \"notes.txt\", \"line\": 2, \"text\": \"why second?\"}, {\"path\": \"notes.txt\", \"line\": 3, \
    \"text\": \"and third\"}]}'\n";

#[test]
fn what_an_agent_said_about_lines_is_listed_and_sent_to_the_one_whose_work_it_is() {
    let home = repository();
    home.run(REVIEWED, &[]).ok();
    let name = home.only();
    let full = format!("{name}/build");
    let stat = home.coven(&["diff", &full, "--stat"]).ok().out;
    let wanted = " notes.txt | +3 new\n1 file changed, +3 -0\n\n2 comments by agents\n check  Nearly.\n \
                  check notes.txt:2  why second?\n check notes.txt:3  and third\n";
    assert_eq!(stat, wanted);
    let json = home.coven(&["diff", &full, "--json"]).ok().json();
    let first = &json["agentComments"][0];
    assert_eq!((&first["task"], &first["line"]), (&json!("check"), &json!(2)), "{json:#}");
    assert_eq!(json["agentSummaries"][0]["text"], "Nearly.");
    assert_eq!(json["files"][0]["path"], "notes.txt");
    // A patch is for git alone.
    assert!(!home.coven(&["diff", &full]).ok().out.contains("why second?"));

    // The work in the tree of the run is that of the one who wrote, not of the one who looked.
    let whose = ["review", "send", &name, "--summary", "write more.txt y", "--json"];
    let whose = home.coven(&whose).ok().json();
    home.coven(&["wait", whose["run"].as_str().unwrap(), "--timeout", "60s"]).ok();
    let asked = home.coven(&["show", whose["run"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(asked["tasks"][0]["id"], "build", "{asked:#}");
    let nobody = home.coven(&["review", "send", &full, "--from", "build"]).code(2).err;
    assert!(nobody.contains("answers with comments"), "{nobody}");
    // The lines are followed, mine go along, and what is gone is sent with what it was.
    let trees = home.coven(&["trees", &name, "--json"]).ok().json();
    let path = std::path::Path::new(trees["trees"][0]["path"].as_str().unwrap());
    home.coven(&["comment", &full, "notes.txt:1", "mine"]).ok();
    fs::write(path.join("notes.txt"), "zero\nfirst\nsecond\n").unwrap();
    let from_check = ["review", "send", &full, "--from", "check"];
    let would = home.coven(&[&from_check[..], &["--dry-run"]].concat()).ok().out;
    for part in [
        "check: Nearly.",
        "notes.txt:2\n",
        "mine",
        "notes.txt:3\n",
        "> +second\n\nwhy second?",
        "About notes.txt:3, which was:\n> third\nand third",
    ] {
        assert!(would.contains(part), "{part}: {would}");
    }
    let sent =
        home.coven(&[&from_check[..], &["--summary", "write more.txt x", "--json"]].concat());
    let sent = sent.ok().json();
    assert_eq!((&sent["delivery"], &sent["comments"]), (&json!("run"), &json!(2)), "{sent:#}");
    assert!(sent["message"].as_str().unwrap().contains("why second?"));
    let left = home.coven(&["comment", &full, "--list", "--json"]).ok().json();
    assert_eq!(left["comments"], json!([]));
    home.coven(&["wait", sent["run"].as_str().unwrap(), "--timeout", "60s"]).ok();
}
