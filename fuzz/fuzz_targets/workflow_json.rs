//! Any text as a stage workflow: checking it never panics, and what passes survives its way to disk.

#![no_main]

use coven_notation::{ProblemReport, SourceFile};
use coven_workflow::check::{CheckEnvironment, check};
use coven_workflow::plan::WorkflowPlan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(source) = SourceFile::from_bytes("fuzz.json", data.to_vec()) else { return };
    let checked = check(&source, &CheckEnvironment::new(["claude", "demo"]));
    match checked.plan {
        Some(plan) => {
            let text = serde_json::to_string(&plan).expect("a plan can be written");
            let back: WorkflowPlan = serde_json::from_str(&text).expect("a plan can be read back");
            assert_eq!(back, plan);
        }
        None => {
            let report = ProblemReport::new(source, checked.problems);
            assert!(report.has_errors());
            assert!(!report.render(false).contains('\u{1b}'));
        }
    }
});
