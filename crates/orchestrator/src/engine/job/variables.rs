//! What a command finds in `$COVEN_VARS`. It is made when the command starts and not kept: the
//! outputs of a run may be large, and many commands may run at once.

use coven_model::TaskId;
use coven_store::{ValueError, Values};
use coven_workflow::State;
use coven_workflow::view::SessionViewBuilder;
use serde_json::{Map, Value};

/// Where the variables of a run are.
#[derive(Debug)]
pub(crate) struct VariableSource {
    /// The run when the command was asked for.
    pub(crate) state: State,
    /// The task whose command it is for.
    pub(crate) task: TaskId,
    /// Knows the digests of large values.
    pub(crate) viewer: SessionViewBuilder,
    /// Where large values lie.
    pub(crate) values: Values,
}

impl VariableSource {
    /// The file for a command. Large values that the command does not mention lie in files of their
    /// own, one for each value, whose paths it gets. Waits on the disk.
    pub(super) fn file(&self, command: &str) -> Result<Vec<u8>, ValueError> {
        let mut failed = None;
        let mut aside = |value: &Value| {
            let reference = self.viewer.reference(value);
            let kept = self.values.keep(&reference.digest, || value.to_string().into_bytes());
            let mut shown = reference.to_value();
            match kept {
                Ok(path) => shown["file"] = path.display().to_string().into(),
                Err(error) => failed = Some(error),
            }
            shown
        };
        let run = self.state.run();
        let variables =
            run.map_or_else(Map::new, |run| run.variables(Some(&self.task), command, &mut aside));
        failed.map_or_else(|| Ok(Value::Object(variables).to_string().into_bytes()), Err)
    }
}
