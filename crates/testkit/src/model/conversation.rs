//! A request of any dialect, reduced to what the script needs: what the user said, what came of
//! the tool calls since, and which tools there are.

use serde_json::Value;

use super::dialect::ApiDialect;
use super::scene::ModelScene;

#[derive(Debug, Default)]
pub(super) struct ModelConversation {
    /// Everything the user said, oldest first.
    pub(super) said: Vec<String>,
    /// What came of the tool calls since the last text that names a scene.
    pub(super) results: Vec<String>,
    pub(super) tools: Vec<ModelTool>,
}

/// A tool that the model may call.
#[derive(Debug)]
pub(super) struct ModelTool {
    pub(super) name: String,
    pub(super) parameters: Value,
}

impl ModelConversation {
    pub(super) fn read(dialect: ApiDialect, body: &Value) -> Self {
        let mut conversation = Self::default();
        match dialect {
            ApiDialect::Messages => conversation.messages(body),
            ApiDialect::Responses => conversation.responses(body),
            ApiDialect::Chat => conversation.chat(body),
            ApiDialect::Gemini => conversation.gemini(body),
        }
        conversation
    }

    /// The scene that is played. A request without tools, or whose last text has no tag, is none of
    /// the agent's turns: some ask for titles, summaries or suggestions besides.
    pub(super) fn scene(&self) -> Option<ModelScene> {
        if self.tools.is_empty() {
            return None;
        }
        self.said.last().and_then(|text| ModelScene::in_text(text))
    }

    /// Text in one piece or several; each of several is one that the user said.
    fn says_all(&mut self, content: &Value) {
        match content {
            Value::Array(parts) => parts.iter().for_each(|part| self.says(flat(part))),
            _ => self.says(flat(content)),
        }
    }

    fn says(&mut self, text: String) {
        let tagged = ModelScene::in_text(&text).is_some();
        let text = if tagged { without_elements(&text) } else { text };
        // What a CLI puts in front of the user's own words, as if the user had said it.
        if text.trim().is_empty() || text.trim_start().starts_with('<') {
            return;
        }
        if ModelScene::in_text(&text).is_some() {
            self.results.clear();
        }
        self.said.push(text);
    }

    fn offers(&mut self, tool: &Value, parameters: &[&str]) {
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default().to_owned();
        let parameters = parameters.iter().find_map(|key| tool.get(*key)).cloned();
        self.tools.push(ModelTool { name, parameters: parameters.unwrap_or_default() });
    }

    fn messages(&mut self, body: &Value) {
        for tool in list(&body["tools"]) {
            self.offers(tool, &["input_schema"]);
        }
        for message in list(&body["messages"]).filter(|message| message["role"] == "user") {
            if let Some(text) = message["content"].as_str() {
                self.says(text.to_owned());
            }
            for block in list(&message["content"]) {
                match block["type"].as_str() {
                    Some("tool_result") => self.results.push(flat(&block["content"])),
                    Some("text") => self.says(flat(block)),
                    _ => {}
                }
            }
        }
    }

    fn responses(&mut self, body: &Value) {
        for tool in list(&body["tools"]) {
            self.offers(tool, &["parameters"]);
        }
        if let Some(text) = body["input"].as_str() {
            self.says(text.to_owned());
        }
        for item in list(&body["input"]) {
            let kind = item["type"].as_str().unwrap_or("message");
            if kind == "message" && item["role"] == "user" {
                self.says_all(&item["content"]);
            } else if kind.ends_with("_output") {
                self.results.push(flat(&item["output"]));
            }
        }
    }

    fn chat(&mut self, body: &Value) {
        for tool in list(&body["tools"]) {
            self.offers(&tool["function"], &["parameters"]);
        }
        for message in list(&body["messages"]) {
            match message["role"].as_str() {
                Some("user") => self.says_all(&message["content"]),
                Some("tool") => self.results.push(flat(&message["content"])),
                _ => {}
            }
        }
    }

    fn gemini(&mut self, body: &Value) {
        for group in list(&body["tools"]) {
            for tool in list(&group["functionDeclarations"]) {
                self.offers(tool, &["parametersJsonSchema", "parameters"]);
            }
        }
        for message in list(&body["contents"]).filter(|message| message["role"] == "user") {
            for part in list(&message["parts"]) {
                if let Some(response) = part.get("functionResponse") {
                    self.results.push(response["response"].to_string());
                } else if let Some(text) = part["text"].as_str() {
                    self.says(text.to_owned());
                }
            }
        }
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of a piece of content, however it is wrapped.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(flat).collect::<Vec<_>>().join("\n"),
        Value::Object(part) => match part.get("text").or(part.get("content")) {
            Some(text) => flat(text),
            None => value.to_string(),
        },
        _ => String::new(),
    }
}

/// A text without the elements that a CLI puts around the user's own words, such as
/// `<current_datetime>…</current_datetime>`.
fn without_elements(text: &str) -> String {
    let mut own = String::new();
    let mut rest = text;
    while let Some((before, element)) = rest.split_once('<') {
        let name: String = element
            .chars()
            .take_while(|char| char.is_ascii_alphanumeric() || "_-".contains(*char))
            .collect();
        let closed = element.split_once(&format!("</{name}>")).filter(|_| !name.is_empty());
        let Some((_, after)) = closed else { break };
        own.push_str(before);
        rest = after;
    }
    own.push_str(rest);
    own.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cli_puts_around_the_users_words_is_left_out() {
        let text = "<now>noon</now>\n\nplay:think please\n\n<note>\n<a>b</a>\n</note>";
        assert_eq!(without_elements(text), "play:think please");
        assert_eq!(without_elements("is 1 < 2? play:text"), "is 1 < 2? play:text");
    }
}
