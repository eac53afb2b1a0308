//! What it costs to read an agent's channel, against reading the same conversation from its
//! headless output.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use coven_adapters::channel::{ChannelCodec, ChannelDirection, ChannelKind, ChannelOptions};
use coven_adapters::transcript::{TranscriptDecoder, TranscriptFormat};
use coven_testkit::bench::cpu;
use coven_testkit::bench::table::{header, row};
use serde_json::{Value, json};

/// How much is read in one round.
const MEGABYTES: usize = 8;

const MEGABYTE: usize = 1024 * 1024;

/// The pieces in which a pipe hands over what was printed.
const PIECE: usize = 64 * 1024;

/// One conversation in two shapes.
struct Pair {
    name: &'static str,
    kind: ChannelKind,
    channel: fn(usize) -> Value,
    format: TranscriptFormat,
    headless: fn(usize) -> Value,
}

const PAIRS: [Pair; 3] = [
    Pair {
        name: "claude-stdio",
        kind: ChannelKind::ClaudeStdio,
        channel: claude,
        format: TranscriptFormat::ClaudeStreamJson,
        headless: claude,
    },
    Pair {
        name: "codex-app-server",
        kind: ChannelKind::CodexAppServer,
        channel: codex_channel,
        format: TranscriptFormat::CodexJson,
        headless: codex_headless,
    },
    Pair {
        name: "acp",
        kind: ChannelKind::Acp,
        channel: acp,
        format: TranscriptFormat::GeminiStreamJson,
        headless: gemini,
    },
];

/// The part of the section about channels.
pub(crate) fn section(rounds: usize) -> io::Result<String> {
    let mut text = format!(
        "\nAn agent's channel against its headless output with the same texts and tool calls: CPU \
         time per megabyte, the least of {rounds} rounds of {MEGABYTES} MB.\n\n"
    );
    text.push_str(&header("channel", ["codec, ms", "decoder, ms", "codec / decoder"]));
    for pair in &PAIRS {
        let channel = lines(pair.channel);
        let headless = lines(pair.headless);
        let codec = least(rounds, || {
            let mut codec = ChannelCodec::new(pair.kind, ChannelOptions::default());
            let mut events = 0_usize;
            for piece in channel.chunks(PIECE) {
                codec.feed(ChannelDirection::Out, piece, &mut |_| events += 1);
            }
            events
        })?;
        let decoder = least(rounds, || {
            let mut decoder = TranscriptDecoder::new(pair.format);
            let mut items = 0_usize;
            for piece in headless.chunks(PIECE) {
                decoder.feed_stdout(piece, &mut |_| items += 1);
            }
            items
        })?;
        let per_megabyte = |time: Duration, bytes: usize| {
            let kilobytes = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
            time.as_secs_f64() * 1e3 * 1024.0 / f64::from(kilobytes)
        };
        let codec = per_megabyte(codec, channel.len());
        let decoder = per_megabyte(decoder, headless.len());
        let ratio = format!("{:.2}", codec / decoder);
        row(&mut text, pair.name, [format!("{codec:.1}"), format!("{decoder:.1}"), ratio]);
    }
    Ok(text)
}

fn least(rounds: usize, mut read: impl FnMut() -> usize) -> io::Result<Duration> {
    let mut best = None;
    for _ in 0..rounds {
        let mut found = 0;
        let time = cpu::of(|| found = read());
        if found == 0 {
            return Err(io::Error::other("nothing was read"));
        }
        best = Some(best.map_or(time, |best: Duration| best.min(time)));
    }
    best.ok_or_else(|| io::Error::other("nothing was measured"))
}

fn lines(message: fn(usize) -> Value) -> Vec<u8> {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < MEGABYTES * MEGABYTE {
        writeln!(text, "{}", message(number)).ok();
        number += 1;
    }
    text.into_bytes()
}

fn words(number: usize) -> String {
    format!("The quick brown fox number {number} jumps over the lazy dog. ").repeat(4)
}

fn command(number: usize) -> String {
    format!("cargo test --package store -- case_{number}")
}

/// Every fourth message is a tool's result, every fourth the call before it.
fn claude(number: usize) -> Value {
    let call = format!("toolu_{}", number / 4);
    match number % 4 {
        2 => {
            let input = json!({"command": command(number)});
            let part = json!({"type": "tool_use", "id": call, "name": "Bash", "input": input});
            json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": [part]}, "session_id": "S"})
        }
        3 => {
            let part =
                json!({"type": "tool_result", "tool_use_id": call, "content": words(number)});
            json!({"type": "user", "message": {"role": "user", "content": [part]}, "session_id": "S"})
        }
        _ => {
            let part = json!({"type": "text", "text": words(number)});
            let usage = json!({"input_tokens": 1234, "output_tokens": number});
            json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": [part], "usage": usage}, "session_id": "S"})
        }
    }
}

fn codex_channel(number: usize) -> Value {
    let id = format!("item_{}", number / 2);
    let place = |item: Value| json!({"threadId": "T", "turnId": "U", "item": item});
    match number % 4 {
        2 => {
            let item = json!({"type": "commandExecution", "id": id, "command": command(number), "status": "inProgress"});
            json!({"method": "item/started", "params": place(item)})
        }
        3 => {
            let item = json!({"type": "commandExecution", "id": id, "command": command(number), "status": "completed", "exitCode": 0, "aggregatedOutput": words(number)});
            json!({"method": "item/completed", "params": place(item)})
        }
        _ => {
            let item =
                json!({"type": "agentMessage", "id": format!("m{number}"), "text": words(number)});
            json!({"method": "item/completed", "params": place(item)})
        }
    }
}

fn codex_headless(number: usize) -> Value {
    let id = format!("item_{}", number / 2);
    match number % 4 {
        2 => {
            let item = json!({"type": "command_execution", "id": id, "command": command(number), "status": "in_progress"});
            json!({"type": "item.started", "item": item})
        }
        3 => {
            let item = json!({"type": "command_execution", "id": id, "command": command(number), "status": "completed", "exit_code": 0, "aggregated_output": words(number)});
            json!({"type": "item.completed", "item": item})
        }
        _ => {
            let item =
                json!({"type": "agent_message", "id": format!("m{number}"), "text": words(number)});
            json!({"type": "item.completed", "item": item})
        }
    }
}

fn acp(number: usize) -> Value {
    let call = format!("call_{}", number / 4);
    let update = match number % 4 {
        2 => {
            json!({"sessionUpdate": "tool_call", "toolCallId": call, "kind": "execute", "status": "in_progress", "title": "Shell", "rawInput": {"command": command(number)}})
        }
        3 => {
            let content =
                json!([{"type": "content", "content": {"type": "text", "text": words(number)}}]);
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed", "content": content})
        }
        _ => {
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words(number)}})
        }
    };
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "S", "update": update}})
}

fn gemini(number: usize) -> Value {
    let call = format!("call_{}", number / 4);
    match number % 4 {
        2 => {
            json!({"type": "tool_use", "tool_id": call, "tool_name": "run_shell_command", "parameters": {"command": command(number)}, "timestamp": "2026-11-16T15:46:01.966Z"})
        }
        3 => {
            json!({"type": "tool_result", "tool_id": call, "status": "success", "output": words(number), "timestamp": "2026-11-16T15:46:01.966Z"})
        }
        _ => {
            json!({"type": "message", "role": "assistant", "content": words(number), "delta": true, "timestamp": "2026-11-16T15:46:01.966Z"})
        }
    }
}
