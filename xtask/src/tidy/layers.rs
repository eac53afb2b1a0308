//! Holds the layer table of ARCHITECTURE.md against the dependencies cargo sees, so that the
//! drawing of the layers stays true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::markdown;
use super::problem::TidyProblem;
use crate::error::Error;

pub(crate) const PAGE: &str = "ARCHITECTURE.md";

/// The columns by which the table is recognised; a third says in words what a crate must not know.
const COLUMNS: [&str; 2] = ["crate", "may use (ours)"];

/// The crate beside the layers: any crate may use it for its tests, and only for them.
const FOR_TESTS: &str = "testkit";

/// Stands in the second column before what only the tests of a crate may use.
const IN_TESTS: &str = "tests:";

/// A package of the workspace and those packages of the workspace that it uses.
#[derive(Debug)]
pub(crate) struct Package {
    /// The name without the `coven-` in front.
    name: String,
    /// Path of the manifest from the root of the workspace, with `/`.
    manifest: String,
    uses: Vec<PackageUse>,
}

#[derive(Debug)]
struct PackageUse {
    name: String,
    only_in_tests: bool,
    /// Line in the manifest.
    line: usize,
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<RawPackage>,
}

#[derive(Deserialize)]
struct RawPackage {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<RawDependency>,
}

#[derive(Deserialize)]
struct RawDependency {
    name: String,
    /// Absent for a normal dependency.
    kind: Option<String>,
}

/// Reads what `cargo metadata --no-deps` printed, and the manifests for their line numbers.
pub(crate) fn packages(metadata: &[u8], root: &Path) -> Result<Vec<Package>, Error> {
    let metadata: CargoMetadata = serde_json::from_slice(metadata)?;
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|raw| raw.name.as_str()).collect();
    let read = |raw: &RawPackage| {
        let path = raw.manifest_path.clone();
        let text = fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
        Ok(package(raw, &ours, &text, root))
    };
    metadata.packages.iter().map(read).collect()
}

fn package(raw: &RawPackage, ours: &BTreeSet<&str>, text: &str, root: &Path) -> Package {
    let uses = raw.dependencies.iter().filter(|used| ours.contains(used.name.as_str()));
    Package {
        name: short(&raw.name).to_owned(),
        manifest: raw
            .manifest_path
            .strip_prefix(root)
            .unwrap_or(&raw.manifest_path)
            .to_string_lossy()
            .replace('\\', "/"),
        uses: uses
            .map(|used| PackageUse {
                name: short(&used.name).to_owned(),
                only_in_tests: used.kind.as_deref() == Some("dev"),
                line: line_of(&used.name, text),
            })
            .collect(),
    }
}

fn short(package: &str) -> &str {
    package.strip_prefix("coven-").unwrap_or(package)
}

/// The first line of a manifest that begins with the name of a dependency.
fn line_of(name: &str, manifest: &str) -> usize {
    let names = |line: &str| {
        line.trim_start()
            .strip_prefix(name)
            .is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    manifest.lines().position(names).map_or(1, |index| index + 1)
}

/// Every dependency between our packages must be allowed by the table, and every package must
/// have a row. Rows may run ahead of the packages: the table is also the plan.
pub(crate) fn check(page: &str, packages: &[Package]) -> Vec<TidyProblem> {
    let (rows, mut problems) = rows(page);
    if rows.is_empty() {
        let message = format!("no table with the columns `{}`", COLUMNS.join("` and `"));
        return vec![TidyProblem::error(PAGE, 1, message)];
    }
    for row in rows.values() {
        let named = row.may_use.iter().chain(&row.in_tests);
        for name in named.filter(|name| !rows.contains_key(*name)) {
            let message = format!("`{name}` has no row of its own in the layer table");
            problems.push(TidyProblem::error(PAGE, row.line, message));
        }
    }
    for package in packages {
        if let Some(row) = rows.get(&package.name) {
            problems.extend(forbidden(package, row));
        } else {
            let message = format!("`{}` has no row in the layer table of {PAGE}", package.name);
            problems.push(TidyProblem::error(&package.manifest, 1, message));
        }
    }
    problems
}

struct AllowedUses {
    line: usize,
    may_use: Vec<String>,
    /// What its tests and benchmarks may use besides.
    in_tests: Vec<String>,
}

fn rows(page: &str) -> (BTreeMap<String, AllowedUses>, Vec<TidyProblem>) {
    let mut rows = BTreeMap::new();
    let mut problems = Vec::new();
    let tables = markdown::tables(page);
    let is_ours = |table: &&markdown::MarkdownTable| {
        (0..).zip(COLUMNS).all(|(column, name)| table.header.cell(column) == name)
    };
    for row in tables.iter().filter(is_ours).flat_map(|table| &table.rows) {
        let Some(name) = markdown::code_spans(row.cell(0)).next() else {
            problems.push(TidyProblem::error(
                PAGE,
                row.line,
                "the row names no crate in backticks",
            ));
            continue;
        };
        let (always, in_tests) = row.cell(1).split_once(IN_TESTS).unwrap_or((row.cell(1), ""));
        let names = |list| markdown::code_spans(list).map(str::to_owned).collect();
        let (may_use, in_tests) = (names(always), names(in_tests));
        if rows.insert(name.to_owned(), AllowedUses { line: row.line, may_use, in_tests }).is_some()
        {
            problems.push(TidyProblem::error(PAGE, row.line, format!("a second row for `{name}`")));
        }
    }
    (rows, problems)
}

fn forbidden<'a>(
    package: &'a Package,
    row: &'a AllowedUses,
) -> impl Iterator<Item = TidyProblem> + 'a {
    package
        .uses
        .iter()
        .filter(|used| !row.may_use.contains(&used.name))
        .filter(|used| !(used.only_in_tests && used.name == FOR_TESTS))
        .filter(|used| !(used.only_in_tests && row.in_tests.contains(&used.name)))
        .map(|used| {
            let message = format!(
                "`{}` may not use `{}`: the layer table of {PAGE} (line {}) does not allow it",
                package.name, used.name, row.line
            );
            TidyProblem::error(&package.manifest, used.line, message)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_TEXT: &str = "\
| crate | may use (ours) | must not know |
|---|---|---|
| `model` | nothing | the clock |
| `terminal` | nothing | agents |
| `adapters` | `model`, `terminal` | processes |
| `testkit` | `terminal` | |
";

    /// A workspace in which each named package uses the packages listed with it. `?` marks a
    /// dependency for tests only.
    fn workspace(packages: &[(&str, &[&str])]) -> Vec<Package> {
        let ours = packages.iter().map(|(name, _)| *name).collect();
        let raw = |(name, uses): &(&str, &[&str])| RawPackage {
            name: (*name).to_owned(),
            manifest_path: format!("/root/crates/{}/Cargo.toml", short(name)).into(),
            dependencies: uses
                .iter()
                .map(|used| RawDependency {
                    name: used.trim_end_matches('?').to_owned(),
                    kind: used.ends_with('?').then(|| "dev".to_owned()),
                })
                .collect(),
        };
        let manifest =
            "[package]\n\n[dependencies]\nserde = \"1\"\ncoven-adapters.workspace = true\n";
        packages
            .iter()
            .map(|entry| package(&raw(entry), &ours, manifest, Path::new("/root")))
            .collect()
    }

    fn found(page: &str, packages: &[Package]) -> Vec<String> {
        check(page, packages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_the_table_allows_passes() {
        let packages = workspace(&[
            ("coven-terminal", &["memchr", "coven-testkit?"]),
            ("coven-adapters", &["coven-terminal", "serde"]),
            ("coven-testkit", &["coven-terminal"]),
        ]);
        assert_eq!(found(PAGE_TEXT, &packages), [""; 0]);
    }

    #[test]
    fn a_dependency_against_the_table_is_reported_at_its_line_in_the_manifest() {
        let packages =
            workspace(&[("coven-terminal", &["coven-adapters"]), ("coven-adapters", &[])]);
        assert_eq!(
            found(PAGE_TEXT, &packages),
            [
                "crates/terminal/Cargo.toml:5: `terminal` may not use `adapters`: the layer table of \
              ARCHITECTURE.md (line 4) does not allow it"
            ]
        );
    }

    #[test]
    fn tests_may_use_the_testkit_but_nothing_else_against_the_table() {
        let packages = workspace(&[
            ("coven-terminal", &["coven-testkit", "coven-adapters?"]),
            ("coven-adapters", &[]),
            ("coven-testkit", &[]),
        ]);
        assert_eq!(found(PAGE_TEXT, &packages).len(), 2);
    }

    #[test]
    fn what_stands_behind_the_word_tests_is_for_tests_alone() {
        let page = PAGE_TEXT.replace("| `model`, `terminal` |", "| `model`; tests: `terminal` |");
        let tests = workspace(&[("coven-adapters", &["coven-terminal?"]), ("coven-terminal", &[])]);
        assert_eq!(found(&page, &tests), [""; 0]);
        let always = workspace(&[("coven-adapters", &["coven-terminal"]), ("coven-terminal", &[])]);
        assert_eq!(found(&page, &always).len(), 1);
    }

    #[test]
    fn a_package_without_a_row_is_a_problem_and_a_row_without_a_package_is_not() {
        assert_eq!(
            found(PAGE_TEXT, &workspace(&[("coven-policy", &[])])),
            [
                "crates/policy/Cargo.toml:1: `policy` has no row in the layer table of ARCHITECTURE.md"
            ]
        );
    }

    #[test]
    fn the_table_itself_must_be_there_and_make_sense() {
        assert_eq!(
            found("# No table\n", &[]),
            ["ARCHITECTURE.md:1: no table with the columns `crate` and `may use (ours)`"]
        );
        let page = format!("{PAGE_TEXT}| `model` | `modle` | |\n| policy | nothing | |\n");
        assert_eq!(
            found(&page, &[]),
            [
                "ARCHITECTURE.md:7: a second row for `model`",
                "ARCHITECTURE.md:8: the row names no crate in backticks",
                "ARCHITECTURE.md:7: `modle` has no row of its own in the layer table",
            ]
        );
    }

    #[test]
    fn metadata_of_cargo_is_understood() {
        let root = crate::cargo::root();
        let manifest = root.join("xtask/Cargo.toml");
        let metadata = serde_json::json!({ "packages": [{
            "name": "xtask", "manifest_path": manifest, "version": "0.1.0",
            "dependencies": [{ "name": "clap", "kind": null, "req": "^4.6" }],
        }]});
        let packages = packages(metadata.to_string().as_bytes(), &root).unwrap();
        assert_eq!(packages[0].manifest, "xtask/Cargo.toml");
        assert!(packages[0].uses.is_empty());
    }
}
