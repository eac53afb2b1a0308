//! Follows one simple command word by word, as far as is needed to know what happens to its
//! arguments.

use super::rules::{self, ForbiddenSpot, InterpreterName};

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

    /// Why no variable may stand in what the command reads, if so.
    pub(super) fn input_spot(&self) -> Option<ForbiddenSpot> {
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
        let program = self.program.as_deref()?;
        if let Some(interpreter) = self.interpreter
            && !matches!(program, "echo" | "printf")
            && interpreter.takes_program(&self.previous, current, self.operands, self.direct)
        {
            return Some(ForbiddenSpot::Executed(interpreter.name().to_owned()));
        }
        rules::spot(program, &self.previous, current, self.calculates, self.in_test)
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
            }
            if word == "]]" {
                *self = Self::default();
                return ended;
            }
        } else if self.program.is_none() {
            self.first_word(&word, variables.is_empty(), &mut ended);
        } else if word.starts_with('-') && word.contains('i') {
            self.calculates |= self.program.as_deref().is_some_and(rules::declares);
        }
        if let Some(interpreter) = self.interpreter {
            self.flagged |= interpreter.is_program_flag(&word);
            // With `-s` a shell reads its program from its input, whatever follows.
            let operand = !interpreter.is_option(&self.previous, &word);
            self.operands += usize::from(operand && self.previous != "-s");
        } else {
            self.interpreter = InterpreterName::find(&word);
            self.direct = self.program.as_ref() == Some(&word);
        }
        self.previous = word;
        self.previous_variables = variables;
        ended
    }

    fn first_word(&mut self, word: &str, plain: bool, ended: &mut WordEnd) {
        match word {
            "esac" => ended.closes_case = true,
            "case" => {
                ended.opens_case = true;
                self.program = Some(word.to_owned());
            }
            "[[" => {
                self.in_test = true;
                self.program = Some(word.to_owned());
            }
            _ if plain && (rules::is_prefix(word) || rules::is_assignment(word)) => {}
            _ if rules::is_assignment(word) => {}
            _ => self.program = Some(word.to_owned()),
        }
    }
}
