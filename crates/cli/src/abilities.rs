//! What the agents of a plan cannot do on this machine, without the daemon.

use coven_adapters::AdapterConfigLoader;
use coven_workflow::{Inability, WorkflowPlan, inabilities};

use crate::{doctor, folders};

/// The program that is always there, as adapters name it.
const OWN_PROGRAM: &str = "coven";

pub(crate) fn unable(plan: &WorkflowPlan) -> Vec<Inability> {
    let loader = AdapterConfigLoader::new(folders::adapters());
    let finds = |program: &str| {
        // A relative path is meant from the folder of the job.
        let relative = program.contains('/') && !program.starts_with('/');
        program == OWN_PROGRAM || relative || doctor::find(program).is_some()
    };
    inabilities(plan, |adapter| loader.abilities(adapter), finds)
}
