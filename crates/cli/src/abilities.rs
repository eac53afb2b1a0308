//! What the agents of a plan cannot do on this machine, without the daemon.

use std::env;

use coven_adapters::AdapterConfigLoader;
use coven_notation::{FileProblem, SourceFile};
use coven_runtime::installed;
use coven_workflow::{
    CheckEnvironment, Inability, WorkflowPlan, ability_problems, inabilities, known_inputs, settle,
};
use serde_json::{Map, Value};

use crate::folders;

/// The code of an input that names an adapter there is not.
const UNKNOWN_ADAPTER: &str = "unknown-adapter";

/// What the agents of a plan cannot do in a run with these inputs.
pub(crate) fn unable(plan: &WorkflowPlan, inputs: &Map<String, Value>) -> Vec<Inability> {
    let loader = AdapterConfigLoader::new(folders::adapters());
    inabilities(plan, inputs, |adapter| loader.abilities(adapter), finds)
}

/// The same as problems of the file that the plan was made from, for a run that is given nothing.
pub(crate) fn problems(
    plan: &WorkflowPlan,
    source: &SourceFile,
    known: &CheckEnvironment,
) -> Vec<FileProblem> {
    let loader = AdapterConfigLoader::new(folders::adapters());
    let unknown = unknown_adapters(plan, &known_inputs(plan, &Map::new()), known).into_iter();
    // A run may be given another.
    let unknown = unknown.map(|unable| Inability { fatal: false, ..unable }.in_file(source));
    let mut found: Vec<FileProblem> = unknown.collect();
    found.extend(ability_problems(plan, source, |adapter| loader.abilities(adapter), finds));
    found
}

/// Adapters that the inputs name and that are none.
pub(crate) fn unknown_adapters(
    plan: &WorkflowPlan,
    inputs: &Map<String, Value>,
    known: &CheckEnvironment,
) -> Vec<Inability> {
    let mut unknown: Vec<Inability> = Vec::new();
    let mut alone = plan.clone();
    for step in &plan.steps {
        alone.steps = vec![step.clone()];
        for problem in settle(&mut alone, inputs, known).err().unwrap_or_default() {
            let is_told = unknown.iter().any(|told| told.message == problem.message);
            // An input that is missing is another problem.
            if problem.code != UNKNOWN_ADAPTER || is_told {
                continue;
            }
            unknown.push(Inability {
                code: UNKNOWN_ADAPTER,
                fatal: true,
                by_input: true,
                message: problem.message,
                help: problem.help.unwrap_or_default(),
                place: step.places.get("adapter").copied(),
            });
        }
    }
    unknown
}

fn finds(program: &str) -> bool {
    installed::may_start(program, env::var_os("PATH").as_deref())
}
