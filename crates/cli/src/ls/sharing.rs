//! Agents that may write to one folder at the same time: said wherever sessions are looked at.

use std::collections::BTreeSet;

use coven_api::workflow::{SharedFolder, WorkflowItem};

use crate::output;

/// How many agents are named.
const MAX_NAMED_AGENTS: usize = 6;

/// Which agents share a folder, in a sentence.
pub(crate) fn words(shared: &SharedFolder) -> String {
    let agents = &shared.agents;
    let named: Vec<String> = agents
        .iter()
        .take(MAX_NAMED_AGENTS)
        .map(|agent| format!("{}/{} ({})", agent.workflow_name, agent.task, agent.adapter))
        .collect();
    let more = agents.len().saturating_sub(MAX_NAMED_AGENTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{} agents that may write share {}: {}{more}",
        agents.len(),
        output::one_line(&shared.folder),
        named.join(", ")
    )
}

/// Says on stderr which agents share a folder, once for each folder.
pub(crate) fn note(items: &[WorkflowItem]) {
    let shared: BTreeSet<String> =
        items.iter().filter_map(|item| Some(words(item.sharing.as_ref()?))).collect();
    for words in &shared {
        output::say!("{words}");
    }
    if !shared.is_empty() {
        output::say!(
            "They can undo each other's work; `coven new -t` and `coven run --tree` give agents a \
             worktree of their own."
        );
    }
}
