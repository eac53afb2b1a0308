//! Finds what shells read in different ways.
//!
//! A command is taken apart as bash does it, and nobody knows which shell will run it: an agent may
//! take the one in `SHELL`, and a model may choose one. So what bash, dash, zsh and fish do not all
//! read alike is no plain command. This goes through the text by itself, because the parser is one
//! of bash and hands on as text what only another shell acts on.

const QUOTES: &str = "shells end its quotes at different places";
const EXPANSION: &str = "shells expand it in different ways";
const SIGN: &str = "some shells have a meaning for a sign in it that others do not have";
const SUBSCRIPT: &str = "it has a subscript in quotes, which some commands of shells run";

/// How many characters of the place are told.
const EXCERPT_CHARS: usize = 40;

/// What is read differently, and why.
pub(super) struct Difference {
    /// The word in which it stands.
    pub(super) text: String,
    pub(super) why: &'static str,
}

/// The first thing in a command that not every shell reads as bash does.
pub(super) fn difference(command: &str) -> Option<Difference> {
    let mut scan = DialectScan { chars: command.chars().collect(), ..DialectScan::default() };
    let why = scan.run().err()?;
    let is_end = |c: &char| matches!(c, ' ' | '\n');
    let at = scan.at.saturating_sub(1).min(scan.chars.len());
    let begin = scan.chars[..at].iter().rposition(is_end).map_or(0, |at| at + 1);
    let text = scan.chars[begin..].iter().take_while(|c| !is_end(c)).take(EXCERPT_CHARS).collect();
    Some(Difference { text, why })
}

/// What is open at a place of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opened {
    DoubleQuote,
    Substitution,
    Parenthesis,
}

#[derive(Default)]
struct DialectScan {
    chars: Vec<char>,
    at: usize,
    opened: Vec<Opened>,
    /// An opening bracket stands in this word.
    subscript: bool,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n')
}

/// Whether a word may begin behind this character.
fn separates(c: char) -> bool {
    is_blank(c) || matches!(c, ';' | '|' | '&' | '(' | ')' | '<' | '>')
}

impl DialectScan {
    fn run(&mut self) -> Result<(), &'static str> {
        while let Some(c) = self.next() {
            let quoted = self.opened.last() == Some(&Opened::DoubleQuote);
            match c {
                // The parser finds these, and what stands in them is not gone through.
                '`' => return Ok(()),
                '$' => self.dollar(quoted)?,
                '!' => self.exclamation()?,
                '[' => self.subscript = true,
                _ if quoted => self.quoted(c)?,
                _ => self.unquoted(c)?,
            }
        }
        if self.opened.is_empty() { Ok(()) } else { Err(QUOTES) }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// The character before the one that was read last.
    fn before(&self) -> char {
        self.at.checked_sub(2).map_or(' ', |at| self.chars[at])
    }

    fn begins_word(&self) -> bool {
        separates(self.before())
    }

    /// Whether a word would be the first of a command here.
    fn begins_command(&self) -> bool {
        let before = &self.chars[..self.at.saturating_sub(1)];
        let last = before.iter().rev().find(|c| **c != ' ');
        last.is_none_or(|c| matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '\n'))
    }

    fn ends_word(&self) -> bool {
        self.peek(0).is_none_or(separates)
    }

    fn quoted(&mut self, c: char) -> Result<(), &'static str> {
        match c {
            '"' => {
                self.opened.pop();
            }
            '\\' if self.peek(0).is_some_and(|c| matches!(c, '"' | '\\' | '$' | '`')) => {
                self.literal()?;
                self.at += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn unquoted(&mut self, c: char) -> Result<(), &'static str> {
        match c {
            '\'' => return self.single_quotes(),
            '"' => self.opened.push(Opened::DoubleQuote),
            // fish has escapes such as `\x28`, and `\c` takes the next sign along.
            '\\' if self.peek(0).is_none_or(char::is_alphanumeric) => return Err(QUOTES),
            '\\' => {
                self.literal()?;
                self.at += 1;
            }
            '(' => return self.parenthesis(),
            ')' => self.closing()?,
            '{' => return self.brace(),
            // zsh ends a group with one that is no word.
            '}' if !(self.begins_command() && self.ends_word()) => return Err(SIGN),
            '<' | '>' => return self.redirect(),
            // zsh: the path of a program. Old fish: a redirection.
            '=' if self.begins_word() && !self.is_comparison() => return Err(EXPANSION),
            '^' if self.begins_word() => return Err(SIGN),
            '~' if self.begins_word() || matches!(self.before(), '=' | ':') => {
                return self.tilde();
            }
            'c' if self.is_case() && self.opened.contains(&Opened::Substitution) => {
                // Its parentheses are not in pairs.
                return Err(QUOTES);
            }
            _ => {}
        }
        if separates(c) {
            self.subscript = false;
        }
        Ok(())
    }

    fn single_quotes(&mut self) -> Result<(), &'static str> {
        while let Some(c) = self.next() {
            match c {
                // fish takes the quote for a part of the text.
                '\'' if self.before() == '\\' => return Err(QUOTES),
                '\'' => return Ok(()),
                _ => {
                    self.at -= 1;
                    self.literal()?;
                    self.at += 1;
                }
            }
        }
        Err(QUOTES)
    }

    /// Refuses what `printf -v`, `read`, `test -v` and others run although it is quoted: a
    /// substitution in the subscript of a name. It is about the next character, which is quoted.
    fn literal(&mut self) -> Result<(), &'static str> {
        let mut rest =
            self.chars[self.at..].iter().skip(1).skip_while(|c| matches!(c, '\\' | '\'' | '"'));
        match self.peek(0) {
            Some('[') => self.subscript = true,
            Some('`') if self.subscript => return Err(SUBSCRIPT),
            Some('$') if self.subscript && matches!(rest.next(), Some('(' | '{')) => {
                return Err(SUBSCRIPT);
            }
            _ => {}
        }
        Ok(())
    }

    /// What stands behind a dollar sign: a plain variable, the last exit code, a substitution, or
    /// nothing.
    fn dollar(&mut self, quoted: bool) -> Result<(), &'static str> {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.opened.push(Opened::Substitution);
            }
            Some('{') => {
                let name = self.chars[self.at + 1..].iter().take_while(|c| is_name(**c)).count();
                if name == 0 || self.peek(name + 1) != Some('}') {
                    return Err(EXPANSION);
                }
                self.at += name + 2;
                self.variable_ends()?;
            }
            Some('?') => self.at += 1,
            Some(c) if is_name(c) && !c.is_ascii_digit() => {
                self.at += self.chars[self.at..].iter().take_while(|c| is_name(**c)).count();
                self.variable_ends()?;
            }
            None | Some(' ' | '\n' | '|' | ')' | '/' | ';') => {}
            Some('"' | '\'' | '\\') if quoted => {}
            Some(_) => return Err(EXPANSION),
        }
        Ok(())
    }

    /// zsh and fish have subscripts for every variable, and zsh has modifiers.
    fn variable_ends(&self) -> Result<(), &'static str> {
        match (self.peek(0), self.peek(1)) {
            (Some('['), _) => Err(EXPANSION),
            (Some(':'), Some(c)) if c.is_alphabetic() || c == '&' => Err(EXPANSION),
            _ => Ok(()),
        }
    }

    /// Interactive shells put a part of their history there.
    fn exclamation(&self) -> Result<(), &'static str> {
        match self.peek(0) {
            None | Some(' ' | '\n' | '=' | '"') => Ok(()),
            Some(_) => Err(SIGN),
        }
    }

    /// zsh: behind a word it is a qualifier, which can run commands. fish: a substitution.
    fn parenthesis(&mut self) -> Result<(), &'static str> {
        let before = self.before();
        if !(is_blank(before) || matches!(before, ';' | '|' | '&' | '(' | '<' | '>')) {
            return Err(SIGN);
        }
        self.opened.push(Opened::Parenthesis);
        Ok(())
    }

    fn closing(&mut self) -> Result<(), &'static str> {
        match self.opened.pop() {
            // One pattern of a `case`.
            None | Some(Opened::Substitution | Opened::Parenthesis) => Ok(()),
            Some(Opened::DoubleQuote) => Err(QUOTES),
        }
    }

    /// A group, `{}`, or a list such as `{a,b}` and `{1..3}`.
    fn brace(&mut self) -> Result<(), &'static str> {
        let before = self.before();
        if self.begins_word() && self.peek(0).is_none_or(is_blank) {
            return Ok(());
        }
        let is_plain = |c: char| is_name(c) || matches!(c, '.' | ',' | '/' | '-' | '@');
        let inner: String =
            self.chars[self.at..].iter().take_while(|c| is_plain(**c)).copied().collect();
        let is_list = inner.contains(',') || inner.contains("..");
        let known = inner.is_empty() || is_list || matches!(before, '@' | '^');
        if self.peek(inner.chars().count()) != Some('}') || !known {
            return Err(SIGN);
        }
        self.at += inner.chars().count() + 1;
        Ok(())
    }

    /// zsh overwrites with `>!`, fish pipes with `2>|` and keeps files with `>?`.
    fn redirect(&self) -> Result<(), &'static str> {
        let mut signs = self.chars[self.at..].iter().skip_while(|c| matches!(c, '>' | '<' | '&'));
        match signs.next() {
            Some('!' | '|' | '?') => Err(SIGN),
            _ => Ok(()),
        }
    }

    /// `=` and `==` alone, as in `[ a = b ]`.
    fn is_comparison(&self) -> bool {
        let more = usize::from(self.peek(0) == Some('='));
        self.peek(more).is_none_or(is_blank)
    }

    /// A home folder. zsh and fish have other things that begin so.
    fn tilde(&self) -> Result<(), &'static str> {
        match self.peek(0) {
            None => Ok(()),
            Some(c) if separates(c) || matches!(c, '/' | ':' | '_') || c.is_alphabetic() => Ok(()),
            Some(_) => Err(EXPANSION),
        }
    }

    fn is_case(&self) -> bool {
        let rest = &self.chars[self.at..];
        self.begins_word()
            && rest.starts_with(&['a', 's', 'e'])
            && rest.get(3).is_none_or(|c| separates(*c))
    }
}
