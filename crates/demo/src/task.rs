//! What an agent is to do first: its prompt and the directives that come with it.

use std::fs;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::termios::isatty;

use crate::error::{Error, MAX_PROMPT};
use crate::options::Options;
use crate::script::{self, TurnScript};

/// A prompt and what it means.
#[derive(Clone, Debug)]
pub(crate) struct PromptTask {
    pub(crate) prompt: String,
    /// What is to be done.
    pub(crate) program: TurnScript,
}

impl PromptTask {
    /// A prompt that speaks for itself, or names the file that does: a prompt that is too long for an
    /// argument comes that way.
    pub(crate) fn new(prompt: String) -> Self {
        let program = match named_file(&prompt) {
            Some(path) => script::from_prompt(&file_prompt(path)),
            None => script::from_prompt(&prompt),
        };
        Self { prompt, program }
    }

    /// What the options say; without a prompt among them, what can be read from `input`.
    pub(crate) fn read(
        options: &Options,
        input: Option<BorrowedFd<'_>>,
    ) -> Result<Option<Self>, Error> {
        let first = options.first.as_deref().map(read_first).transpose()?;
        let script = options.script.as_deref().map(read_script).transpose()?;
        let prompt = match (&options.prompt, input) {
            (Some(prompt), _) => Some(text_of(prompt.as_bytes())?),
            (None, Some(input)) if script.is_none() && !isatty(input) => Some(read_prompt(input)?),
            _ => None,
        };
        let own = prompt.filter(|prompt| !prompt.trim().is_empty()).map(Self::new);
        let scripted = script.map(|program| Self { prompt: name(options), program });
        let task = match (own, scripted) {
            // The script says what to do, the prompt what was said.
            (Some(own), Some(scripted)) => Some(Self { prompt: own.prompt, ..scripted }),
            (own, scripted) => own.or(scripted),
        };
        Ok(match (first, task) {
            (Some(first), Some(task)) => Some(Self { program: first.then(task.program), ..task }),
            (Some(program), None) => Some(Self { prompt: name(options), program }),
            (None, task) => task,
        })
    }
}

/// The file that a prompt says to follow.
fn named_file(prompt: &str) -> Option<&Path> {
    let path = prompt.trim().strip_prefix("Read the file ")?;
    path.strip_suffix(" and do exactly what it says.").map(Path::new)
}

/// The prompt in a file; one that cannot be read is a turn that fails and says why.
fn file_prompt(path: &Path) -> String {
    let mut bytes = Vec::new();
    let read = fs::File::open(path)
        .and_then(|file| file.take(MAX_PROMPT as u64 + 1).read_to_end(&mut bytes));
    let failed = |why: String| format!("fail cannot read {}: {why}", path.display());
    match read {
        Ok(_) => text_of(&bytes).unwrap_or_else(|error| failed(error.to_string())),
        Err(error) => failed(error.to_string()),
    }
}

/// What stands for the prompt if there is none.
fn name(options: &Options) -> String {
    match (&options.script, &options.first) {
        (Some(path), _) => format!("(script {})", path.display()),
        (None, first) => first.clone().unwrap_or_default(),
    }
}

fn read_first(text: &str) -> Result<TurnScript, Error> {
    script::from_script(text).map_err(|(_, problem)| Error::First(problem))
}

fn read_script(path: &Path) -> Result<TurnScript, Error> {
    let unreadable = |source| Error::ScriptUnreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_PROMPT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_PROMPT {
        return Err(unreadable(io::ErrorKind::FileTooLarge.into()));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    })?;
    script::from_script(&text).map_err(|(line, problem)| Error::Script {
        path: path.to_owned(),
        line,
        problem,
    })
}

fn read_prompt(input: BorrowedFd<'_>) -> Result<String, Error> {
    let file = input.try_clone_to_owned().map(fs::File::from).map_err(Error::Input)?;
    let mut bytes = Vec::new();
    file.take(MAX_PROMPT as u64 + 1).read_to_end(&mut bytes).map_err(Error::Input)?;
    text_of(&bytes)
}

fn text_of(bytes: &[u8]) -> Result<String, Error> {
    if bytes.len() > MAX_PROMPT {
        return Err(Error::PromptTooLong);
    }
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(Error::PromptNotText { at: error.valid_up_to() + 1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::ScriptDirective;

    fn read(options: &Options) -> (String, Vec<ScriptDirective>) {
        let task = PromptTask::read(options, None).unwrap().unwrap();
        (task.prompt, task.program.collect())
    }

    fn say(text: &str) -> ScriptDirective {
        ScriptDirective::Say(text.to_owned())
    }

    #[test]
    fn the_prompt_says_what_to_do() {
        let options = |prompt: &str| Options { prompt: Some(prompt.into()), ..Options::default() };
        assert_eq!(read(&options("say a")), ("say a".to_owned(), vec![say("a")]));
        assert_eq!(read(&options("hello")), ("hello".to_owned(), vec![ScriptDirective::Echo]));
        for blank in ["", " \n\t"] {
            assert!(PromptTask::read(&options(blank), None).unwrap().is_none());
        }
        assert!(PromptTask::read(&Options::default(), None).unwrap().is_none());
    }

    #[test]
    fn a_prompt_that_names_a_file_does_what_the_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prompt.md");
        fs::write(&path, "say from the file\n").unwrap();
        let prompt = format!("Read the file {} and do exactly what it says.", path.display());
        let task = PromptTask::new(prompt.clone());
        assert_eq!(task.prompt, prompt);
        assert_eq!(task.program.collect::<Vec<_>>(), [say("from the file")]);
        fs::remove_file(&path).unwrap();
        let failed: Vec<_> = PromptTask::new(prompt).program.collect();
        assert!(matches!(&failed[..], [ScriptDirective::Fail(why)] if why.contains("prompt.md")));
        // Anything else about files is only said.
        let said: Vec<_> = PromptTask::new("Read the file x".to_owned()).program.collect();
        assert_eq!(said, [ScriptDirective::Echo]);
    }

    #[test]
    fn what_comes_first_comes_before_the_prompt() {
        let first = Options { first: Some("say first".to_owned()), ..Options::default() };
        assert_eq!(read(&first), ("say first".to_owned(), vec![say("first")]));
        let both = Options { prompt: Some("hello".into()), ..first };
        assert_eq!(read(&both), ("hello".to_owned(), vec![say("first"), ScriptDirective::Echo]));
    }

    #[test]
    fn a_script_does_what_the_prompt_then_only_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        fs::write(&path, "say scripted\n").unwrap();
        let script = Options { script: Some(path.clone()), ..Options::default() };
        let name = format!("(script {})", path.display());
        assert_eq!(read(&script), (name, vec![say("scripted")]));
        let both = Options { prompt: Some("say not".into()), ..script };
        assert_eq!(read(&both), ("say not".to_owned(), vec![say("scripted")]));
    }

    #[test]
    fn what_is_not_text_is_refused_where_it_stops_being_text() {
        let error = text_of(b"abc\xff").unwrap_err();
        assert_eq!(error.to_string(), "the prompt is not UTF-8: byte 4 cannot be read as text");
        assert_eq!(text_of(&vec![b'x'; MAX_PROMPT]).unwrap().len(), MAX_PROMPT);
        assert!(matches!(text_of(&vec![b'x'; MAX_PROMPT + 1]), Err(Error::PromptTooLong)));
    }
}
