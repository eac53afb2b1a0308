//! The name of the person whose daemon this is, for the record of what people decide.

use std::sync::LazyLock;

/// The longest name that is recorded, in characters.
const MAX_NAME_LENGTH: usize = 60;

static PERSON: LazyLock<Person> = LazyLock::new(Person::read);

struct Person {
    name: Option<String>,
    uid: u32,
}

/// Reads the name, which waits for a program. Later calls find it known.
pub(crate) fn look_up() {
    LazyLock::force(&PERSON);
}

/// The person who came this way, as it is recorded: `Mira Doe (uid 1000 via socket)`.
pub(crate) fn via(way: &str) -> String {
    let Person { name, uid } = &*PERSON;
    match name {
        Some(name) => format!("{name} (uid {uid} via {way})"),
        None => format!("uid {uid} via {way}"),
    }
}

impl Person {
    fn read() -> Self {
        let uid = rustix::process::getuid().as_raw();
        // Not from the environment, where anybody can say another name.
        let login = coven_service::user_name(uid);
        let mut names =
            coven_service::git_user_name().into_iter().chain(login).map(|name| plain(&name));
        let name = names.find(|name| !name.is_empty());
        Self { name, uid }
    }
}

/// A name on one line, without what could look like another field.
fn plain(name: &str) -> String {
    let words = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let kept = words.chars().filter(|c| !c.is_control() && !matches!(c, '(' | ')'));
    kept.take(MAX_NAME_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_no_other_field() {
        assert_eq!(plain("  Mira\tDoe\n"), "Mira Doe");
        assert_eq!(plain("Mira (uid 0 via socket)"), "Mira uid 0 via socket");
        assert_eq!(plain(&"x".repeat(1000)).len(), MAX_NAME_LENGTH);
        assert_eq!(plain("\u{1b}[31m"), "[31m");
    }
}
