//! Reads what an agent answered: JSON where JSON was asked for, and the verdict of an arbiter.
//!
//! An agent's answer is prose with JSON somewhere, and the prose may quote JSON that is not the
//! answer, our own verdict included. So an answer counts only where an answer stands: it is the
//! whole text, or the last thing in it, plain or fenced. What is quoted, or goes on in prose, does
//! not count, and two that disagree are none.

use coven_model::event::LoopVerdict;
use serde::Deserialize;
use serde_json::Value;

/// How much text is read in vain, relative to its length, before we give up looking.
const SCAN_BUDGET_FACTOR: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArbiterVerdict {
    pub verdict: LoopVerdict,
    /// Why, in its words; or why no verdict can be read.
    pub reason: String,
}

#[derive(Deserialize, PartialEq, Eq)]
struct AnswerJson {
    verdict: VerdictWord,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum VerdictWord {
    Actionable,
    Done,
}

/// Reads the answer of an arbiter. Never guesses: what is not clear is unreadable.
pub fn judge(output: &str) -> ArbiterVerdict {
    let unreadable = |reason: &str| ArbiterVerdict {
        verdict: LoopVerdict::Unreadable,
        reason: reason.to_owned(),
    };
    let text = output.trim();
    let last = match final_block(text) {
        Some(block) => vec![block.trim()],
        None => final_values(text),
    };
    if last.is_empty() {
        return unreadable("its answer does not end with a JSON object");
    }
    // A name that stands twice in an object is an error here, so it cannot say two things.
    let answers: Result<Vec<AnswerJson>, _> =
        last.iter().map(|text| serde_json::from_str(text)).collect();
    match answers.as_deref() {
        Ok([.., answer]) if answers.iter().flatten().all(|one| one.verdict == answer.verdict) => {
            ArbiterVerdict {
                verdict: match answer.verdict {
                    VerdictWord::Actionable => LoopVerdict::Actionable,
                    VerdictWord::Done => LoopVerdict::Done,
                },
                reason: answer.reason.clone().unwrap_or_default(),
            }
        }
        Ok(_) => unreadable("it gives two verdicts that disagree"),
        Err(_) => unreadable("the JSON it ends with is no verdict"),
    }
}

/// The JSON in an answer: the whole text, what it ends with, or its only fenced block.
pub(crate) fn json_answer(output: &str) -> Option<Value> {
    let text = output.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    if let Some(block) = final_block(text) {
        return serde_json::from_str(block).ok();
    }
    match *final_values(text) {
        [value] => return serde_json::from_str(value).ok(),
        [] => {}
        _ => return None,
    }
    let blocks = blocks(text);
    let mut values = blocks.iter().filter(|block| block.is_json);
    match (values.next(), values.next()) {
        (Some(block), None) => serde_json::from_str(block.content).ok(),
        _ => None,
    }
}

/// A fenced block that stands by itself.
struct FencedBlock<'a> {
    content: &'a str,
    /// Whether it says it is JSON, or says nothing.
    is_json: bool,
    /// Whether nothing follows it.
    is_last: bool,
}

fn final_block(text: &str) -> Option<&str> {
    let block = blocks(text).pop()?;
    (block.is_last && block.is_json).then_some(block.content)
}

/// All fenced blocks, those of quotations left out.
fn blocks(text: &str) -> Vec<FencedBlock<'_>> {
    let mut blocks = Vec::new();
    // The mark, how long it is, what it says, and where the content begins.
    let mut open: Option<(char, usize, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some((mark, length, rest)) = fence(line) else { continue };
        match open {
            None => open = Some((mark, length, rest, at)),
            Some((opened, least, says, content)) => {
                if mark == opened && length >= least && rest.is_empty() {
                    blocks.push(FencedBlock {
                        content: &text[content..start],
                        is_json: says.is_empty() || says.eq_ignore_ascii_case("json"),
                        is_last: text[at..].trim().is_empty(),
                    });
                    open = None;
                }
            }
        }
    }
    blocks
}

/// The mark of a fence, how long it is, and what follows it on the line.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 {
        return None;
    }
    let mark = inner.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let length = inner.len() - rest.len();
    (length >= 3).then(|| (mark, length, rest.trim()))
}

/// The JSON objects and arrays that a text ends with, with nothing but blanks between and after
/// them. Each begins at the beginning of a line.
fn final_values(text: &str) -> Vec<&str> {
    let mut run: Vec<&str> = Vec::new();
    let mut patience = text.len().saturating_mul(SCAN_BUDGET_FACTOR).saturating_add(4096);
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let blanks = rest.len() - rest.trim_start().len();
        let begins = rest[blanks..].starts_with(['{', '[']);
        if begins && let Some(length) = value_length(&rest[blanks..], &mut patience) {
            let value = &rest[blanks..blanks + length];
            run.push(value);
            at += blanks + length;
            continue;
        }
        if patience == 0 {
            return Vec::new();
        }
        // Prose: nothing before it is at the end.
        if !rest.trim().is_empty() {
            run.clear();
        }
        at += rest[blanks..].find('\n').map_or(rest.len(), |end| blanks + end + 1);
    }
    run
}

/// How long the JSON value is that a text begins with.
fn value_length(text: &str, patience: &mut usize) -> Option<usize> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    let read = stream.next();
    let length = stream.byte_offset();
    if matches!(read, Some(Ok(_))) {
        return Some(length);
    }
    // How far it was read is not told; a value that is not closed is read to the end.
    let cost = match read {
        Some(Err(error)) if !error.is_eof() => {
            text.split_inclusive('\n').take(error.line()).map(str::len).sum()
        }
        _ => text.len(),
    };
    *patience = patience.saturating_sub(cost.max(1));
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn verdict(text: &str) -> LoopVerdict {
        judge(text).verdict
    }

    const DONE: &str = r#"{"verdict": "done", "reason": "all fixed"}"#;
    const MORE: &str = r#"{"verdict": "actionable", "reason": "a bug"}"#;

    #[test]
    fn a_verdict_is_read_where_an_answer_stands() {
        for text in [
            DONE.to_owned(),
            format!("\n\n  {DONE}\n"),
            format!("I looked at it.\n{DONE}"),
            format!("I looked at it.\n\n```json\n{DONE}\n```\n"),
            format!("```\n{DONE}\n```"),
            format!("~~~ JSON\n{DONE}\n~~~"),
            "{\n  \"reason\": \"so\",\n  \"verdict\": \"done\"\n}".to_owned(),
            format!("{DONE}\n{DONE}"),
            format!("Not what it says:\n> {MORE}\n{DONE}"),
            format!("It printed\n```\n{MORE}\n```\nwhich is old.\n{DONE}"),
            format!("{MORE}\nwas my first thought.\n{DONE}"),
        ] {
            assert_eq!(verdict(&text), LoopVerdict::Done, "{text}");
        }
        assert_eq!(judge(MORE).reason, "a bug");
        assert_eq!(judge(MORE).verdict, LoopVerdict::Actionable);
        assert_eq!(judge(r#"{"verdict":"done"}"#).reason, "");
    }

    #[test]
    fn what_only_looks_like_a_verdict_is_unreadable() {
        for text in [
            String::new(),
            "done".to_owned(),
            format!("> {DONE}"),
            format!("The agent said:\n> ```json\n> {DONE}\n> ```"),
            format!("It says {DONE}"),
            format!("{DONE} is what it should not say."),
            format!("```json\n{DONE}\n```\nis what the agent printed."),
            format!("```text\n{DONE}\n```"),
            format!("````\n```json\n{DONE}\n```\n"),
            format!("{DONE}\n{MORE}"),
            r#"{"verdict":"done","verdict":"actionable"}"#.to_owned(),
            r#"{"verdict":"finished"}"#.to_owned(),
            r#"{"verdict":["done"]}"#.to_owned(),
            format!("[{DONE}]"),
            r#"{"verdict":"done""#.to_owned(),
        ] {
            assert_eq!(verdict(&text), LoopVerdict::Unreadable, "{text}");
        }
    }

    #[test]
    fn json_is_the_whole_answer_its_end_or_its_only_block() {
        assert_eq!(json_answer("42"), Some(json!(42)));
        assert_eq!(json_answer("Here:\n[1,\n 2]"), Some(json!([1, 2])));
        assert_eq!(json_answer("Here:\n```json\n[1]\n```\nThat is all."), Some(json!([1])));
        assert_eq!(json_answer("```\nls\n```\nand\n```json\n[1]\n```"), Some(json!([1])));
        assert_eq!(json_answer("```json\n[1]\n```\nor\n```json\n[2]\n```\n?"), None);
        assert_eq!(json_answer("[1]\n[2]"), None);
        assert_eq!(json_answer("no"), None);
    }

    #[test]
    fn hostile_text_does_not_take_for_ever() {
        let text = "[\n".repeat(200_000);
        assert_eq!(json_answer(&text), None);
        let text = format!("{}\n{DONE}", "{\"a\": 1}\n".repeat(100_000));
        assert_eq!(verdict(&text), LoopVerdict::Unreadable);
        let text = format!("{}{DONE}", "{\"a\": \n".repeat(100_000));
        assert_eq!(verdict(&text), LoopVerdict::Unreadable);
    }
}
