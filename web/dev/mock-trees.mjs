// Trees, changes and landing for the daemon of cardboard in mock.mjs.
const commit = (letter) => letter.repeat(40);

const file = (path, status, added, removed, more = {}) => ({ path, status, kind: "file", added, removed, binary: false, tooLarge: false, ...more });

const OLD = `//! What stays and what goes.

use std::time::Duration;

/// How long a segment is kept.
pub struct Retention {
    days: u32,
}

impl Retention {
    pub fn new(days: u32) -> Self {
        Self { days }
    }

    pub fn keeps(&self, age: Duration) -> bool {
        age.as_secs() / 86_400 < u64::from(self.days)
    }
}`.split("\n");

const hunk = {
  oldStart: 1, newStart: 1,
  lines: [
    ...OLD.slice(0, 5).map((t, at) => ({ k: " ", o: at + 1, n: at + 1, t })),
    { k: "-", o: 6, t: "pub struct Retention {" }, { k: "-", o: 7, t: "    days: u32," },
    { k: "+", n: 6, t: "#[derive(Clone, Copy, Debug)]" }, { k: "+", n: 7, t: "pub struct Retention {" },
    { k: "+", n: 8, t: "    /// Nothing keeps for ever unless it is asked to." }, { k: "+", n: 9, t: "    days: Option<u32>," },
    ...OLD.slice(7, 14).map((t, at) => ({ k: " ", o: at + 8, n: at + 10, t })),
    { k: "-", o: 15, t: "    pub fn keeps(&self, age: Duration) -> bool {" }, { k: "-", o: 16, t: "        age.as_secs() / 86_400 < u64::from(self.days)" },
    { k: "+", n: 17, t: "    pub fn keeps(&self, age: Duration) -> bool {" },
    { k: "+", n: 18, t: "        let Some(days) = self.days else { return true }; // ⟨U+202E⟩ see docs/retention.md" },
    { k: "+", n: 19, t: "        age < Duration::from_secs(u64::from(days) * 86_400)", cr: true },
    { k: " ", o: 17, n: 20, t: "    }" }, { k: " ", o: 18, n: 21, t: "}", end: true },
  ],
};

const FILES = [
  file("crates/store/src/retention.rs", "modified", 7, 4),
  file("crates/store/src/journal/compaction.rs", "added", 214, 0),
  file("crates/store/src/journal/segments.rs", "renamed", 3, 3, { old: "crates/store/src/segments.rs" }),
  file("crates/store/tests/fixtures/old.journal", "modified", 0, 0, { binary: true }),
  file("docs/retention.md", "modified", 12, 2),
  file("scripts/check.sh", "modified", 0, 0, { mode: { old: "100644", new: "100755" } }),
  file("fixtures/large.json", "added", 0, 0, { tooLarge: true }),
  file("current", "added", 1, 0, { kind: "symlink" }),
  file("vendor/grammar", "modified", 1, 1, { kind: "submodule" }),
  file('"src/\\342\\200\\256name.rs"', "deleted", 0, 18),
];
const MANY = Array.from({ length: 5000 }, (_, at) => file(`src/generated/part-${String(at).padStart(4, "0")}.rs`, at % 7 === 0 ? "added" : "modified", 3 + (at % 40), at % 11));
const LONG = { oldStart: 1, newStart: 1, lines: Array.from({ length: 6000 }, (_, at) => ({ k: "+", n: at + 1, t: at === 4 ? `const data = "${"x".repeat(9000)}";` : `export const value${at} = ${at}; // line ${at}` })) };

const landings = { "@run": { state: "open" }, "build.0": { state: "landed", onto: "coven/brisk-otter", commit: commit("c") }, "build.1": { state: "open" }, "build.2": { state: "conflict", onto: "coven/brisk-otter", paths: ["crates/store/src/retention.rs", "docs/retention.md"] } };

const treesOf = (workflow) => Object.entries(landings).map(([tree, landing]) => ({
  workflow: workflow.id, workflowName: workflow.name, tree, state: "ready", path: `/home/ada/.local/share/coven/trees/coven-1a2b3c4d/brisk-otter/${tree.replace("@", "")}`,
  branch: tree === "@run" ? "coven/brisk-otter" : `coven/brisk-otter.${tree}`, base: commit("a"), head: commit("b"), root: "/home/ada/code/coven",
  target: tree === "@run" ? "main" : "coven/brisk-otter", landing, changed: tree === "build.0" ? 3 : 10, checkpoints: 2, uncommitted: tree === "build.1",
  ...(tree === "build.2" ? { kept: "it has commits that are not landed" } : {}), ...(tree === "build.1" ? { ports: { first: 20010, count: 10 } } : {}),
}));

/** Answers a request about trees; nothing if it is about something else. */
export function treeAnswer(workflow, path, query, body, many) {
  if (path === "trees") return { trees: treesOf(workflow) };
  if (path === "merge") {
    const { task = "@run", into, mode = "merge", dryRun } = body;
    const said = { tree: task, branch: `coven/brisk-otter.${task}`, into: into ?? (task === "@run" ? "main" : "coven/brisk-otter"), mode, commits: 3 };
    if (task === "build.2") return { ...said, outcome: "conflict", paths: landings["build.2"].paths, messages: ["CONFLICT (content): Merge conflict in docs/retention.md"] };
    if (said.into === "main" && mode === "merge") return { ...said, outcome: "dirty-checkout", checkout: "/home/ada/code/coven", changed: 4, paths: ["docs/retention.md"] };
    return dryRun ? { ...said, outcome: "would-land", paths: FILES.map((one) => one.path), uncommitted: ["notes.txt"] } : { ...said, outcome: "landed", commit: commit("d"), paths: [] };
  }
  const found = /^tasks\/([^/]+)\/(changes|changes\/file|changes\/patch|comments|review)$/.exec(decodeURIComponent(path));
  if (!found) return undefined;
  const tree = found[1];
  const files = many ? MANY : tree === "build.0" ? FILES.slice(0, 3) : FILES;
  if (found[2] === "changes") {
    return { tree, branch: `coven/brisk-otter.${tree}`, against: query.get("against") ?? "base", target: "coven/brisk-otter", base: commit("a"), head: commit("b"), present: true, files, ...(many ? { omitted: 17 } : {}), checkpoints: [{ number: 1, files: 2, at: Date.now() - 240_000 }, { number: 2, attempt: { task: tree, attempt: 1 }, files: 10, at: Date.now() - 60_000 }] };
  }
  if (found[2] === "comments") {
    if (tree !== "build.2") return { tree, head: commit("b"), summaries: [], comments: [] };
    const said = { task: "review", attempt: 1, path: "crates/store/src/retention.rs", side: "new" };
    return { tree, head: commit("b"), summaries: [{ task: "review", attempt: 1, text: "Nearly. Two things before it lands." }], comments: [
      { ...said, place: 0, line: 9, text: "Why an option? Nothing sets it to none.", lines: ["    days: Option<u32>,"] },
      { ...said, place: 1, line: 30, text: "This test is gone.", lines: ["    assert!(kept);"], outdated: true },
    ] };
  }
  if (found[2] === "review") return { delivery: body.send ? "attempt" : "none", ...(body.send ? { attempt: 2 } : {}), message: `A review of your changes.\n\n${(body.comments ?? []).map((one) => `${one.path}:${one.line}\n${one.text}`).join("\n\n")}\n\n${body.summary ?? ""}`, outdated: [] };
  if (found[2] === "changes/patch") return { patch: true };
  const one = files.find((entry) => entry.path === query.get("path"));
  const hunks = one.binary || one.tooLarge || one.mode ? [] : one.added > 200 ? [LONG] : one.kind === "symlink" ? [{ oldStart: 0, newStart: 1, lines: [{ k: "+", n: 1, t: "releases/0.4", end: true }] }] : [hunk];
  return { tree, base: commit("a"), head: commit("b"), file: one, hunks, ...(hunks[0] === hunk ? { marked: true } : {}) };
}
