//! Calls of tools that an agent has announced and that have not returned, so that a request about
//! one can be held against what was announced.

use coven_model::ContentDigest;
use serde::{Deserialize, Serialize};

use super::extras::{is_nothing, told};
use super::question::{canonical_json, short_id};
use crate::transcript::entry::visible_line;
use crate::transcript::json::JsonNode;

/// How many calls are remembered. Agents run a few side by side.
const MAX_CALLS: usize = 64;

/// What of a call says what it does, under the names that the programs have for it.
const FIELDS: [&str; 6] = ["command", "cmd", "cwd", "path", "file_path", "filePath"];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AnnouncedCalls(Vec<AnnouncedCall>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct AnnouncedCall {
    id: String,
    /// The tool, where it has a name.
    tool: Option<String>,
    fields: Vec<AnnouncedField>,
}

/// A field of what a call is given. It may have megabytes, so its digest is compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct AnnouncedField {
    name: String,
    digest: ContentDigest,
    told: String,
}

impl AnnouncedCalls {
    pub(super) fn announce(&mut self, id: JsonNode<'_>, tool: Option<&str>, input: JsonNode<'_>) {
        let Some(id) = short_id(id) else { return };
        self.0.retain(|known| known.id != id);
        if self.0.len() >= MAX_CALLS {
            self.0.remove(0);
        }
        let field = |name: &&str| {
            let value = input.get(name).to_value().filter(|value| !is_nothing(value))?;
            let told = visible_line(&told(&format!("announced {name}"), &value));
            Some(AnnouncedField { name: (*name).to_owned(), digest: digest(&value), told })
        };
        let fields = FIELDS.iter().filter_map(field).collect();
        self.0.push(AnnouncedCall { id, tool: tool.map(visible_line), fields });
    }

    /// What a request has other than the call that was announced under its id, which stands in the
    /// field `id_name`. An agent that announces its calls asks about one of them.
    pub(super) fn disagreements(
        &self,
        id_name: &str,
        id: JsonNode<'_>,
        tool: Option<&str>,
        input: JsonNode<'_>,
    ) -> Vec<String> {
        let Some(known) = self.0.iter().find(|known| Some(known.id.as_str()) == id.str()) else {
            let other = (!self.0.is_empty()).then(|| id.to_value().unwrap_or_default());
            return other.map(|id| told(id_name, &id)).into_iter().collect();
        };
        let tool = tool.map(visible_line);
        let differs = |field: &&AnnouncedField| {
            let asked = input.get(&field.name).to_value().filter(|value| !is_nothing(value));
            asked.is_none_or(|asked| digest(&asked) != field.digest)
        };
        let other_tool = known.tool.as_ref().filter(|known| Some(*known) != tool.as_ref());
        let other_tool = other_tool.map(|tool| format!("announced tool: {tool}"));
        let fields = known.fields.iter().filter(differs).map(|field| field.told.clone());
        other_tool.into_iter().chain(fields).collect()
    }

    pub(super) fn returned(&mut self, id: Option<&str>) {
        self.0.retain(|known| Some(known.id.as_str()) != id);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn digest(value: &serde_json::Value) -> ContentDigest {
    ContentDigest::of_bytes(canonical_json(value).as_bytes())
}
