//! How the file of a conversation is found among others.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn found(pattern: &Path, since: i64) -> Vec<String> {
    let mut names: Vec<String> = find(pattern, since).into_iter().map(|file| file.name).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_star_stands_for_anything_within_one_name() {
    let all = [
        ("a.jsonl", "a.jsonl", true),
        ("a.jsonl", "b.jsonl", false),
        ("*", "anything", true),
        ("a*", "abc", true),
        ("*c", "abc", true),
        ("a*c", "ac", true),
        ("a*c", "a", false),
        ("aa*aa", "aaa", false),
        ("session-*-*.jsonl", "session-2026-1.jsonl", true),
        ("session-*-*.jsonl", "session-2026.jsonl", false),
    ];
    for (pattern, name, expected) in all {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

#[test]
fn files_are_found_below_the_folders_of_all_projects_and_no_link_is_followed() {
    let home = coven_testkit::folders::temporary().unwrap();
    let (root, other) = (home.path().join("projects"), home.path().join("other"));
    for folder in ["one/chats", "two/chats", "three"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::create_dir_all(other.join("chats")).unwrap();
    for file in ["one/chats/a.jsonl", "two/chats/b.jsonl", "two/chats/b.txt", "three/c.jsonl"] {
        fs::write(root.join(file), "{}\n").unwrap();
    }
    fs::write(other.join("chats/d.jsonl"), "{}\n").unwrap();
    symlink(&other, root.join("linked")).unwrap();
    symlink(other.join("chats/d.jsonl"), root.join("one/chats/e.jsonl")).unwrap();
    let pattern = root.join("*/chats/*.jsonl");
    let files = find(&pattern, 0);
    let readable = files.iter().filter(|file| file.end().is_ok()).map(|file| &*file.name);
    let mut readable: Vec<&str> = readable.collect();
    readable.sort_unstable();
    assert_eq!(readable, ["a.jsonl", "b.jsonl"]);
    assert_eq!(found(&root.join("two/chats/b.jsonl"), 0), ["b.jsonl"]);
    assert_eq!(found(&root.join("two/chats/z.jsonl"), 0), [""; 0]);
    assert_eq!(found(&pattern, i64::MAX), [""; 0]);
    // A person may keep the folder of a program elsewhere.
    symlink(&root, home.path().join("moved")).unwrap();
    assert_eq!(found(&home.path().join("moved/two/chats/b.jsonl"), 0), ["b.jsonl"]);
}

#[test]
fn the_end_of_a_file_is_read_with_its_place() {
    let home = coven_testkit::folders::temporary().unwrap();
    let path = home.path().join("a.jsonl");
    let line = format!("{{\"text\": \"{}\"}}\n", "ä".repeat(1000));
    let count = usize::try_from(MAX_READ_BYTES).unwrap() / line.len() + 2;
    fs::write(&path, line.repeat(count)).unwrap();
    let [file] = &find(&path, 0)[..] else { panic!("it is not found") };
    let (begin, text) = file.end().unwrap();
    assert_eq!(begin + text.len() as u64, (line.len() * count) as u64);
    assert!(text.ends_with(&line));
}
