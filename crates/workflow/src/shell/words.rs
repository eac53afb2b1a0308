//! Follows one simple command word by word, as far as is needed to know what happens to its
//! arguments.

use super::executes::is_executed_variable;
use super::rules::{self, ForbiddenSpot, InterpreterName, WordPlace};

/// A simple command as far as it was read.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct SimpleCommand {
    program: Option<String>,
    /// The word before this one.
    previous: String,
    /// The variables in it.
    previous_variables: Vec<Variable>,
    /// The plain text of the word being read; variables are left out.
    current: Option<String>,
    variables: Vec<Variable>,
    /// Whether `declare -i` or the like came before.
    calculates: bool,
    /// Whether `declare -n` or the like came before.
    refers: bool,
    /// The last word before the command that takes options of its own: `sudo`.
    wrapper: Option<String>,
    /// Whether the command is the name of a block that follows: `coproc NAME {`.
    names_block: bool,
    /// Whether `esac` was the last word.
    closed_case: bool,
    /// The variables of assignments before the command.
    assigned: Vec<Variable>,
    /// The loop variable of `for`, or what `printf -v` and `read` write to.
    receivers: Vec<String>,
    /// How many variables of the workflow were found before the word being read.
    pub(super) uses_before: usize,
    /// A program that takes a program as an argument.
    interpreter: Option<InterpreterName>,
    /// Whether that is the command itself.
    direct: bool,
    /// How many arguments that are no options the interpreter has got.
    operands: usize,
    /// Whether it has got its program.
    flagged: bool,
    in_test: bool,
    in_list: bool,
    target: Option<RedirectTarget>,
    inert: bool,
}

/// The next word is no argument.
#[derive(Clone)]
struct RedirectTarget(Option<ForbiddenSpot>);

/// How much of a word is looked at.
const MAX_WORD_CHARS: usize = 1024;

/// A variable's offset, length and name.
type Variable = (usize, usize, String);

/// What the end of a word brought to light.
#[derive(Default)]
pub(super) struct WordEnd {
    pub(super) opens_case: bool,
    pub(super) closes_case: bool,
    /// Variables that turn out to be calculated with.
    pub(super) calculated: Vec<Variable>,
    /// Variables that turn out to be executed by this.
    pub(super) executed: Vec<(Variable, String)>,
    /// The shell variables that get what the word holds.
    pub(super) receivers: Vec<String>,
    /// Names of shell variables in places where they are calculated with.
    pub(super) calculated_names: Vec<String>,
}

impl SimpleCommand {
    /// Text that is no command.
    pub(super) fn no_command() -> Self {
        Self { inert: true, ..Self::default() }
    }

    /// The values of a list: `name=(one two)`.
    pub(super) fn list() -> Self {
        Self { in_list: true, ..Self::default() }
    }

    /// The values of a list of numbers: `declare -ai name=(one two)`.
    pub(super) fn number_list() -> Self {
        Self { calculates: true, ..Self::list() }
    }

    /// Whether the values that are assigned are calculated.
    pub(super) fn calculates(&self) -> bool {
        self.calculates
    }

    pub(super) fn in_test(&self) -> bool {
        self.in_test
    }

    /// Whether a parenthesis here begins the values of a list.
    pub(super) fn assigns(&self) -> bool {
        self.current.as_deref().is_some_and(|word| word.ends_with('='))
    }

    pub(super) fn in_word(&self) -> bool {
        self.current.is_some()
    }

    /// Begins a word, which may stay empty.
    pub(super) fn begin(&mut self) {
        self.current.get_or_insert_default();
    }

    pub(super) fn push(&mut self, character: char) {
        let word = self.current.get_or_insert_default();
        if word.len() < MAX_WORD_CHARS && !self.inert {
            word.push(character);
        }
    }

    /// Notes a variable in the word.
    pub(super) fn note(&mut self, offset: usize, length: usize, name: String) {
        self.begin();
        self.variables.push((offset, length, name));
    }

    /// The next word is the target of a redirection and no argument.
    pub(super) fn expect_target(&mut self, is_input: bool) {
        self.target = Some(RedirectTarget(self.input_spot().filter(|_| is_input)));
    }

    /// Whether the word being read is the target of a redirection.
    pub(super) fn is_target(&self) -> bool {
        self.target.is_some()
    }

    /// Whether this is the end of a block, whose commands stand before.
    pub(super) fn is_compound_end(&self) -> bool {
        self.program.is_none() && matches!(self.previous.as_str(), "}" | "done" | "fi")
            || self.closed_case
    }

    /// The shell variables that get what the command reads: `read NAME`.
    pub(super) fn readers(&self) -> Vec<String> {
        match self.program.as_deref() {
            Some("read" | "mapfile" | "readarray") => self.receivers.clone(),
            _ => Vec::new(),
        }
    }

    /// Why no variable may stand in what the command reads, if so.
    pub(super) fn input_spot(&self) -> Option<ForbiddenSpot> {
        // What `xargs` reads becomes arguments, and so part of a program if one stands last.
        if self.program.as_deref().is_some_and(|program| program.ends_with("xargs"))
            && self.interpreter.is_some()
            && (self.flagged || self.operands == 0)
        {
            return Some(ForbiddenSpot::Executed("xargs".to_owned()));
        }
        let reader = self.interpreter.filter(|interpreter| {
            self.direct && interpreter.reads_program(self.operands, self.flagged)
        });
        reader.map(|interpreter| ForbiddenSpot::Executed(interpreter.name().to_owned()))
    }

    /// The command behind `;`, `|` or `&`. In `[[ a && b ]]` it is still the same.
    pub(super) fn next(self) -> Self {
        if self.in_test {
            return Self { previous: String::new(), previous_variables: Vec::new(), ..self };
        }
        Self::default()
    }

    /// Whether `((` begins a calculation here.
    pub(super) fn may_calculate(&self) -> bool {
        self.current.is_none() && matches!(self.program.as_deref(), None | Some("for"))
    }

    /// Why no variable may stand at this place, if so.
    pub(super) fn spot(&self) -> Option<ForbiddenSpot> {
        if let Some(RedirectTarget(spot)) = &self.target {
            return spot.clone();
        }
        let current = self.current.as_deref().unwrap_or_default();
        let assigns = self.program.as_deref().is_none_or(rules::declares) || self.in_list;
        if assigns && rules::is_subscript(current, self.in_list) {
            return Some(ForbiddenSpot::Arithmetic);
        }
        if self.in_list && self.calculates {
            return Some(ForbiddenSpot::Arithmetic);
        }
        if let Some((name, _)) = current.split_once('=')
            && assigns
            && is_executed_variable(name.strip_suffix('+').unwrap_or(name))
        {
            return Some(ForbiddenSpot::Environment(name.to_owned()));
        }
        if self.program.is_none() && self.wrapper.as_deref() == Some("env") {
            let splits = |word: &str| word.starts_with("-S") || word.starts_with("--split-string");
            if splits(current) || splits(&self.previous) {
                return Some(ForbiddenSpot::Executed("env".to_owned()));
            }
        }
        let program = self.program.as_deref()?;
        if let Some(interpreter) = self.interpreter
            && !matches!(program, "echo" | "printf")
            && interpreter.takes_program(
                &self.previous,
                current,
                self.operands,
                self.direct,
                self.flagged,
            )
        {
            return Some(ForbiddenSpot::Executed(interpreter.name().to_owned()));
        }
        rules::spot(&WordPlace {
            program,
            previous: &self.previous,
            current,
            calculates: self.calculates,
            refers: self.refers,
            in_test: self.in_test,
        })
    }

    pub(super) fn end_word(&mut self) -> WordEnd {
        let mut ended = WordEnd::default();
        let Some(word) = self.current.take() else { return ended };
        let variables = std::mem::take(&mut self.variables);
        if self.inert || self.in_list || self.target.take().is_some() {
            return ended;
        }
        if self.in_test {
            if rules::CALCULATING_TESTS.contains(&word.as_str()) {
                ended.calculated = std::mem::take(&mut self.previous_variables);
                ended.calculated_names.extend(names_in(&self.previous));
            } else if rules::CALCULATING_TESTS.contains(&self.previous.as_str()) {
                ended.calculated_names.extend(names_in(&word));
            }
            if word == "]]" {
                *self = Self::default();
                return ended;
            }
        } else if self.program.is_none() {
            self.first_word(&word, &variables, &mut ended);
        } else if self.names_block
            && matches!(word.as_str(), "{" | "if" | "for" | "while" | "until")
        {
            *self = Self { uses_before: self.uses_before, ..Self::default() };
            return ended;
        } else {
            self.argument(&word, &mut ended);
        }
        if let Some(interpreter) = self.interpreter {
            self.flagged |= interpreter.is_program_flag(&word);
            // With `-s` a shell reads its program from its input, whatever follows.
            let operand = !interpreter.is_option(&self.previous, &word);
            self.operands += usize::from(operand && self.previous != "-s");
        } else {
            self.interpreter = InterpreterName::find(&word);
            let runs = ["-exec", "-execdir", "-ok", "-okdir"].contains(&self.previous.as_str());
            let command = self.program.as_ref() == Some(&word);
            self.direct = command || runs || self.program.as_deref().is_some_and(starts_others);
        }
        self.previous = word;
        self.previous_variables = variables;
        ended
    }

    /// Looks at a word behind the command.
    fn argument(&mut self, word: &str, ended: &mut WordEnd) {
        let program = self.program.clone().unwrap_or_default();
        let option = word.starts_with(['-', '+']);
        match program.as_str() {
            _ if rules::declares(&program) && option => {
                self.calculates |= word.contains('i');
                self.refers |= word.contains('n') && program != "export";
            }
            _ if rules::declares(&program) => {
                if let Some((name, value)) = word.split_once('=') {
                    ended.receivers.push(plain_name(name));
                    if self.calculates {
                        ended.calculated_names.extend(names_in(value));
                    }
                }
            }
            "let" => {
                if let Some((name, _)) = word.split_once('=') {
                    ended.receivers.push(plain_name(name));
                }
                ended.calculated_names.extend(names_in(word));
            }
            "for" | "select" if self.previous == program => {
                self.receivers.push(word.to_owned());
            }
            "printf" if self.previous == "-v" => self.receivers.push(word.to_owned()),
            "for" | "select" | "printf" => ended.receivers.clone_from(&self.receivers),
            "read" | "mapfile" | "readarray" if !option && rules::is_name(word) => {
                self.receivers.push(word.to_owned());
            }
            _ => {}
        }
    }

    fn first_word(&mut self, word: &str, variables: &[Variable], ended: &mut WordEnd) {
        if let Some(wrapper) = &self.wrapper
            && (word.starts_with('-') || rules::has_value(wrapper, &self.previous))
        {
            return;
        }
        let plain = variables.is_empty();
        match word {
            "esac" => {
                ended.closes_case = true;
                self.closed_case = true;
            }
            "case" => {
                ended.opens_case = true;
                self.program = Some(word.to_owned());
            }
            "[[" => {
                self.in_test = true;
                self.program = Some(word.to_owned());
            }
            _ if rules::is_assignment(word) => {
                if let Some((name, _)) = word.split_once('=') {
                    ended.receivers.push(plain_name(name));
                    if let Some((_, subscript)) = name.split_once('[') {
                        ended.calculated_names.extend(names_in(subscript));
                    }
                }
                self.assigned.extend_from_slice(variables);
            }
            _ if plain && rules::is_prefix(word) => {
                self.wrapper = rules::is_wrapper(word).then(|| word.to_owned());
                self.names_block = matches!(word, "coproc" | "function");
            }
            _ => {
                // `make` expands what its environment holds, and runs `$(shell ...)` in it.
                if matches!(word.rsplit('/').next(), Some("make" | "gmake")) {
                    let assigned = std::mem::take(&mut self.assigned).into_iter();
                    ended.executed.extend(assigned.map(|variable| (variable, word.to_owned())));
                }
                self.program = Some(word.to_owned());
            }
        }
    }
}

/// Whether a program starts the command that stands behind its own options.
fn starts_others(program: &str) -> bool {
    matches!(
        program.rsplit('/').next().unwrap_or(program),
        "timeout"
            | "nice"
            | "ionice"
            | "chrt"
            | "taskset"
            | "stdbuf"
            | "setsid"
            | "flock"
            | "strace"
            | "ltrace"
            | "xargs"
            | "parallel"
            | "busybox"
            | "chroot"
            | "unshare"
            | "nsenter"
            | "systemd-run"
            | "bwrap"
            | "firejail"
    )
}

/// The name of an assignment without `+` and subscript.
fn plain_name(name: &str) -> String {
    let name = name.strip_suffix('+').unwrap_or(name);
    name.split_once('[').map_or(name, |(name, _)| name).to_owned()
}

/// The names that a calculation has, with or without `$`.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| rules::is_name(word)).map(str::to_owned).collect()
}
