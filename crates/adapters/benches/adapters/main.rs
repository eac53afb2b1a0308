//! What it costs to read a state off a screen that changed: a snapshot and a look with 10 and with
//! 50 patterns, against feeding the same bytes to the screen; and what it costs to read an agent's
//! channel. Writes its section of docs/benchmarks.md.
//!
//! ```text
//! cargo xtask bench adapters                      measure and write docs/benchmarks.md
//! cargo xtask bench adapters -- --quick           a short look, printed only
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark says what it measured")]

mod channel;

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use coven_adapters::{Config, ScreenRules, ScreenSniffer};
use coven_terminal::screen::{GridSize, Screen};
use coven_testkit::bench::table::{header, row};
use coven_testkit::bench::{arguments, cpu, machine};
use serde_json::{Map, Value, json};

/// The screens that are measured.
const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];

/// How many patterns look at them.
const PATTERNS: [usize; 2] = [10, 50];

/// How a screen changes from one look to the next.
#[derive(Clone, Copy)]
enum Change {
    /// All of it is painted again.
    Whole,
    /// One line is, as by a spinner.
    Line,
}

impl Change {
    const ALL: [Self; 2] = [Self::Whole, Self::Line];

    fn name(self) -> &'static str {
        match self {
            Self::Whole => "the whole screen painted again",
            Self::Line => "one line changed",
        }
    }
}

/// CPU time per frame, the least of several rounds.
#[derive(Clone, Copy)]
struct Cost {
    feed: Duration,
    look: Duration,
}

fn main() -> io::Result<()> {
    let arguments = arguments::read(env!("CARGO_MANIFEST_DIR"), None)?;
    let (frames, rounds) = if arguments.quick { (200, 2) } else { (2000, 9) };
    let section = section(frames, rounds)?;
    println!("{section}");
    if let Some(path) = arguments.publish(&section)? {
        eprintln!("written to {}", path.display());
    }
    Ok(())
}

fn section(frames: u32, rounds: usize) -> io::Result<String> {
    let mut text = String::from("## Adapters\n\n`cargo xtask bench adapters`\n\n");
    text.push_str(&machine::sentence());
    writeln!(
        text,
        "A screen of an agent at work changes and is looked at after every change: a snapshot, all \
         rules, the verdict. *Feed* is the CPU time of the screen for the same bytes, *look* that of \
         snapshot and sniffer, both per change, the least of {rounds} rounds of {frames} changes. \
         On a living agent there are at most 60 looks in a second, however much it prints.\n"
    ).ok();
    text.push_str(&header("screen", ["patterns", "feed, µs", "look, µs", "look / feed"]));
    for change in Change::ALL {
        for size in SIZES {
            for patterns in PATTERNS {
                let cost = measure(change, size, patterns, frames, rounds)?;
                let micros = |time: Duration| time.as_secs_f64() * 1e6;
                let ratio = micros(cost.look) / micros(cost.feed);
                row(
                    &mut text,
                    &format!("{}x{}, {}", size.0, size.1, change.name()),
                    [
                        patterns.to_string(),
                        format!("{:.1}", micros(cost.feed)),
                        format!("{:.1}", micros(cost.look)),
                        format!("{ratio:.2}"),
                    ],
                );
            }
        }
    }
    text.push_str(&channel::section(rounds)?);
    Ok(text)
}

fn measure(
    change: Change,
    (columns, rows): (u16, u16),
    patterns: usize,
    frames: u32,
    rounds: usize,
) -> io::Result<Cost> {
    let rules = rules(patterns)?;
    let mut best: Option<Cost> = None;
    for _ in 0..rounds {
        let mut screen = Screen::new(GridSize::new(columns, rows));
        let mut sniffer = ScreenSniffer::new(rules.clone());
        screen.feed(whole(0, columns, rows).as_bytes());
        let (mut feed, mut look) = (Duration::ZERO, Duration::ZERO);
        for frame in 0..frames {
            let bytes = match change {
                Change::Whole => whole(frame, columns, rows),
                Change::Line => line(frame, rows),
            };
            feed += cpu::of(|| screen.feed(bytes.as_bytes()));
            let now = Duration::from_millis(u64::from(frame) * 16);
            look += cpu::of(|| {
                let snapshot = screen.snapshot();
                sniffer.read_screen(&snapshot, now);
            });
        }
        let cost = Cost { feed: feed / frames, look: look / frames };
        best = Some(best.map_or(cost, |best| Cost {
            feed: best.feed.min(cost.feed),
            look: best.look.min(cost.look),
        }));
    }
    best.ok_or_else(|| io::Error::other("nothing was measured"))
}

/// The rules of a CLI, and as many like them as are wanted.
fn rules(patterns: usize) -> io::Result<Arc<ScreenRules>> {
    let mut states = Map::new();
    // The one that matches comes last, so that all others are looked for.
    for index in 0..patterns - 1 {
        let region = ["screen", "tail:3", "tail:9", "tail:15"][index % 4];
        let pattern = match index % 5 {
            0 => format!("Do you want to (?:proceed|create|edit) {index}\\?"),
            1 => format!("^[·✢✳✶✻✽*] \\S+… \\(esc {index}"),
            2 => format!("Esc to cancel · Tab to amend {index}\\s*\\z"),
            3 => format!("^\\s*❯? ?1\\. Yes, number {index}\\b"),
            _ => format!("\\bRetrying in \\d+s · attempt {index}/10"),
        };
        states.insert(format!("rule_{index}"), json!({"pattern": pattern, "region": region}));
    }
    states.insert("working".to_owned(), json!({"pattern": "esc to interrupt", "region": "tail:3"}));
    let config: Config = serde_json::from_value(json!({"states": Value::Object(states)}))?;
    ScreenRules::new(&config).map(Arc::new).map_err(io::Error::other)
}

/// A full screen of prose with a prompt box below it.
fn whole(frame: u32, columns: u16, rows: u16) -> String {
    let mut text = String::from("\x1b[?2026h\x1b[H");
    let width = usize::from(columns);
    for row in 0..rows.saturating_sub(5) {
        let words =
            format!("  line {} of {frame}: ● the quick brown fox — ", u32::from(row) + frame);
        let words: String = words.chars().cycle().take(width - 1).collect();
        write!(text, "\x1b[38;5;{}m{words}\x1b[0m\x1b[K\r\n", 16 + row % 200).ok();
    }
    let rule = "─".repeat(width);
    write!(
        text,
        "✻ Brewing… ({frame}s · ↓ 24 tokens)\x1b[K\r\n{rule}❯ \x1b[K\r\n{rule}  ⏸ manual mode on · esc \
         to interrupt\x1b[K\x1b[?2026l"
    ).ok();
    text
}

/// Only the spinner turns.
fn line(frame: u32, rows: u16) -> String {
    let mark = ['·', '✢', '✳', '✶', '✻', '✽'][frame as usize % 6];
    let row = rows.saturating_sub(4);
    format!("\x1b[?2026h\x1b[{row};1H{mark} Brewing… ({frame}s · ↓ 24 tokens)\x1b[K\x1b[?2026l")
}
