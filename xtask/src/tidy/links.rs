//! Relative links in markdown point to something that is there.

use super::markdown;
use super::problem::TidyProblem;

/// `exists` is asked with paths from the root of the workspace.
pub(crate) fn check(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<TidyProblem> {
    let prose = markdown::prose(text);
    let mut problems = Vec::new();
    for (index, line) in prose.lines().enumerate() {
        for target in targets(line).filter_map(relative) {
            let broken = match resolve(path, target) {
                None => Some("leads out of the project"),
                Some(file) if !exists(&file) => Some("points to nothing"),
                Some(_) => None,
            };
            if let Some(broken) = broken {
                let message = format!("the link to `{target}` {broken}");
                problems.push(TidyProblem::error(path, index + 1, message));
            }
        }
    }
    problems
}

/// The targets of `[text](target)`, `![text](target "title")` and `[name]: target`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let reference = line
        .trim_start()
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .map(|(_, target)| target);
    inline.chain(reference).filter_map(|target| {
        let first = target.split_whitespace().next()?;
        Some(first.trim_start_matches('<').trim_end_matches('>'))
    })
}

/// The file a link means, without the anchor; `None` for the web and for anchors in this page.
fn relative(target: &str) -> Option<&str> {
    let file = target.split('#').next()?;
    let scheme = file.split('/').next().is_some_and(|start| start.contains(':'));
    (!file.is_empty() && !scheme).then_some(file)
}

/// The path from the root that a link in `page` means; `None` when it climbs above the root.
fn resolve(page: &str, target: &str) -> Option<String> {
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parts = folder.split('/').filter(|_| !target.starts_with('/')).chain(target.split('/'));
    let mut path = Vec::new();
    for part in parts {
        match part {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            name => path.push(name),
        }
    }
    Some(path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let there = ["README.md", "docs/SPEC.md", "docs/design/0001-a.md", "docs"];
        check(path, text, |path| there.contains(&path)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_to_files_that_exist_pass() {
        assert_eq!(found("README.md", "[s](docs/SPEC.md#c0) and ![d](<docs/> \"title\")"), [""; 0]);
        assert_eq!(found("docs/SPEC.md", "[r](../README.md)\n[x]: ./design/0001-a.md"), [""; 0]);
        assert_eq!(found("docs/SPEC.md", "[r](/README.md)"), [""; 0]);
    }

    #[test]
    fn links_to_nothing_are_reported_with_their_line() {
        assert_eq!(
            found(
                "docs/SPEC.md",
                "fine\n[a](README.md), [b](../README.md) [c](gone.md#x)\n[d]: no"
            ),
            [
                "docs/SPEC.md:2: the link to `README.md` points to nothing",
                "docs/SPEC.md:2: the link to `gone.md` points to nothing",
                "docs/SPEC.md:3: the link to `no` points to nothing",
            ]
        );
    }

    #[test]
    fn links_may_not_leave_the_project() {
        assert_eq!(
            found("docs/SPEC.md", "[a](../../etc/passwd)"),
            ["docs/SPEC.md:1: the link to `../../etc/passwd` leads out of the project"]
        );
    }

    #[test]
    fn the_web_anchors_and_code_are_left_alone() {
        let text = "[a](https://example.org/x) [b](mailto:a@b.c) [c](#here) `[d](gone.md)`\n\
                    ```\n[e](gone.md)\n```\n";
        assert_eq!(found("README.md", text), [""; 0]);
    }
}
