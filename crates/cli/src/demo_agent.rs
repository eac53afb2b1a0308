//! `coven demo-agent`: the scripted agent that comes with Coven. Hidden, because people reach it
//! as the agent `demo`; it is an agent like any other and knows nothing of the rest.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use coven_demo::{
    AgentStreams, DEFAULT_DELAY, DEFAULT_MODEL, Error, HelperProcess, Options, OutputFormat,
    PermissionMode, guide,
};

/// A scripted agent that behaves like a real coding CLI and needs nothing installed.
///
/// On a terminal it converses; with --headless, or without a terminal, it does one turn and ends.
#[derive(clap::Args)]
#[command(version, after_long_help = after_help())]
pub(crate) struct Arguments {
    /// What to do; after `--` it may begin with a dash. Headless, it can also come from stdin
    prompt: Option<OsString>,

    /// Do one turn without a terminal's dialogs
    #[arg(long)]
    headless: bool,

    /// Speak the Agent Client Protocol on standard input and output
    #[arg(long, hide = true)]
    acp: bool,

    /// What a headless run prints: the answer, or JSON lines for everything that happens
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format())]
    output_format: OutputFormat,

    /// What may be done without asking. Headless, `ask` means no
    #[arg(long, value_name = "LEVEL", default_value = "ask", value_parser = permissions())]
    permissions: PermissionMode,

    /// Go on with an earlier session
    #[arg(long, value_name = "ID", conflicts_with = "session_id")]
    resume: Option<String>,

    /// Give the new session this id
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,

    /// The name of the model it pretends to use
    #[arg(long, value_name = "NAME", default_value = DEFAULT_MODEL)]
    model: String,

    /// Directives to follow before those of the prompt
    #[arg(long, value_name = "DIRECTIVES")]
    first: Option<String>,

    /// Follow the directives in this file; the prompt is then only said
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// Use the alternate screen
    #[arg(long)]
    alt: bool,

    /// How long it waits before it says or does something, on a terminal [default: 0.3]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    delay: Option<Duration>,

    /// Be a process that another agent leaves behind
    #[arg(long, hide = true)]
    helper: Option<HelperProcess>,
}

/// Runs the agent on the streams of this process.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
    let streams =
        AgentStreams { input: input.as_fd(), output: output.as_fd(), errors: errors.as_fd() };
    match coven_demo::run(&arguments.into(), streams) {
        Ok(code) => ExitCode::from(code),
        // A reader that closed the pipe, as `head` does, is no failure.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn report(error: &Error) {
    crate::output::ask!("error: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        crate::output::ask!(": {source}");
        cause = source.source();
    }
    crate::output::say!("");
    if let Some(hint) = error.hint() {
        crate::output::say!("  hint: {hint}");
    }
}

impl From<Arguments> for Options {
    fn from(arguments: Arguments) -> Self {
        Self {
            prompt: arguments.prompt,
            headless: arguments.headless,
            acp: arguments.acp,
            output_format: arguments.output_format,
            permissions: arguments.permissions,
            resume: arguments.resume,
            session_id: arguments.session_id,
            model: arguments.model,
            first: arguments.first,
            script: arguments.script,
            alternate: arguments.alt,
            delay: arguments.delay.unwrap_or(DEFAULT_DELAY),
            helper: arguments.helper,
        }
    }
}

fn after_help() -> String {
    format!(
        "Directives:\n{}\nExit codes:\n{}\n\
         Environment:\n  COVEN_DEMO_HOME  where sessions are kept \
         (default: $XDG_STATE_HOME/coven-demo)\n\n\
         Examples:\n  coven demo-agent 'say Hello; approve date'\n  \
         coven demo-agent --headless --output-format stream-json --permissions all 'approve ls'",
        guide::DIRECTIVES,
        guide::EXIT_CODES
    )
}

fn format() -> impl TypedValueParser<Value = OutputFormat> {
    PossibleValuesParser::new(OutputFormat::NAMES).try_map(|name| name.parse::<OutputFormat>())
}

fn permissions() -> impl TypedValueParser<Value = PermissionMode> {
    PossibleValuesParser::new(PermissionMode::NAMES).try_map(|name| name.parse::<PermissionMode>())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}
