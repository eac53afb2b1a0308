//! What a policy file says that is not what its author wants.

use coven_model::AwaitingKind;
use coven_notation::{FileProblem, SourceNode};

use crate::rules::PolicyRule;

/// Commands that nobody means to allow with a pattern; one that allows them allows anything.
const UNWANTED_COMMANDS: [&str; 3] = ["rm -rf /", "curl -s https://example.org/x", "git push -f"];

/// Finds rules that need another version, that ask although they say allow, or that allow too much.
pub(super) fn check(
    version: u32,
    items: &[SourceNode],
    rules: &[PolicyRule],
    problems: &mut Vec<FileProblem>,
) {
    for (node, rule) in items.iter().zip(rules) {
        let place = |key: &str| node.get(key).map_or(node.span, |value| value.span);
        if let Some(key) = ["command", "redirect"].iter().find(|key| node.get(key).is_some())
            && version < 2
        {
            let message = format!("`{key}` needs version 2 of the policy");
            let problem = FileProblem::error("needs-version-2", place(key), message);
            problems.push(problem.help("write `version: 2` at the top"));
        }
        if rule.allows_by_matches() {
            let message = "this allows no approval: what `matches` finds may stand anywhere in \
                           what an agent shows, so it is asked";
            let help = "write `version: 2`, and `command: …` in place of `matches: …`; a command \
                        is matched whole, as in `command: cargo test( .*)?`";
            let problem = FileProblem::warning("allow-by-matches", place("matches"), message);
            problems.push(problem.help(help));
        }
        let open =
            rule.command.as_ref().filter(|_| rule.ruling.answers_yes()).is_some_and(|open| {
                UNWANTED_COMMANDS.iter().filter(|unwanted| open.matches(unwanted)).count() > 1
            });
        if open {
            let message = "this allows nearly every command";
            let problem = FileProblem::warning("open-command", place("command"), message);
            problems.push(problem.help("begin with the name of a program: `cargo test( .*)?`"));
        }
        if rule.allows_unread_approvals() {
            let message = "an approval whose command cannot be read from the agent's screen, or \
                           cannot be taken apart, is asked although this rule allows it";
            let problem = FileProblem::warning("asks-unread", place("decision"), message);
            problems.push(problem.help("`command: …` says which commands are allowed"));
        }
        let wrong = |kinds: &Vec<AwaitingKind>| !kinds.contains(&AwaitingKind::Approval);
        if rule.is_about_commands() && rule.kinds.as_ref().is_some_and(wrong) {
            let message = "only an approval has a command, and this rule is about no approval";
            let problem = FileProblem::warning("no-command", place("kind"), message);
            problems.push(problem.help("leave `kind` out"));
        }
    }
}
