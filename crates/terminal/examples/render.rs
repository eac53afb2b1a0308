//! Prints the final screen of the bytes on standard input as text.
//!
//! `cargo run -p coven-terminal --example render -- --cols 80 --rows 25 < bytes`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to the terminal")]

use std::io::{self, Read, Write};
use std::process::ExitCode;

use coven_terminal::screen::{GridSize, Screen};

const USAGE: &str = "usage: render [--cols N] [--rows N] [--crlf] < bytes
  --cols N   columns of the screen (80)
  --rows N   rows of the screen (24)
  --crlf     turn every line feed into carriage return and line feed";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("render: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let mut size = GridSize::default();
    let mut crlf = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--cols" => size.columns = number(&arg, args.next())?,
            "--rows" => size.rows = number(&arg, args.next())?,
            "--crlf" => crlf = true,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(());
            }
            _ => return Err(format!("unknown argument {arg:?}")),
        }
    }
    let mut screen = Screen::new(GridSize::new(size.columns, size.rows));
    let mut input = io::stdin().lock();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let length = input.read(&mut chunk).map_err(|error| format!("cannot read: {error}"))?;
        if length == 0 {
            break;
        }
        if crlf {
            for line in chunk[..length].split_inclusive(|byte| *byte == b'\n') {
                match line.split_last() {
                    Some((b'\n', text)) => {
                        screen.feed(text);
                        screen.feed(b"\r\n");
                    }
                    _ => screen.feed(line),
                }
            }
        } else {
            screen.feed(&chunk[..length]);
        }
    }
    let mut output = io::stdout().lock();
    writeln!(output, "{}", screen.snapshot().text())
        .map_err(|error| format!("cannot write: {error}"))
}

fn number(name: &str, value: Option<String>) -> Result<u16, String> {
    let value = value.ok_or_else(|| format!("{name} needs a number"))?;
    value.parse().map_err(|_| format!("{name} needs a number up to 65535, not {value:?}"))
}
