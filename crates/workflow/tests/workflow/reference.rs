//! The examples of the reference: what is shown there works.

use std::path::Path;

use crate::plan;

/// The fenced blocks of a language in a page.
fn examples(page: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let opening = format!("```{language}\n");
    text.split(&opening)
        .skip(1)
        .map(|rest| rest.split_once("\n```").unwrap().0.to_owned())
        .collect()
}

#[test]
fn every_grimoire_in_the_reference_passes_the_check() {
    let examples = examples("grimoire.md", "yaml");
    assert!(examples.len() >= 4);
    for example in examples {
        plan("grimoire.md.yaml", &example);
    }
}

#[test]
fn every_stage_workflow_in_the_reference_passes_the_check() {
    let examples = examples("stage-workflow.md", "json");
    assert!(!examples.is_empty());
    for example in examples {
        plan("stage-workflow.md.json", &example);
    }
}
