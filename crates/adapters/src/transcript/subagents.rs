//! The helpers that an agent runs beside itself, and what each of them is called.
//!
//! Claude Code's main agent begins one by a call of the tool `Task`, which newer versions call
//! `Agent`. What a helper says and does has the id of that call as `parent_tool_use_id`; what it
//! asks has the id of its own call, and its own id as `agent_id`, which `task_started` tells beside
//! the call that began it. Helpers in the background outlive the turn in which they were begun.

use serde::{Deserialize, Serialize};

use super::entry::{self, visible_line};
use super::json::JsonNode;
use super::recent::RecentKeys;

/// The tools by which a helper is begun.
const TOOLS: [&str; 2] = ["task", "agent"];

/// What a helper is called of which nothing is known.
const UNNAMED: &str = "a subagent";

/// Longest of the words that name a helper: they stand in front of what it asks.
const MAX_WORDS_BYTES: usize = 48;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Subagents {
    /// What each is called, by the call that began it.
    names: RecentKeys<String>,
    /// The call that began each, by its id.
    tasks: RecentKeys<String>,
    /// The call that began the helper which made each call.
    parents: RecentKeys<String>,
}

impl Subagents {
    /// A call of a tool, by the main agent or by the helper that this parent began.
    pub(crate) fn called(&mut self, part: JsonNode<'_>, parent: Option<&str>) {
        let Some(call) = part.get("id").str() else { return };
        if let Some(parent) = parent {
            self.parents.put(call, entry::name(parent));
        }
        let tool = part.get("name").str().unwrap_or_default();
        if TOOLS.iter().any(|known| tool.eq_ignore_ascii_case(known)) {
            self.names.put(call, words(part.get("input")));
        }
    }

    /// The agent says that a helper has begun.
    pub(crate) fn started(&mut self, event: JsonNode<'_>) {
        let Some(call) = event.get("tool_use_id").str() else { return };
        if let Some(task) = event.get("task_id").str() {
            self.tasks.put(task, entry::name(call));
        }
        if self.names.get(call).is_none() && event.get("subagent_type").exists() {
            self.names.put(call, words(event));
        }
    }

    /// What the helper is called that this call began.
    pub(crate) fn name(&self, parent: &str) -> String {
        self.names.get(parent).cloned().unwrap_or_else(|| UNNAMED.to_owned())
    }

    /// Whether this is the id of a helper that was begun.
    pub(crate) fn is_known(&self, agent: &str) -> bool {
        self.tasks.get(agent).is_some()
    }

    /// Which helper makes a call, by the call or by the helper's id; nothing for the main agent.
    pub(crate) fn caller(
        &self,
        parent: Option<&str>,
        call: Option<&str>,
        agent: Option<&str>,
    ) -> Option<String> {
        let of_call = || call.and_then(|call| self.parents.get(call)).map(String::as_str);
        let of_agent = || agent.and_then(|agent| self.tasks.get(agent)).map(String::as_str);
        match parent.or_else(of_call).or_else(of_agent) {
            Some(parent) => Some(self.name(parent)),
            None => agent.map(|agent| format!("{UNNAMED} ({})", short(agent))),
        }
    }
}

/// Its kind, and what it was begun for.
fn words(input: JsonNode<'_>) -> String {
    let text = |name: &str| input.get(name).str().map(short).filter(|text| !text.is_empty());
    let kind = text("subagent_type").map(|kind| format!("subagent {kind}"));
    let name = kind.unwrap_or_else(|| UNNAMED.to_owned());
    match text("description") {
        Some(purpose) => format!("{name} ({purpose})"),
        None => name,
    }
}

fn short(text: &str) -> String {
    let line = visible_line(text);
    let kept = line.floor_char_boundary(MAX_WORDS_BYTES);
    if kept < line.len() { format!("{}…", &line[..kept]) } else { line }
}
