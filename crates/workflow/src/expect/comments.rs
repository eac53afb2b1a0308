//! `expect: comments`: an agent's review, as comments on lines that people are shown.
//!
//! The shape is the same as that of a review that a person sends, and its schema is published. An
//! agent is told it at the end of its prompt, because nothing but this shape can be shown.

use std::path::{Component, Path};
use std::sync::LazyLock;

use coven_model::{ReviewComment, WrittenReview};
use serde_json::{Value, json};

use super::{OutputMismatch, OutputSchema};

/// The most comments of one answer.
const MAX_COMMENTS: usize = 200;

/// The longest text of a comment or a summary, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 4096;

const MAX_LINE: u32 = 1_000_000_000;

/// The schema of the answer.
pub fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a review: comments on lines of files",
        "type": "object",
        "required": ["comments"],
        "additionalProperties": false,
        "properties": {
            "summary": {
                "type": ["string", "null"],
                "description": "what there is to say about the whole",
                "maxLength": MAX_TEXT_BYTES,
            },
            "comments": {
                "type": "array",
                "maxItems": MAX_COMMENTS,
                "items": {
                    "type": "object",
                    "required": ["path", "line", "text"],
                    "additionalProperties": false,
                    "properties": {
                        "path": {
                            "type": "string",
                            "description": "the file, relative to the top folder of the repository",
                            "minLength": 1,
                            "maxLength": MAX_PATH_BYTES,
                        },
                        "side": {
                            "type": "string",
                            "enum": ["old", "new"],
                            "description": "which file the line is counted in: `new`, as it is now \
                                            (the usual), or `old`, as it was before",
                        },
                        "line": {
                            "type": "integer",
                            "description": "the line, counted from 1",
                            "minimum": 1,
                            "maximum": MAX_LINE,
                        },
                        "endLine": {
                            "type": ["integer", "null"],
                            "description": "the last line, if it is about several",
                            "minimum": 1,
                            "maximum": MAX_LINE,
                        },
                        "text": {
                            "type": "string",
                            "description": "the comment",
                            "minLength": 1,
                            "maxLength": MAX_TEXT_BYTES,
                        },
                    },
                },
            },
        },
    })
}

/// The schema as one that answers are checked against.
fn checked_schema() -> &'static OutputSchema {
    // Every keyword in it is one that is checked; a test holds it against that.
    static SCHEMA: LazyLock<OutputSchema> = LazyLock::new(|| OutputSchema(schema()));
    &SCHEMA
}

/// What stands below the prompt of an agent whose answer is to be comments.
pub(crate) fn request() -> &'static str {
    static REQUEST: LazyLock<String> = LazyLock::new(|| {
        let mut schema = schema();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("$schema");
            schema.remove("title");
        }
        format!(
            "Your final answer must be one JSON object and nothing else. It is shown as comments on \
             the lines it names. If there is nothing to comment on, `comments` is empty. Its JSON \
             schema:\n{schema}"
        )
    });
    &REQUEST
}

/// The review in an answer. Its paths are plain and lie inside the tree.
pub fn review(answer: &Value) -> Result<WrittenReview, OutputMismatch> {
    checked_schema().check(answer).map_err(OutputMismatch::Comments)?;
    let read: Result<WrittenReview, _> = serde_json::from_value(answer.clone());
    let mut review = read.map_err(|error| OutputMismatch::Comments(error.to_string()))?;
    let is_too_long = |text: &str| text.len() > MAX_TEXT_BYTES;
    if review.summary.as_deref().is_some_and(is_too_long) {
        let why = format!("`summary` has more than {MAX_TEXT_BYTES} bytes");
        return Err(OutputMismatch::Comments(why));
    }
    review.summary = review.summary.filter(|summary| !summary.trim().is_empty());
    for (place, comment) in review.comments.iter_mut().enumerate() {
        checked(comment).map_err(|(key, why)| {
            OutputMismatch::Comments(format!("`comments[{place}].{key}` {why}"))
        })?;
    }
    Ok(review)
}

/// Holds a comment against what a schema cannot say.
fn checked(comment: &mut ReviewComment) -> Result<(), (&'static str, String)> {
    comment.path = plain_path(&comment.path).map_err(|why| ("path", why.to_owned()))?;
    if comment.end_line.is_some_and(|end| end < comment.line) {
        return Err(("endLine", format!("comes before line {}", comment.line)));
    }
    comment.end_line = comment.end_line.filter(|end| *end > comment.line);
    if comment.text.trim().is_empty() {
        return Err(("text", "is empty".to_owned()));
    }
    if comment.text.len() > MAX_TEXT_BYTES {
        return Err(("text", format!("has more than {MAX_TEXT_BYTES} bytes")));
    }
    Ok(())
}

/// A relative path that leads nowhere else, without parts that mean nothing.
fn plain_path(text: &str) -> Result<String, &'static str> {
    if text.contains(char::is_control) {
        return Err("has a character that no path on one line has");
    }
    let mut parts = Vec::new();
    for part in Path::new(text).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => return Err("leads out of the repository"),
            Component::RootDir | Component::Prefix(_) => {
                return Err("is not relative to the top folder of the repository");
            }
        }
    }
    if parts.is_empty() { Err("names no file") } else { Ok(parts.join("/")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(path: &str, more: Value) -> Value {
        let mut comment = json!({"path": path, "line": 3, "text": "why?"});
        let (Some(known), Value::Object(more)) = (comment.as_object_mut(), more) else {
            panic!("an object")
        };
        known.extend(more);
        json!({"comments": [comment]})
    }

    #[test]
    fn the_published_schema_has_no_keyword_that_is_not_checked() {
        assert_eq!(OutputSchema::new(schema()).as_ref(), Ok(checked_schema()));
    }

    #[test]
    fn what_a_person_may_send_is_what_an_agent_may_answer() {
        let review = WrittenReview {
            summary: Some("Nearly.".into()),
            comments: vec![
                ReviewComment {
                    path: "src/a.rs".into(),
                    side: coven_model::ReviewSide::Old,
                    line: 1,
                    end_line: Some(4),
                    text: "why?".into(),
                },
                ReviewComment {
                    path: "b".into(),
                    side: coven_model::ReviewSide::New,
                    line: 7,
                    end_line: None,
                    text: "x".repeat(MAX_TEXT_BYTES),
                },
            ],
        };
        assert_eq!(super::review(&json!(review)), Ok(review));
    }

    #[test]
    fn what_means_the_same_is_taken_in_one_form() {
        let answer = answer("./src//a.rs", json!({"endLine": 3, "side": "new"}));
        let read = review(&answer).unwrap();
        assert_eq!((read.comments[0].path.as_str(), read.comments[0].end_line), ("src/a.rs", None));
        let nulls = json!({"summary": null, "comments": [{"path": "a", "line": 1, "endLine": null, "text": "x"}]});
        assert_eq!(review(&nulls).unwrap().summary, None);
        assert_eq!(review(&json!({"comments": []})), Ok(WrittenReview::default()));
    }

    #[test]
    fn an_answer_that_does_not_fit_says_where() {
        let none = json!({});
        let wrong = |answer: &Value| review(answer).unwrap_err().to_string();
        for (answer, why) in [
            (json!([]), "it is array, not object"),
            (json!({"summary": "fine"}), "it has no `comments`"),
            (json!({"comments": [], "more": 1}), "`more` is not allowed"),
            (answer("", none.clone()), "`comments[0].path` must be at least 1"),
            (answer("/etc/passwd", none.clone()), "`comments[0].path` is not relative to the top"),
            (answer("a/../../b", none.clone()), "`comments[0].path` leads out of the repository"),
            (answer("./.", none.clone()), "`comments[0].path` names no file"),
            (answer("a\nb", none.clone()), "`comments[0].path` has a character"),
            (answer("a\u{0}b", none), "`comments[0].path` has a character"),
            (answer("a", json!({"line": 0})), "`comments[0].line` must be at least 1"),
            (answer("a", json!({"line": "3"})), "`comments[0].line` is string, not integer"),
            (answer("a", json!({"line": 5_000_000_000_u64})), "`comments[0].line` must be at most"),
            (answer("a", json!({"endLine": 2})), "`comments[0].endLine` comes before line 3"),
            (answer("a", json!({"side": "left"})), "`comments[0].side` is none of the allowed"),
            (answer("a", json!({"text": " \n"})), "`comments[0].text` is empty"),
            (answer("a", json!({"severity": 3})), "`comments[0].severity` is not allowed"),
            (
                answer("a", json!({"text": "x".repeat(20_000)})),
                "`comments[0].text` must be at most",
            ),
            (answer("a", json!({"text": "ä".repeat(10_000)})), "`comments[0].text` has more than"),
            (
                json!({"comments": vec![json!({"path": "a", "line": 1, "text": "x"}); 201]}),
                "`comments` must be at most 200",
            ),
        ] {
            let said = wrong(&answer);
            assert!(said.contains(why), "{said}");
            assert!(said.starts_with("the answer is no review: "), "{said}");
        }
    }

    #[test]
    fn agents_are_told_the_shape_on_one_line_of_its_own() {
        let line = request().lines().last().unwrap();
        let told: Value = serde_json::from_str(line).unwrap();
        assert_eq!(told["properties"], schema()["properties"]);
    }
}
