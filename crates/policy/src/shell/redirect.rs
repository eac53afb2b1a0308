//! The files that a shell opens for a command.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, RedirectList, Word};

use super::literal::{literal, normal_path};
use super::walk::CommandWalk;
use super::{CommandPart, PartKind, UnreadCommand, letters};

/// A redirection to this is none.
const NULL_DEVICE: &str = "/dev/null";

impl CommandWalk {
    pub(super) fn redirects(
        &mut self,
        list: Option<&RedirectList>,
        depth: usize,
    ) -> Result<(), UnreadCommand> {
        for redirect in list.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, depth)?;
        }
        Ok(())
    }

    pub(super) fn redirect(
        &mut self,
        redirect: &IoRedirect,
        depth: usize,
    ) -> Result<(), UnreadCommand> {
        match redirect {
            IoRedirect::File(fd, kind, target) => {
                self.letters += fd.map_or(0, |fd| letters(&fd.to_string()));
                match target {
                    IoFileRedirectTarget::Fd(fd) => {
                        self.letters += letters(&fd.to_string());
                        Ok(())
                    }
                    IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => {
                        self.letters += letters(&word.value);
                        Ok(())
                    }
                    IoFileRedirectTarget::Filename(word)
                    | IoFileRedirectTarget::Duplicate(word) => self.file(sign(kind), word, depth),
                    IoFileRedirectTarget::ProcessSubstitution(_, inner) => {
                        self.compound = true;
                        self.special("<(…)", "it substitutes a process");
                        self.list(&inner.list, depth + 1)
                    }
                }
            }
            IoRedirect::OutputAndError(word, append) => {
                self.file(if *append { "&>>" } else { "&>" }, word, depth)
            }
            IoRedirect::HereDocument(..) => {
                self.compound = true;
                self.special("<<", "it has a here-document");
                Ok(())
            }
            IoRedirect::HereString(_, word) => {
                self.compound = true;
                self.special(format!("<<< {}", word.value), "it has a here-string");
                Ok(())
            }
        }
    }

    /// A file that the shell opens. Rules see its path as the shell does; one that is expanded, or
    /// that leads through `..`, is allowed by nobody but one who wrote exactly this.
    fn file(&mut self, sign: &str, word: &Word, depth: usize) -> Result<(), UnreadCommand> {
        self.letters += letters(&word.value);
        if word.value == NULL_DEVICE {
            return Ok(());
        }
        let text = format!("{sign} {}", word.value);
        let path = literal(word).map(|path| normal_path(&path));
        let only_exactly = path.as_ref().is_none_or(|(path, climbs)| {
            *climbs || path.is_empty() || path.starts_with(['~', '&', '!', '='])
        });
        let plain = path.map(|(path, _)| format!("{sign} {path}"));
        self.parts.push(CommandPart { text, plain, kind: PartKind::Redirect, only_exactly });
        self.word(word, depth)
    }
}

fn sign(kind: &IoFileRedirectKind) -> &'static str {
    match kind {
        IoFileRedirectKind::Read => "<",
        IoFileRedirectKind::Write => ">",
        IoFileRedirectKind::Append => ">>",
        IoFileRedirectKind::ReadAndWrite => "<>",
        IoFileRedirectKind::Clobber => ">|",
        IoFileRedirectKind::DuplicateInput => "<&",
        IoFileRedirectKind::DuplicateOutput => ">&",
    }
}

fn is_descriptor(text: &str) -> bool {
    text == "-" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}
