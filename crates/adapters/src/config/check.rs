//! What the schema cannot say about an adapter file: patterns, regions, keys and names.

mod approvals;

use std::str::FromStr;

use coven_model::PermissionLevel;
use coven_notation::{FileProblem, SourceFile, SourceNode, near, pattern};
use coven_terminal::keys::KeyPress;

use super::{MatchKind, SCHEMA_VERSION};
use crate::icons;
use crate::rules::{ScreenRegion, kind_by_name};
use crate::transcript::TranscriptFormat;
use crate::version::ProgramVersion;

/// A level that there is not.
pub(super) const UNKNOWN_PERMISSION: &str = "unknown-permission";

/// Everything wrong with a file whose syntax is right.
pub(super) fn check(source: &SourceFile, file: &SourceNode) -> Vec<FileProblem> {
    let mut check = ConfigCheck { source, problems: Vec::new() };
    check.version(file);
    check.modes(file);
    check.permissions(file);
    check.placeholders(file);
    check.states(file);
    check.dialogs(file);
    check.signals(file);
    for approval in items(file, "approvals") {
        check.approval(approval);
    }
    for key in ["row", "text"] {
        if let Some(pattern) = file.get("entries").and_then(|node| node.get(key)) {
            check.pattern(pattern, "");
        }
    }
    if let Some(keys) = file.get("entries").and_then(|node| node.get("textKeys")) {
        check.keys(keys);
    }
    for volatile in items(file, "volatile") {
        check.pattern(volatile, "");
    }
    for (_, keys) in entries(file, "keys") {
        check.keys(keys);
    }
    check.environment(file);
    check.usable_size(file);
    check.answer(file);
    check.program_versions(file);
    check.problems.extend(icons::unknown_icon(file));
    check.problems
}

struct ConfigCheck<'a> {
    source: &'a SourceFile,
    problems: Vec<FileProblem>,
}

fn is_approval(name: &str, rule: &SourceNode) -> bool {
    match rule.get("kind").and_then(SourceNode::as_str) {
        Some(kind) => kind == "approval",
        None => kind_by_name(name) == MatchKind::Approval,
    }
}

fn items<'a>(node: &'a SourceNode, key: &str) -> &'a [SourceNode] {
    node.get(key).map_or(&[], SourceNode::items)
}

fn entries<'a>(node: &'a SourceNode, key: &str) -> impl Iterator<Item = (&'a str, &'a SourceNode)> {
    let entries = node.get(key).map_or(&[][..], SourceNode::entries);
    entries.iter().map(|entry| (entry.key.as_str(), &entry.value))
}

impl ConfigCheck<'_> {
    fn add(&mut self, problem: FileProblem) {
        self.problems.push(problem);
    }

    fn version(&mut self, file: &SourceNode) {
        let Some(node) = file.get("schemaVersion") else { return };
        let version = node.to_json().as_u64();
        if version.is_some_and(|version| version != u64::from(SCHEMA_VERSION)) {
            self.add(
                FileProblem::error(
                    "schema-version",
                    node.span,
                    format!("this program knows version {SCHEMA_VERSION} of the adapter file"),
                )
                .help("a newer Coven may know it; or write `\"schemaVersion\": 1`"),
            );
        }
    }

    fn modes(&mut self, file: &SourceNode) {
        for (name, mode) in entries(file, "modes") {
            let position = mode.get("promptPosition").and_then(SourceNode::as_str);
            let by_flag = position == Some("flag");
            if by_flag && mode.get("promptFlag").is_none() {
                self.add(
                    FileProblem::error(
                        "prompt-flag-missing",
                        mode.span,
                        format!(
                            "`{name}` hands the prompt over by an option, but does not say which"
                        ),
                    )
                    .help("add `\"promptFlag\": \"-p\"`, with the option of your program"),
                );
            }
            let flag = mode.get("promptFlag");
            if let Some(flag) = flag
                && flag.as_str().is_some_and(|flag| !flag.starts_with('-'))
            {
                self.add(
                    FileProblem::error("prompt-flag", flag.span, "an option begins with `-`").help(
                        "for a prompt that is simply the last argument leave `promptFlag` out",
                    ),
                );
            }
            if let Some(flag) = flag
                && !by_flag
                && position != Some("stdin")
            {
                self.add(
                    FileProblem::warning(
                        "prompt-flag-unused",
                        flag.span,
                        "`promptFlag` counts only with `\"promptPosition\": \"flag\"`",
                    )
                    .help("add that, or remove this"),
                );
            }
            if let Some(node) = mode.get("transcript")
                && let Some(text) = node.as_str()
                && let Err(error) = TranscriptFormat::from_str(text)
            {
                let near = near(text, TranscriptFormat::ALL.map(TranscriptFormat::as_str));
                let help = near.first().map(|name| format!("did you mean `{name}`?"));
                let problem = FileProblem::error("transcript", node.span, error.to_string());
                self.add(problem.maybe_help(help));
            }
        }
    }

    /// The levels are the keys of a map, which the schema does not look at.
    fn permissions(&mut self, file: &SourceNode) {
        let files = std::iter::once(file).chain(items(file, "versions"));
        let known = PermissionLevel::ALL.map(PermissionLevel::as_str);
        let modes = |file| entries(file, "modes").map(|(_, mode)| mode);
        for place in files.flat_map(|file| std::iter::once(file).chain(modes(file))) {
            let levels = place.get("permissions").map_or(&[][..], SourceNode::entries);
            for level in levels.iter().filter(|level| !known.contains(&level.key.as_str())) {
                let near = near(&level.key, known);
                let help = near.first().map(|name| format!("did you mean `{name}`?"));
                self.problems.push(
                    FileProblem::error(
                        UNKNOWN_PERMISSION,
                        level.key_span,
                        format!("`{}` is no permission level", level.key),
                    )
                    .help(format!("there are `{}`", known.join("`, `")))
                    .maybe_help(help),
                );
            }
        }
    }

    /// Versions of the program must be versions, and a range must hold some.
    fn program_versions(&mut self, file: &SourceNode) {
        for key in ["minimumVersion", "testedVersion"] {
            self.program_version(file.get(key));
        }
        for key in ["channel", "hooks"] {
            self.program_version(file.get(key).and_then(|part| part.get("since")));
        }
        for entry in items(file, "versions") {
            let since = self.program_version(entry.get("since"));
            let until = self.program_version(entry.get("until"));
            if entry.get("since").is_none() && entry.get("until").is_none() {
                let text = "this entry does not say which versions it is about";
                self.add(FileProblem::error("version-range", entry.span, text).help(
                    "add `since`, `until` (the first version it is no longer about), or both",
                ));
            }
            if let (Some(since), Some(until)) = (since, until)
                && since >= until
            {
                let text = format!("no version is both since {since} and before {until}");
                self.add(FileProblem::error("version-range", entry.span, text));
            }
        }
    }

    fn program_version(&mut self, node: Option<&SourceNode>) -> Option<ProgramVersion> {
        let node = node?;
        match node.as_str()?.parse() {
            Ok(version) => Some(version),
            Err(error) => {
                let error: crate::version::NoVersion = error;
                self.add(FileProblem::error("version", node.span, error.to_string()));
                None
            }
        }
    }

    /// Arguments that must say where a value goes.
    fn placeholders(&mut self, file: &SourceNode) {
        let args = |node: Option<&SourceNode>| -> Option<(coven_notation::SourceSpan, String)> {
            let node = node?;
            let text: Vec<&str> = node.items().iter().filter_map(SourceNode::as_str).collect();
            (!text.is_empty()).then(|| (node.span, text.join("\n")))
        };
        let resume = file.get("resume");
        let wanted = [
            (args(file.get("model")), "${model}", "the model"),
            (args(resume.and_then(|node| node.get("args"))), "${agentSession}", "the conversation"),
            (
                args(resume.and_then(|node| node.get("newArgs"))),
                "${agentSession}",
                "the conversation",
            ),
        ];
        for (found, placeholder, what) in wanted {
            if let Some((span, text)) = found
                && !text.contains(placeholder)
            {
                self.add(
                    FileProblem::error(
                        "placeholder-missing",
                        span,
                        format!("these arguments do not say where the name of {what} goes"),
                    )
                    .help(format!("write `{placeholder}` in its place")),
                );
            }
        }
        if let Some(node) = resume.and_then(|node| node.get("screenPattern")) {
            self.pattern(node, "");
        }
    }

    fn answer(&mut self, file: &SourceNode) {
        let Some(answer) = file.get("answer") else { return };
        let Some((node, path)) = answer.get("file").and_then(|node| Some((node, node.as_str()?)))
        else {
            return;
        };
        let plain = |part: &str| !matches!(part, "" | "." | "..");
        if !path.strip_prefix("~/").is_some_and(|path| path.split('/').all(plain)) {
            let message = "the file with the conversation lies in the home of the user";
            let problem = FileProblem::error("answer-file", node.span, message);
            self.add(problem.help("write it as in `~/.program/*/${agentSession}.jsonl`"));
        }
        let is_known = path.contains("${agentSession}")
            || answer.get("session").is_some()
            || answer.get("folder").is_some();
        if !is_known {
            let message = "this does not say which of the conversations is the agent's own";
            let problem = FileProblem::error("answer-file", node.span, message);
            self.add(problem.help(
                "put `${agentSession}` into the name, or say with `session` or `folder` where its \
                 first line has the id of the conversation or the folder it runs in",
            ));
        }
    }

    fn states(&mut self, file: &SourceNode) {
        for (name, rule) in entries(file, "states") {
            self.rule(rule, &["pattern", "not", "begins", "below"]);
            self.blank_at_the_end(rule);
            self.work_anywhere(name, rule);
        }
        for (name, rule) in entries(file, "states").filter(|(name, rule)| is_approval(name, rule)) {
            self.approval_anywhere(rule);
            if !items(file, "approvals").is_empty() {
                self.approval_of_other_lines(name, rule);
            }
        }
    }

    /// A question that may stand anywhere on the screen is taken for one as long as its words do.
    fn approval_anywhere(&mut self, rule: &SourceNode) {
        let Some(pattern) = rule.get("pattern") else { return };
        let ends = pattern.as_str().is_some_and(|text| text.ends_with("\\z"));
        if rule.get("region").is_some() || ends {
            return;
        }
        self.add(
            FileProblem::warning(
                "approval-without-region",
                pattern.span,
                "without a `region` these words ask for approval wherever they stand on the screen",
            )
            .help("add `\"region\": \"tail:5\"`, or `cursor:1` for a question in the line of the cursor"),
        );
    }

    /// A question that no rule knows would be work, and nobody would be asked for a while.
    fn work_anywhere(&mut self, name: &str, rule: &SourceNode) {
        let Some(node) = rule.get("pattern") else { return };
        let is_work = match rule.get("kind").and_then(SourceNode::as_str) {
            Some(kind) => kind == "working",
            None => kind_by_name(name) == MatchKind::Working,
        };
        let is_bound = ["not", "below", "cursor"].iter().any(|key| rule.get(key).is_some());
        let pattern = node.as_str().and_then(|text| regex::Regex::new(text).ok());
        // One that matches an empty line too is an error.
        let matches_any = pattern.is_some_and(|pattern| {
            !pattern.is_match("") && ["x", "7", "?", "…"].iter().all(|text| pattern.is_match(text))
        });
        if is_work && !is_bound && matches_any {
            self.add(
                FileProblem::warning(
                    "working-anywhere",
                    node.span,
                    "this pattern matches any text, so a question that no rule knows looks like work",
                )
                .help("match what the program shows only while it works, or leave this rule out"),
            );
        }
    }

    /// The lines of a screen have no blanks at their end, so `^> ` does not find an empty prompt.
    fn blank_at_the_end(&mut self, rule: &SourceNode) {
        let Some(node) = rule.get("pattern") else { return };
        if node.as_str().is_some_and(|text| text.ends_with(' ') && !text.ends_with("\\ ")) {
            self.add(
                FileProblem::warning(
                    "pattern-ends-with-a-space",
                    node.span,
                    "lines are read without the blanks at their end, so this space is often missing",
                )
                .help("end with `( |$)` if the line may end here"),
            );
        }
    }

    fn dialogs(&mut self, file: &SourceNode) {
        let dialogs = items(file, "dialogs");
        for (index, dialog) in dialogs.iter().enumerate() {
            self.rule(dialog, &["pattern", "not", "begins"]);
            self.blank_at_the_end(dialog);
            let kind = dialog.get("kind").and_then(SourceNode::as_str);
            if kind == Some("approval") && !items(file, "approvals").is_empty() {
                let name = dialog.get("name").and_then(SourceNode::as_str);
                self.approval_of_other_lines(name.unwrap_or_default(), dialog);
            }
            for (_, keys) in entries(dialog, "answers") {
                self.keys(keys);
            }
            let Some(name) = dialog.get("name") else { continue };
            let earlier = dialogs[..index].iter().filter_map(|dialog| dialog.get("name"));
            let twin = earlier.into_iter().find(|earlier| earlier.as_str() == name.as_str());
            if let (Some(twin), Some(text)) = (twin, name.as_str()) {
                self.add(
                    FileProblem::error(
                        "duplicate-dialog",
                        name.span,
                        format!("`{text}` is here twice"),
                    )
                    .with_related(twin.span, "the first")
                    .help("give each dialog a name of its own"),
                );
            }
        }
    }

    fn signals(&mut self, file: &SourceNode) {
        let Some(signals) = file.get("signals") else { return };
        for title in items(signals, "title") {
            self.rule(title, &["pattern"]);
        }
    }

    fn rule(&mut self, rule: &SourceNode, patterns: &[&str]) {
        let flags = rule.get("flags").and_then(SourceNode::as_str).unwrap_or_default();
        let known = self.flags(rule, flags);
        for key in patterns {
            if let Some(node) = rule.get(key) {
                self.pattern(node, &known);
            }
        }
        if let Some(node) = rule.get("region")
            && let Some(text) = node.as_str()
            && let Err(error) = ScreenRegion::from_str(text)
        {
            self.add(FileProblem::error("region", node.span, error.to_string()));
        }
    }

    /// Reports flags that are none, and gives back those that are.
    fn flags(&mut self, rule: &SourceNode, flags: &str) -> String {
        let mut known = String::new();
        for flag in flags.chars() {
            let help = match flag {
                'i' | 's' | 'x' | 'm' => {
                    known.push(flag);
                    continue;
                }
                'g' | 'y' => "remove it: a rule asks only whether there is a match",
                'u' => "remove it: patterns are always Unicode",
                _ => {
                    "there are `i` (ignores case), `s` (`.` matches line ends) and `x` (spaces and comments)"
                }
            };
            let span = rule.get("flags").map_or(rule.span, |node| node.span);
            self.add(
                FileProblem::error(
                    "pattern-flag",
                    span,
                    format!("`{flag}` is no flag of a pattern"),
                )
                .help(help),
            );
        }
        known
    }

    fn pattern(&mut self, node: &SourceNode, flags: &str) {
        match pattern::compile(self.source, node, flags) {
            Err(problem) => self.add(*problem),
            Ok(pattern) if pattern.is_match("") && node.as_str().is_some() => {
                self.add(
                    FileProblem::error(
                        "pattern-matches-everything",
                        node.span,
                        "this pattern matches an empty line, so it would match every screen",
                    )
                    .help("name something that only this state shows"),
                );
            }
            Ok(_) => {}
        }
    }

    fn usable_size(&mut self, file: &SourceNode) {
        let Some(node) = file.get("usableSize") else { return };
        if let Some(Err(error)) = node.as_str().map(str::parse::<coven_model::TerminalSize>) {
            let problem = FileProblem::error("usable-size", node.span, error.to_string());
            self.add(
                problem.help("the smallest terminal that shows every question whole: `60x15`"),
            );
        }
    }

    fn keys(&mut self, keys: &SourceNode) {
        for node in keys.items() {
            if let Some(text) = node.as_str()
                && let Err(error) = KeyPress::from_str(text)
            {
                self.add(FileProblem::error("key", node.span, error.to_string()));
            }
        }
    }

    fn environment(&mut self, file: &SourceNode) {
        let modes = entries(file, "modes").map(|(_, mode)| mode);
        for place in std::iter::once(file).chain(modes) {
            let Some(env) = place.get("env") else { continue };
            let set = env.get("set").map_or(&[][..], SourceNode::entries);
            let set = set.iter().map(|entry| (entry.key.as_str(), entry.key_span));
            let unset =
                items(env, "unset").iter().filter_map(|node| Some((node.as_str()?, node.span)));
            for (name, span) in set.chain(unset) {
                if name.is_empty() || name.contains(['=', '\0']) {
                    self.problems.push(
                        FileProblem::error(
                            "variable-name",
                            span,
                            format!("`{name}` cannot be a variable"),
                        )
                        .help("a name is not empty and has no `=` in it"),
                    );
                }
            }
        }
    }
}
