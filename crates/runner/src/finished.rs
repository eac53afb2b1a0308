//! What became of a job while no process followed it, read from what its holder wrote to disk.

use std::path::Path;

use coven_adapters::AgentAdapter;
use coven_adapters::hook::HookEvent;
use coven_adapters::replay::is_reply;
use coven_model::{AgentMode, AgentState, JobOutcome, StateMark, TokenUsage};
use coven_runtime::domain::{ExitStatus, InputMode};
use coven_runtime::hold::protocol::{DISCARDED_MARK, INPUT_MODE_MARK};
use coven_tape::{TapeEvent, TapeReader, TapeStream};
use coven_terminal::signals::{SignalTap, TerminalSignal};

use crate::actor::{DELETE_LINE, LineTypist, TypedLine};
use crate::delivery::{is_answer_key, is_submit, is_typing};
use crate::headless::decoder;
use crate::outcome;
use crate::task::OkCodes;

/// The outcome of a job whose process has ended, from its exit and its tape.
pub fn finished(
    adapter: &dyn AgentAdapter,
    mode: AgentMode,
    ok: &OkCodes,
    folder: &Path,
    exit: Option<ExitStatus>,
    previous: TokenUsage,
) -> Result<JobOutcome, coven_tape::Error> {
    let ending = outcome::ending(None, exit);
    if mode == AgentMode::Interactive {
        return Ok(outcome::of_terminal(ending, ok, None, None, None));
    }
    let mut decoder = decoder(adapter, previous);
    for record in TapeReader::open(folder)?.records(0) {
        if let TapeEvent::Output { stream, bytes } = record?.event {
            match stream {
                TapeStream::Out => decoder.feed_stdout(&bytes, &mut |_| {}),
                TapeStream::Err => decoder.feed_stderr(&bytes, &mut |_| {}),
            }
        }
    }
    Ok(outcome::of_transcript(decoder, ending, ok, &mut |_| {}))
}

/// What an agent on a terminal did before it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastActivity {
    /// Whether it has worked since it was last told something.
    pub worked: bool,
    /// Whether a message was submitted last, and it was not seen to work since.
    pub submitted: bool,
    /// Whether it has ever worked.
    pub begun: bool,
    /// How many questions it has asked, with the one that it may be showing.
    pub questions: u64,
    /// The last of each thing that it keeps saying by signals: its title and its status.
    pub said: Vec<TerminalSignal>,
    /// What it reported last by itself, if nothing was typed since.
    pub reported: Option<HookEvent>,
    /// What it was doing last, as the process that followed it then noted.
    pub(crate) last: Option<StateMark>,
    /// Up to where it had printed when keys of an answer were pressed that nothing was printed after.
    pub(crate) stray: Option<u64>,
    /// What was typed and not submitted, where the terminal collects lines.
    pub(crate) line: TypedLine,
}

/// What an agent did, from its tape: what it said by signals and its title, what it was told, and
/// the marks of the process that followed it then. Up to an offset of its output: what comes after that is
/// still to be seen.
pub fn past(
    adapter: &dyn AgentAdapter,
    folder: &Path,
    until: u64,
) -> Result<PastActivity, coven_tape::Error> {
    let rules = adapter.rules();
    let mut tap = SignalTap::new();
    let mut past = PastActivity::default();
    let mut answered = true;
    let mut typist = LineTypist::Person;
    let mut submits = false;
    let keys_mark = keys_mark();
    let mut is_answer = false;
    for record in TapeReader::open(folder)?.records(0) {
        let record = record?;
        match &record.event {
            TapeEvent::Output { .. } | TapeEvent::Gap(_) => past.stray = None,
            TapeEvent::Mark(note) if note.starts_with(DISCARDED_MARK) => past.stray = None,
            TapeEvent::Mark(note) if is_typing(note) => is_answer = is_answer_key(note),
            TapeEvent::Input(bytes) if !is_reply(&String::from_utf8_lossy(bytes)) => {
                let is_key = std::mem::take(&mut is_answer);
                past.stray = past.stray.or(is_key.then_some(record.offset));
            }
            _ => {}
        }
        // What follows is still to be seen.
        let Some(before) = until.checked_sub(record.offset) else { continue };
        match record.event {
            TapeEvent::Output { bytes, .. } => {
                let before = usize::try_from(before).unwrap_or(usize::MAX).min(bytes.len());
                tap.feed(&bytes[..before], |signal| {
                    past.worked |= rules.says_working(&signal);
                    if matches!(signal, TerminalSignal::Title(_) | TerminalSignal::Status(_)) {
                        let kind = std::mem::discriminant(&signal);
                        past.said.retain(|earlier| std::mem::discriminant(earlier) != kind);
                        past.said.push(signal);
                    }
                });
            }
            TapeEvent::Mark(note) => {
                if note == keys_mark || note.starts_with(DISCARDED_MARK) {
                    past.line.clear();
                }
                if is_typing(&note) {
                    typist = LineTypist::Runner;
                    submits = is_submit(&note);
                }
                if let Some(event) = HookEvent::of_mark(&note) {
                    past.reported = event.after(past.reported);
                }
                let Some(mark) = StateMark::read(&note) else { continue };
                match mark.state {
                    AgentState::Working => past.worked = true,
                    AgentState::Awaiting => {
                        // A process that finds an agent asking notes its question again.
                        past.questions = mark.asked.unwrap_or(past.questions + 1);
                        answered = false;
                    }
                    _ => {}
                }
                past.last = Some(mark);
            }
            // What it said last may be among what is lost.
            TapeEvent::Gap(_) => past.said.clear(),
            TapeEvent::Input(bytes) if !is_reply(&String::from_utf8_lossy(&bytes)) => {
                past.worked = false;
                past.submitted = std::mem::take(&mut submits);
                answered = true;
                past.reported = None;
                // What deletes a line is nobody's text: the note before it is about the next.
                let typist = if is_deletion(&bytes) { typist } else { std::mem::take(&mut typist) };
                past.line.typed(&bytes, false, typist);
            }
            _ => {}
        }
        past.begun |= past.worked;
        past.submitted &= !past.worked;
    }
    // A question that shows now, after the last one was answered, is a new one.
    past.questions += u64::from(answered);
    Ok(past)
}

/// Whether input only deletes what was typed before.
fn is_deletion(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| *byte == DELETE_LINE)
}

/// The note that the terminal collects no lines any more: what was typed then was read.
fn keys_mark() -> String {
    let mode = InputMode { echoes: false, collects_lines: false };
    format!("{INPUT_MODE_MARK} {}", mode.as_str())
}

#[cfg(test)]
mod tests {
    use coven_adapters::{Options, default_registry};
    use coven_tape::TapeWriter;

    use super::*;

    /// A tape with these pieces of output, and something typed between them.
    fn taped(pieces: &[&str]) -> (tempfile::TempDir, Vec<u64>) {
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        let mut ends = Vec::new();
        for (time, piece) in (0..).zip(pieces) {
            tape.output(time, TapeStream::Out, piece.as_bytes()).unwrap();
            ends.push(tape.end());
        }
        (folder, ends)
    }

    #[test]
    fn what_an_agent_keeps_saying_by_signals_is_known_as_it_was_at_an_offset() {
        let adapter = default_registry().create("demo", Options::default()).unwrap();
        let (folder, ends) = taped(&[
            "\x1b]0;demo: idle\x1b\\\x1b]7501;state=idle:app=demo\x1b\\> ",
            "\x1b]0;demo: working\x1b\\",
            "\x1b]7501;state=working:app=demo\x1b\\",
            "\x1b]0;demo: idle\x1b\\\x1b]7501;state=idle:app=demo\x1b\\",
        ]);
        let said = |until: u64| past(&*adapter, folder.path(), until).unwrap();
        let works = |past: &PastActivity| {
            let mut sniffer =
                coven_adapters::ScreenSniffer::resumed(adapter.rules(), &past.said, None, 0);
            sniffer.look_at_text("Type a message", std::time::Duration::ZERO);
            sniffer.verdict().state == AgentState::Working
        };
        assert_eq!(said(0), PastActivity { questions: 1, ..PastActivity::default() });
        let idle = said(ends[0]);
        assert!(!idle.worked && idle.said.len() == 2 && !works(&idle), "{idle:?}");
        let working = said(ends[2]);
        assert!(working.worked && working.said.len() == 2 && works(&working), "{working:?}");
        let over = said(u64::MAX);
        assert!(over.worked && !works(&over), "{over:?}");
        // A signal that was cut off is still to come.
        assert_eq!(said(ends[0] + 3), idle);
    }

    #[test]
    fn what_an_agent_reported_is_known_until_something_is_typed() {
        let adapter = default_registry().create("demo", Options::default()).unwrap();
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        let reported = || past(&*adapter, folder.path(), u64::MAX).unwrap().reported;
        assert_eq!(reported(), None);
        tape.mark(1, &HookEvent::PostToolUse.mark()).unwrap();
        tape.mark(2, "coven:input x").unwrap();
        assert_eq!(reported(), Some(HookEvent::PostToolUse));
        // The terminal answers by itself; that is no typing.
        tape.input(3, b"\x1b[?62c").unwrap();
        assert_eq!(reported(), Some(HookEvent::PostToolUse));
        tape.mark(4, &HookEvent::PermissionRequest.mark()).unwrap();
        assert_eq!(reported(), None);
        tape.mark(5, &HookEvent::Stop.mark()).unwrap();
        assert_eq!(reported(), Some(HookEvent::Stop));
        tape.input(6, b"go on\r").unwrap();
        assert_eq!(reported(), None);
    }

    /// Spec: C0.14.2
    #[test]
    fn keys_of_an_answer_may_still_act_until_something_is_printed() {
        let adapter = default_registry().create("demo", Options::default()).unwrap();
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        // Wherever the screen was saved.
        let stray = || {
            let of = |until| past(&*adapter, folder.path(), until).unwrap().stray;
            assert_eq!(of(0), of(u64::MAX));
            of(0)
        };
        tape.output(1, TapeStream::Out, b"Run it?").unwrap();
        tape.input(2, b"x").unwrap();
        assert_eq!(stray(), None, "a person has typed it");
        tape.mark(3, "coven:answers s/1").unwrap();
        assert_eq!(stray(), None, "it was not pressed yet");
        tape.input(4, b"y").unwrap();
        assert_eq!(stray(), Some(7));
        tape.output(5, TapeStream::Out, b" y").unwrap();
        assert_eq!(stray(), None);
        tape.mark(6, "coven:answers s/1").unwrap();
        tape.input(7, b"\r").unwrap();
        assert_eq!(stray(), Some(9));
        tape.mark(8, DISCARDED_MARK).unwrap();
        assert_eq!(stray(), None, "it was thrown away");
    }

    #[test]
    fn a_question_is_counted_once_however_often_the_agent_is_taken_over() {
        let adapter = default_registry().create("demo", Options::default()).unwrap();
        let folder = coven_testkit::folders::temporary().unwrap();
        let mut tape = TapeWriter::create(folder.path(), coven_tape::Options::default()).unwrap();
        let questions = || past(&*adapter, folder.path(), u64::MAX).unwrap().questions;
        let mark = |asked: Option<u64>| {
            serde_json::json!({"state": "awaiting", "kind": "approval", "rule": "x", "asked": asked})
                .to_string()
        };
        for time in 0..3 {
            tape.mark(time, &mark(Some(1))).unwrap();
            assert_eq!(questions(), 1);
        }
        tape.input(3, b"1").unwrap();
        assert_eq!(questions(), 2, "what it shows after an answer is another one");
        tape.mark(4, &mark(Some(2))).unwrap();
        assert_eq!(questions(), 2);
        // Tapes of before said less.
        tape.mark(5, &mark(None)).unwrap();
        assert_eq!(questions(), 3);
    }
}
