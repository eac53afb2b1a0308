//! What can be wrong with a command.

/// Something in a command that cannot stay as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ShellError {
    /// The first byte it is about.
    pub offset: usize,
    /// How many bytes it is about.
    pub length: usize,
    pub problem: ShellProblem,
}

/// What can be wrong with a command. `name` is the variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShellProblem {
    #[error("`${{{name}}}` stands in single quotes, where a shell expands nothing")]
    SingleQuotes { name: String },
    /// In a here-document with a quoted delimiter.
    #[error(
        "`${{{name}}}` stands in a here-document whose delimiter is quoted, where a shell expands nothing"
    )]
    QuotedHeredoc { name: String },
    #[error("`${{{name}}}` stands between backticks, where quotes do not work as elsewhere")]
    Backticks { name: String },
    /// Where a shell calculates.
    #[error(
        "`${{{name}}}` stands where the shell calculates, and there it executes what a value holds"
    )]
    Arithmetic { name: String },
    /// Where something executes its text.
    #[error("`${{{name}}}` becomes part of a program that `{by}` executes")]
    Executed { name: String, by: String },
    /// Where the name of a shell variable is expected.
    #[error(
        "`${{{name}}}` stands where `{by}` expects the name of a shell variable, and there a shell executes what a value holds"
    )]
    VariableName {
        name: String,
        /// The command that expects it.
        by: String,
    },
    /// In a shell variable that the shell calculates with.
    #[error(
        "`${{{name}}}` goes into the shell variable `{variable}`, and the shell calculates with that: there it executes what a value holds"
    )]
    CalculatedLater { name: String, variable: String },
    /// In a shell variable that stands where the name of another is expected.
    #[error(
        "`${{{name}}}` goes into the shell variable `{variable}`, which stands where `{by}` expects the name of a shell variable: there a shell executes what a value holds"
    )]
    ReferredLater {
        name: String,
        variable: String,
        /// The command that expects it.
        by: String,
    },
    /// In a variable of the environment that programs execute.
    #[error("`${{{name}}}` goes into `{variable}`, and what that holds is executed")]
    Environment { name: String, variable: String },
    /// In a pattern of a parameter expansion.
    #[error("`${{{name}}}` stands in a pattern, where its characters have a meaning of their own")]
    Pattern { name: String },
    /// With an operator of the shell.
    #[error("`${{{text}}}` mixes a variable of the workflow with an operator of the shell")]
    Operator { text: String },
    /// What is to be done with a value cannot be read.
    #[error("{why}")]
    Function { why: String },
    /// Something is not closed.
    #[error("{what} is not closed")]
    Unclosed { what: &'static str },
    /// More levels than any command has.
    #[error("the command is nested too deeply")]
    TooDeep,
    /// A character that no command can have.
    #[error("a command cannot hold a NUL character")]
    Nul,
}
