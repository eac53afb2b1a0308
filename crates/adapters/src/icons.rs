//! The icons that an adapter can name. `web/src/views/adapter-icons.tsx` draws each of them; a test
//! below keeps the two lists in step.

use coven_notation::{FileProblem, SourceNode, near};

/// The icon of an adapter that names none, and what the page shows for one that it does not know.
pub const DEFAULT_ICON: &str = "agent";

/// Every icon that the page can show. None is the sign of a company: those belong to others.
pub const ICONS: [&str; 16] = [
    "agent", "aider", "book", "brain", "claude", "codex", "copilot", "demo", "gear", "gemini",
    "opencode", "plug", "qwen", "spark", "terminal", "tool",
];

/// A warning about an icon that the page does not know. It is no error: the page shows the default
/// one, and another interface may know more.
pub(crate) fn unknown_icon(file: &SourceNode) -> Option<FileProblem> {
    let node = file.get("metadata")?.get("icon")?;
    let name = node.as_str().filter(|name| !ICONS.contains(name))?;
    let message = format!("there is no icon `{name}`, so the page shows `{DEFAULT_ICON}`");
    let problem = FileProblem::warning("unknown-icon", node.span, message);
    Some(problem.help(match near(name, ICONS).first() {
        Some(close) => format!("did you mean `{close}`? There are {}", ICONS.join(", ")),
        None => format!("there are {}", ICONS.join(", ")),
    }))
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_ICON, ICONS};
    use crate::default_registry;

    /// Spec: AD.11.2
    #[test]
    fn the_page_draws_every_icon_that_can_be_named_and_no_other() {
        let page = include_str!("../../../web/src/views/adapter-icons.tsx");
        let begin = page.find("const DRAWINGS").unwrap();
        let lines = page[begin..].lines().skip(1).take_while(|line| *line != "};");
        let drawn: Vec<&str> = lines
            .filter_map(|line| line.strip_prefix("  ")?.split_once(':'))
            .map(|pair| pair.0)
            .collect();
        assert_eq!(drawn, ICONS);
        assert!(ICONS.is_sorted() && ICONS.contains(&DEFAULT_ICON));
    }

    #[test]
    fn every_built_in_adapter_names_an_icon_of_its_own() {
        let registry = default_registry();
        let mut named: Vec<String> = Vec::new();
        for kind in registry.registered_types() {
            let icon = registry.metadata(&kind).unwrap().icon;
            assert!(ICONS.contains(&icon.as_str()) && icon != DEFAULT_ICON, "{kind}: {icon}");
            assert!(!named.contains(&icon), "{icon} stands for two");
            named.push(icon);
        }
    }
}
