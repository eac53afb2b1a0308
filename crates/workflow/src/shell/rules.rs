//! What shells and programs do with the words they are given: which of them execute a value.

use super::error::ShellProblem;
use super::executes;

/// A place where no variable may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ForbiddenSpot {
    SingleQuotes,
    QuotedHeredoc,
    Backticks,
    Arithmetic,
    Pattern,
    Executed(String),
    VariableName(String),
    Environment(String),
}

impl ForbiddenSpot {
    pub(super) fn problem(self, name: String) -> ShellProblem {
        match self {
            Self::SingleQuotes => ShellProblem::SingleQuotes { name },
            Self::QuotedHeredoc => ShellProblem::QuotedHeredoc { name },
            Self::Backticks => ShellProblem::Backticks { name },
            Self::Arithmetic => ShellProblem::Arithmetic { name },
            Self::Pattern => ShellProblem::Pattern { name },
            Self::Executed(by) => ShellProblem::Executed { name, by },
            Self::VariableName(by) => ShellProblem::VariableName { name, by },
            Self::Environment(variable) => ShellProblem::Environment { name, variable },
        }
    }

    /// What is wrong with a value that is in a shell variable when that stands here.
    pub(super) fn later(self, name: String, variable: String) -> Option<ShellProblem> {
        match self {
            Self::Arithmetic => Some(ShellProblem::CalculatedLater { name, variable }),
            Self::VariableName(by) => Some(ShellProblem::ReferredLater { name, variable, by }),
            // `bash -c "$command"` says itself that it executes what is in the variable: that is
            // how a value is run on purpose.
            Self::Executed(_)
            | Self::Environment(_)
            | Self::SingleQuotes
            | Self::QuotedHeredoc
            | Self::Backticks
            | Self::Pattern => None,
        }
    }
}

/// Operators of `[[` whose operands are calculated. `[` and `test` take plain numbers only.
pub(super) const CALCULATING_TESTS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// What the shell's own commands do with a variable in this word.
pub(super) fn spot(words: &WordPlace<'_>) -> Option<ForbiddenSpot> {
    let WordPlace { program, previous, current, .. } = *words;
    let name = || Some(ForbiddenSpot::VariableName(program.to_owned()));
    let executed = || Some(ForbiddenSpot::Executed(program.to_owned()));
    match program {
        "eval" | "trap" | "alias" | "bind" | "complete" | "compgen" | "fc" => executed(),
        // The words behind the first are arguments of the file.
        "source" | "." if previous == program => executed(),
        "let" => Some(ForbiddenSpot::Arithmetic),
        "[[" if words.in_test && CALCULATING_TESTS.contains(&previous) => {
            Some(ForbiddenSpot::Arithmetic)
        }
        "[[" | "[" | "test" if matches!(previous, "-v" | "-R") => name(),
        "mapfile" | "readarray" if previous == "-C" => executed(),
        "read" | "unset" | "mapfile" | "readarray" | "getopts" => name(),
        "printf" | "wait" if matches!(previous, "-v" | "-p") => name(),
        _ if declares(program) && words.calculates => Some(ForbiddenSpot::Arithmetic),
        _ if declares(program) && (words.refers || !current.contains('=')) => name(),
        _ if executes::option(program, previous, current) => executed(),
        _ => None,
    }
}

/// Where a variable stands in a command.
pub(super) struct WordPlace<'a> {
    pub(super) program: &'a str,
    /// The word before.
    pub(super) previous: &'a str,
    /// The word so far.
    pub(super) current: &'a str,
    /// Whether `declare -i` or the like came before.
    pub(super) calculates: bool,
    /// Whether `declare -n` or the like came before.
    pub(super) refers: bool,
    pub(super) in_test: bool,
}

/// Whether a command of the shell makes variables.
pub(super) fn declares(program: &str) -> bool {
    matches!(program, "declare" | "typeset" | "local" | "export" | "readonly" | "integer")
}

/// Words before a command that are not the command.
pub(super) fn is_prefix(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "elif"
            | "else"
            | "fi"
            | "while"
            | "until"
            | "do"
            | "done"
            | "!"
            | "{"
            | "}"
            | "time"
            | "exec"
            | "command"
            | "builtin"
            | "sudo"
            | "env"
            | "nohup"
            | "coproc"
            | "doas"
            | "function"
    )
}

/// Whether what follows a word is a command with options of its own before it: `sudo -u me ls`.
pub(super) fn is_wrapper(word: &str) -> bool {
    matches!(word, "command" | "builtin" | "exec" | "time" | "sudo" | "doas" | "env" | "nohup")
}

/// Whether an option of such a word has a value of its own.
pub(super) fn has_value(wrapper: &str, option: &str) -> bool {
    let valued: &[&str] = match wrapper {
        "sudo" | "doas" => &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R"],
        "env" => &["-u", "-C"],
        "exec" => &["-a"],
        "time" => &["-f", "-o"],
        _ => &[],
    };
    valued.contains(&option)
}

/// `NAME=value` before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

pub(super) fn is_name(text: &str) -> bool {
    let text = text.split_once('[').map_or(text, |(name, _)| name);
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the word so far is an open subscript: `list[`, or `[` in a list of values.
pub(super) fn is_subscript(word: &str, in_list: bool) -> bool {
    let Some((before, inside)) = word.split_once('[') else { return false };
    let named = if before.is_empty() { in_list } else { is_name(before) };
    named && !inside.contains(']')
}

/// A program that takes a program as an argument: the kind, and which name of it was used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct InterpreterName(usize, usize);

struct KnownInterpreter {
    names: &'static [&'static str],
    /// Options before the program; a single letter may stand in a cluster.
    flags: &'static [&'static str],
    /// Options that have a value of their own.
    valued: &'static [&'static str],
    operands: ProgramOperands,
}

/// Which arguments that are no options are the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgramOperands {
    /// None: the first is a file, and what follows belongs to that. Without one, the program is
    /// read from standard input.
    File,
    /// The first one is the program, the others are files.
    First,
    /// The first one is a name, the others are the program.
    Others,
    /// All of them.
    All,
    /// None, and nothing is read from standard input.
    Nothing,
    /// None, and everything that is read from standard input is.
    Input,
}

const INTERPRETERS: [KnownInterpreter; 15] = [
    KnownInterpreter {
        names: &["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish"],
        flags: &["-c"],
        valued: &["-o", "+o", "-O", "+O"],
        operands: ProgramOperands::File,
    },
    KnownInterpreter {
        names: &["python3", "python", "python2"],
        flags: &["-c"],
        valued: &["-W", "-X"],
        operands: ProgramOperands::File,
    },
    KnownInterpreter {
        names: &["perl", "ruby", "lua"],
        flags: &["-e", "-E"],
        valued: &["-I"],
        operands: ProgramOperands::File,
    },
    KnownInterpreter {
        names: &["node", "deno", "bun"],
        flags: &["-e", "-p", "--eval", "--print"],
        valued: &["-r"],
        operands: ProgramOperands::File,
    },
    KnownInterpreter {
        names: &["php"],
        flags: &["-r"],
        valued: &["-d"],
        operands: ProgramOperands::File,
    },
    KnownInterpreter {
        names: &["awk", "gawk", "mawk", "nawk"],
        flags: &["-e", "--source"],
        valued: &["-v", "-F", "-f"],
        operands: ProgramOperands::First,
    },
    KnownInterpreter {
        names: &["sed", "gsed"],
        flags: &["-e", "--expression"],
        valued: &["-f", "-l"],
        operands: ProgramOperands::First,
    },
    KnownInterpreter {
        names: &["script"],
        flags: &["-c", "--command"],
        valued: &["-E", "-I", "-O", "-B", "-T", "-m", "-o"],
        operands: ProgramOperands::Nothing,
    },
    KnownInterpreter {
        names: &["watch"],
        flags: &[],
        valued: &["-n", "--interval"],
        operands: ProgramOperands::All,
    },
    KnownInterpreter {
        // What stands behind `=` is expanded, and `$(shell ...)` in it is run.
        names: &["make", "gmake"],
        flags: &["--eval", "-E"],
        valued: &["-C", "-f", "-I", "-j", "-l", "-o", "-W"],
        operands: ProgramOperands::All,
    },
    KnownInterpreter {
        names: &["ex", "vi", "vim", "nvim", "view", "ed"],
        flags: &["-c", "--cmd", "+"],
        valued: &["-u", "-i", "-w", "-W"],
        operands: ProgramOperands::Input,
    },
    KnownInterpreter {
        names: &["emacs", "emacsclient"],
        flags: &["--eval", "-eval", "-e", "--execute"],
        valued: &["-l"],
        operands: ProgramOperands::Nothing,
    },
    KnownInterpreter {
        names: &["at", "batch", "crontab", "dc", "gdb", "sqlite3", "psql", "mysql", "mariadb"],
        flags: &["-ex", "-e", "-c", "--command", "--execute", "-cmd"],
        valued: &["-f", "-u", "-h", "-U", "-d", "-p"],
        operands: ProgramOperands::Input,
    },
    KnownInterpreter {
        names: &["parallel"],
        flags: &[],
        valued: &["-j", "-a", "-S", "--jobs", "--arg-file"],
        operands: ProgramOperands::First,
    },
    KnownInterpreter {
        names: &["ssh", "su", "runuser", "sg"],
        flags: &["-c"],
        valued: &["-p", "-i", "-o", "-l", "-F", "-J", "-L", "-R", "-D"],
        operands: ProgramOperands::Others,
    },
];

/// Whether a word is this option, alone or as the last letter of several.
fn is_flag(word: &str, flag: &str) -> bool {
    let cluster = flag.len() == 2 && word.len() > 2 && !word.starts_with("--");
    word == flag || (cluster && word.starts_with(&flag[..1]) && word.ends_with(&flag[1..]))
}

impl InterpreterName {
    pub(super) fn find(word: &str) -> Option<Self> {
        let word = word.rsplit('/').next().unwrap_or(word);
        INTERPRETERS.iter().enumerate().find_map(|(kind, known)| {
            Some(Self(kind, known.names.iter().position(|name| *name == word)?))
        })
    }

    pub(super) fn name(self) -> &'static str {
        INTERPRETERS[self.0].names[self.1]
    }

    /// Whether the word being read is, or is part of, the program it executes. `direct` if it is
    /// the command itself and not only named in one.
    pub(super) fn takes_program(
        self,
        previous: &str,
        current: &str,
        operands: usize,
        direct: bool,
        flagged: bool,
    ) -> bool {
        let known = &INTERPRETERS[self.0];
        let flag =
            known.flags.iter().any(|flag| is_flag(previous, flag) || current.starts_with(flag));
        let operand = direct && !current.starts_with('-') && !self.is_option(previous, current);
        match known.operands {
            // A file whose whole name is the value is a program that the value chooses.
            ProgramOperands::File => {
                operands == 0 && (flag || (operand && current.is_empty() && !flagged))
            }
            ProgramOperands::First => flag || (operand && operands == 0),
            ProgramOperands::Others => flag || (operand && operands > 0),
            ProgramOperands::All => flag || operand,
            ProgramOperands::Nothing | ProgramOperands::Input => flag,
        }
    }

    /// Whether its program comes from standard input.
    pub(super) fn reads_program(self, operands: usize, flagged: bool) -> bool {
        match INTERPRETERS[self.0].operands {
            ProgramOperands::File => operands == 0 && !flagged,
            ProgramOperands::First => self.name() == "parallel" && operands == 0,
            ProgramOperands::Others => operands <= 1 && !flagged,
            ProgramOperands::All => self.name().ends_with("make"),
            ProgramOperands::Nothing => !flagged,
            ProgramOperands::Input => true,
        }
    }

    /// Whether a word announces the program.
    pub(super) fn is_program_flag(self, word: &str) -> bool {
        INTERPRETERS[self.0].flags.iter().any(|flag| is_flag(word, flag))
    }

    /// Whether a word is an option, or the value of one.
    pub(super) fn is_option(self, previous: &str, word: &str) -> bool {
        word.starts_with(['-', '+'])
            || INTERPRETERS[self.0].valued.iter().any(|flag| is_flag(previous, flag))
    }
}
