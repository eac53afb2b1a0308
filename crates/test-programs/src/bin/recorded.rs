//! An agent that plays the first turn of a recorded conversation: it prints what the real program
//! printed, and waits where that one was told something. What it is answered is written to a file,
//! one line for each answer, so that a test can count.
//!
//! `coven-test-recorded RECORDING ANSWERS`

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(recording), Some(answers)) = (arguments.next(), arguments.next()) else {
        return ExitCode::from(2);
    };
    match play(&recording, &answers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn play(recording: &str, answers: &str) -> io::Result<()> {
    let text = std::fs::read_to_string(recording)?;
    let records: Vec<Value> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(io::Error::other)?;
    let mut player = RecordingPlayer {
        input: io::stdin().lock().lines(),
        answers: File::options().create(true).append(true).open(answers)?,
        output: File::options().write(true).open("/dev/stdout")?,
        ids: BTreeMap::new(),
    };
    for record in &records {
        let message = &record["msg"];
        if record["dir"] == "<<" {
            player.print(message)?;
            if ends_turn(&records, message) {
                break;
            }
        } else if !player.wait_for(message)? {
            return Ok(());
        }
    }
    // An agent stays until its input is closed, and a second answer would be seen.
    while let Some(message) = player.read()? {
        player.note_answer(&message)?;
    }
    Ok(())
}

struct RecordingPlayer<Input> {
    input: Input,
    answers: File,
    /// What the agent prints to: the program that started it reads it.
    output: File,
    /// The ids of requests to the agent, by those that they have in the recording.
    ids: BTreeMap<String, Value>,
}

impl<Input: Iterator<Item = io::Result<String>>> RecordingPlayer<Input> {
    fn read(&mut self) -> io::Result<Option<Value>> {
        let Some(line) = self.input.next() else { return Ok(None) };
        serde_json::from_str(&line?).map(Some).map_err(io::Error::other)
    }

    /// Prints a recorded message; an answer with the id of the request that it is for.
    fn print(&mut self, message: &Value) -> io::Result<()> {
        let mut message = message.clone();
        if is_answer(&message)
            && let Some(id) = self.ids.get(&id_of(&message).to_string())
        {
            *id_mut(&mut message) = id.clone();
        }
        writeln!(self.output, "{message}")
    }

    /// Waits until a message like the recorded one came; false if the input was closed before.
    fn wait_for(&mut self, recorded: &Value) -> io::Result<bool> {
        while let Some(message) = self.read()? {
            self.note_answer(&message)?;
            if kind(&message) != kind(recorded) {
                continue;
            }
            self.ids.insert(id_of(recorded).to_string(), id_of(&message).clone());
            if kind(recorded) == "initialize" && recorded["type"] == "control_request" {
                // The recorded answer was too long to keep.
                let id = id_of(&message);
                let response = json!({"subtype": "success", "request_id": id, "response": {}});
                let said = json!({"type": "control_response", "response": response});
                writeln!(self.output, "{said}")?;
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn note_answer(&mut self, message: &Value) -> io::Result<()> {
        // A refusal is what requests get that Coven does not know.
        if is_answer(message) && message["error"].is_null() {
            writeln!(self.answers, "{message}")?;
        }
        Ok(())
    }
}

/// Whether the first turn is over with this message.
fn ends_turn(records: &[Value], message: &Value) -> bool {
    let is_prompt = |record: &&Value| record["msg"]["method"] == "session/prompt";
    let prompt = records.iter().find(is_prompt).map(|record| &record["msg"]["id"]);
    message["type"] == "result"
        || message["method"] == "turn/completed"
        || (is_answer(message) && prompt == Some(&message["id"]))
}

fn is_answer(message: &Value) -> bool {
    message["type"] == "control_response"
        || (message["method"].is_null() && message["type"].is_null() && !message["id"].is_null())
}

fn id_of(message: &Value) -> &Value {
    match message["type"].as_str() {
        Some("control_response") => &message["response"]["request_id"],
        Some("control_request") => &message["request_id"],
        _ => &message["id"],
    }
}

fn id_mut(message: &mut Value) -> &mut Value {
    if message["type"] == "control_response" {
        &mut message["response"]["request_id"]
    } else {
        &mut message["id"]
    }
}

/// What a message is: its method or subtype, or which request it answers.
fn kind(message: &Value) -> String {
    if is_answer(message) {
        return format!("answer to {}", id_of(message));
    }
    let names = [&message["method"], &message["request"]["subtype"], &message["type"]];
    names.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}
