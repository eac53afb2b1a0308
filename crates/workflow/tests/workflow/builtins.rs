//! The grimoires we ship.

use coven_notation::ProblemReport;
use coven_workflow::catalogue::{CataloguePaths, GrimoireCatalogue, GrimoireLayer};
use coven_workflow::check::CheckEnvironment;

fn known() -> CheckEnvironment {
    CheckEnvironment::new(["claude", "codex", "demo", "gemini"])
}

/// Spec: GR.1.1
#[test]
fn the_shipped_grimoires_are_there_and_complete() {
    let catalogue = GrimoireCatalogue::load(&CataloguePaths::default(), &known());
    let names: Vec<&str> = catalogue.entries().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["demo", "implement-bead", "prepare-pr", "review-loop", "spec-to-beads"]);
    for entry in catalogue.entries() {
        let report = ProblemReport::new(entry.source.clone(), entry.problems.clone());
        assert!(entry.problems.is_empty(), "{}", report.render(false));
        assert_eq!(entry.layer, GrimoireLayer::BuiltIn);
        let plan = catalogue.plan(&entry.name).unwrap();
        assert!(!plan.steps.is_empty() && !plan.description.is_empty());
        assert_eq!(plan.name, entry.name);
    }
}
