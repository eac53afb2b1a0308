//! `coven play`: a recording of a terminal, with its timing.

use std::fs;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::time::Duration;

use coven_api::task::AttemptQuery;
use coven_notation::HumanDuration;
use coven_terminal::recording::{EventData, RecordingEvent, RecordingReader};
use tokio::time::{Instant, sleep_until};

use crate::attach::LEAVE;
use crate::connect::{self, block_on};
use crate::failure::{CommandFailure, Result};
use crate::find::{self, SessionTarget, TaskFilter};
use crate::mirror::{self, ScreenMirror};
use crate::printed::PrintedOutput;
use crate::signals::{SignalEvent, SignalListener};
use crate::tty::{KeyMode, TerminalKeyboard};
use crate::{output, tty};

/// What `coven play` takes.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  coven play brisk-otter/assemble            as it was
  coven play brisk-otter/assemble --speed 4 --idle-limit 1s
  coven play session.cast                    a file in the asciicast format
  coven play brisk-otter/assemble --export assemble.cast

Keys: space pauses and goes on, `+` and `-` change the speed, q leaves.")]
pub(crate) struct Arguments {
    /// A task, or a file that ends with `.cast`.
    #[arg(value_name = "NAME[/TASK]|FILE", add = crate::complete::sessions())]
    what: String,
    /// How many times as fast.
    #[arg(short, long, value_name = "N", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// No pause is longer than this, such as `2s`.
    #[arg(short, long, value_name = "TIME")]
    idle_limit: Option<HumanDuration>,
    /// Which attempt; the newest unless said.
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Write the recording to a file (asciicast v2) instead of playing it; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    export: Option<PathBuf>,
}

fn speed(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.01..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("a speed is a number from 0.01 to 1000".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result {
    block_on(async {
        if arguments.export.is_none() && tty::is_interactive() {
            tty::refuse_dumb("coven logs NAME/TASK shows what its terminal showed, line by line")?;
        }
        let bytes = recording(arguments).await?;
        if let Some(file) = &arguments.export {
            return export(file, &bytes);
        }
        let wrong =
            |error| CommandFailure::failed(format!("{} cannot be played: {error}", arguments.what));
        let reader = RecordingReader::new(BufReader::new(Cursor::new(bytes))).map_err(wrong)?;
        let (width, height) = (reader.header().width, reader.header().height);
        if let Some((columns, rows)) = tty::size()
            && (columns < width || rows < height)
        {
            output::say!(
                "note: it was recorded on {width} by {height}; this terminal shows a part of it"
            );
        }
        RecordingPlayer::new(arguments, (width, height))?.play(reader, &arguments.what).await
    })
}

fn export(file: &Path, bytes: &[u8]) -> Result {
    if file == Path::new("-") {
        return output::bytes(bytes);
    }
    fs::write(file, bytes).map_err(|error| {
        CommandFailure::failed(format!("could not write {}: {error}", file.display()))
    })
}

async fn recording(arguments: &Arguments) -> Result<Vec<u8>> {
    let path = Path::new(&arguments.what);
    if path.extension().is_some_and(|ending| ending == "cast") {
        return fs::read(path).map_err(|error| CommandFailure::unreadable(path, &error));
    }
    let target: SessionTarget = arguments.what.parse().map_err(CommandFailure::usage)?;
    let client = connect::daemon().await?;
    let (workflow, task) = find::task(&client, &target, TaskFilter::Started).await?;
    let query = AttemptQuery { attempt: arguments.attempt };
    Ok(client.recording(&workflow.item.address(), task.id.as_str(), query).await?)
}

/// Plays, and leaves the terminal as it was.
struct RecordingPlayer {
    keyboard: Option<TerminalKeyboard>,
    /// The recorded terminal, where there is one to show it on.
    mirror: Option<ScreenMirror>,
    /// What is printed where there is none.
    printed: PrintedOutput,
    signals: SignalListener,
    speed: f64,
    idle_limit: Option<Duration>,
    /// When what was shown last happened, in the recording and here.
    recorded: Duration,
    shown: Instant,
}

/// A command that a key press gives to the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlayerCommand {
    Pause,
    Leave,
    Resized,
    Other,
}

impl RecordingPlayer {
    fn new(arguments: &Arguments, size: (u16, u16)) -> Result<Self> {
        let keyboard = if tty::is_interactive() {
            Some(TerminalKeyboard::take(KeyMode::Single)?)
        } else {
            None
        };
        let clipboard = mirror::clipboard()?;
        let mut mirror = None;
        if let (Some(_), Some(outside)) = (&keyboard, tty::size()) {
            // A recording begins on an empty screen; what is there moves up into the history.
            let (rows, up) = (outside.1, "\r\n".repeat(usize::from(outside.1)));
            output::bytes(format!("\x1b[{rows};1H{up}\x1b[H").as_bytes())?;
            mirror = Some(ScreenMirror::new(size, outside, clipboard));
        }
        let mut player = Self {
            keyboard,
            mirror,
            printed: PrintedOutput::new()?,
            signals: SignalListener::listen()?,
            speed: arguments.speed,
            idle_limit: arguments.idle_limit.map(Into::into),
            recorded: Duration::ZERO,
            shown: Instant::now(),
        };
        player.fit()?;
        Ok(player)
    }

    /// Shows the recorded terminal as it fits on this one.
    fn fit(&mut self) -> Result {
        let Some(mirror) = &mut self.mirror else { return Ok(()) };
        output::bytes(&mirror.decide(false))?;
        output::bytes(&mirror.paint())
    }

    /// This terminal got another size.
    fn resized(&mut self) -> Result {
        if let (Some(mirror), Some(outside)) = (&mut self.mirror, tty::size()) {
            mirror.resize_outside(outside);
        }
        self.fit()
    }

    fn show(&mut self, data: &EventData) -> Result {
        match (data, &mut self.mirror) {
            (EventData::Output(text), None) => self.printed.print(text.as_bytes()),
            (EventData::Output(text), Some(mirror)) => {
                output::bytes(&mirror.feed(text.as_bytes()))?;
                output::bytes(&mirror.paint())
            }
            (EventData::Resize { cols, rows }, Some(mirror)) => {
                mirror.resize((*cols, *rows));
                self.fit()
            }
            _ => Ok(()),
        }
    }

    async fn play(
        mut self,
        events: impl Iterator<
            Item = std::result::Result<RecordingEvent, coven_terminal::recording::Error>,
        >,
        what: &str,
    ) -> Result {
        for event in events {
            // A recording that is cut off ends there.
            let Ok(event) = event else {
                output::say!("note: {what} ends early");
                break;
            };
            if !matches!(event.data, EventData::Output(_) | EventData::Resize { .. }) {
                continue;
            }
            let at = Duration::try_from_secs_f64(event.time).unwrap_or(self.recorded);
            if !self.until(at).await? {
                break;
            }
            self.show(&event.data)?;
        }
        Ok(())
    }

    /// Waits for a moment of the recording; whether to go on.
    async fn until(&mut self, at: Duration) -> Result<bool> {
        let mut pause = at.saturating_sub(self.recorded);
        if let Some(limit) = self.idle_limit {
            pause = pause.min(limit);
        }
        let mut due = self.shown + pause.div_f64(self.speed);
        while Instant::now() < due {
            let wish = tokio::select! {
                () = sleep_until(due) => break,
                wish = wish(self.keyboard.as_ref(), &mut self.signals, &mut self.speed) => wish?,
            };
            let paused = Instant::now();
            match wish {
                PlayerCommand::Leave => return Ok(false),
                PlayerCommand::Pause => {
                    loop {
                        match wish_now(self).await? {
                            PlayerCommand::Pause => break,
                            PlayerCommand::Leave => return Ok(false),
                            PlayerCommand::Resized => self.resized()?,
                            PlayerCommand::Other => {}
                        }
                    }
                    due += paused.elapsed();
                }
                PlayerCommand::Resized => self.resized()?,
                PlayerCommand::Other => due = self.shown + pause.div_f64(self.speed),
            }
        }
        (self.recorded, self.shown) = (at, due);
        Ok(true)
    }
}

async fn wish_now(player: &mut RecordingPlayer) -> Result<PlayerCommand> {
    wish(player.keyboard.as_ref(), &mut player.signals, &mut player.speed).await
}

async fn wish(
    keyboard: Option<&TerminalKeyboard>,
    signals: &mut SignalListener,
    speed: &mut f64,
) -> Result<PlayerCommand> {
    let typed = async {
        match keyboard {
            Some(keyboard) => keyboard.read().await,
            None => std::future::pending().await,
        }
    };
    let bytes = tokio::select! {
        told = signals.next() => return Ok(if told == SignalEvent::Resized { PlayerCommand::Resized } else { PlayerCommand::Leave }),
        bytes = typed => bytes?,
    };
    // More than one key may come at once.
    let pressed = |key: &[u8]| bytes.iter().filter(|byte| key.contains(byte)).count();
    if bytes.is_empty() || pressed(b"qQ") > 0 {
        return Ok(PlayerCommand::Leave);
    }
    for _ in 0..pressed(b"+=") {
        *speed = (*speed * 2.0).min(1000.0);
    }
    for _ in 0..pressed(b"-") {
        *speed = (*speed / 2.0).max(0.01);
    }
    Ok(if pressed(b" ") % 2 == 1 { PlayerCommand::Pause } else { PlayerCommand::Other })
}

impl Drop for RecordingPlayer {
    fn drop(&mut self) {
        if let Some(mirror) = &mut self.mirror {
            // Nothing more can be done for a terminal that is gone.
            output::bytes(format!("{LEAVE}\x1b[{};1H\r\n", mirror.end()).as_bytes()).ok();
        }
    }
}
