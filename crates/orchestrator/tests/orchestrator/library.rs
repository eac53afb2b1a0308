//! Coven as a library: its example, run as it stands, and adapters of a program's own.

#[allow(dead_code, reason = "the example's own entry is not used here")]
#[path = "../../examples/library.rs"]
mod example;

use coven_adapters::launch::{LaunchError, LaunchRequest, LaunchSpec, launch};
use coven_adapters::registry::AdapterMetadata;
use coven_adapters::{AgentAdapter, Config};
use coven_model::WorkflowStatus;
use coven_orchestrator::Orchestrator;
use serde_json::json;

use crate::support::{Base, end, program, state_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_the_library_runs_a_definition_and_sees_its_result() {
    let base = Base::new();
    let (steps, greeting) =
        example::greet(base.path(), &state_of(base.path()), program(), "you").await.unwrap();
    assert_eq!(steps, ["greet"]);
    assert_eq!(greeting, "Hello, you");
}

/// An adapter of the program that uses the library: it says how its agent is started, and all else
/// is there.
struct Echo(Config, Option<String>);

impl AgentAdapter for Echo {
    fn kind(&self) -> &'static str {
        "echo"
    }

    fn name(&self) -> &str {
        self.1.as_deref().unwrap_or("echo")
    }

    fn launch(&self, request: &LaunchRequest<'_>) -> Result<LaunchSpec, LaunchError> {
        launch("echo", &self.0, request)
    }

    fn config(&self) -> &Config {
        &self.0
    }
}

/// A program that prints its prompt, behind a word.
fn echo_config(word: &str) -> serde_json::Value {
    json!({
        "schemaVersion": 1,
        "command": "/bin/sh",
        "modes": {"headless": {
            "baseArgs": ["-c", format!("echo {word} \"$0\"")],
            "promptPosition": "last",
            "transcript": "text",
        }},
    })
}

fn task_of(adapter: &str) -> String {
    format!(
        "name: uses\ndescription: One agent.\nsteps:\n  - {{name: say, type: agent, adapter: {adapter}, mode: headless, prompt: hello, output: said}}\n"
    )
}

/// Spec: AD.5.1, AD.4.1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_runs_on_an_adapter_made_by_code_and_on_one_whose_file_the_program_names() {
    let base = Base::new();
    let config: Config = serde_json::from_value(echo_config("code")).unwrap();
    let file = base.path().join("elsewhere.json");
    std::fs::write(&file, echo_config("file").to_string()).unwrap();

    let mut options = base.options();
    let metadata = AdapterMetadata::new("echo", &config);
    let make = move |options: coven_adapters::Options| {
        Box::new(Echo(config.clone(), options.name)) as Box<dyn AgentAdapter>
    };
    options.adapters.register("echo", metadata, make).unwrap();
    options.adapters.register_file("named", &file).unwrap();
    let orchestrator = Orchestrator::open(options).await.unwrap();
    for (adapter, said) in [("echo", "code hello"), ("named", "file hello")] {
        let new = base.definition(&task_of(adapter));
        let id = orchestrator.execute_workflow(new).await.unwrap();
        let view = end(&orchestrator, &id).await;
        assert_eq!(view.status, WorkflowStatus::Completed, "{:#?}", view.errors);
        assert_eq!(view.variables["said"], said);
    }

    // Another set of trusted files changes nothing about them, and a file that is gone is told.
    orchestrator.set_trust(coven_orchestrator::ProjectTrust::default());
    std::fs::remove_file(&file).unwrap();
    let new = base.definition(&task_of("named"));
    let error = orchestrator.execute_workflow(new).await.unwrap_err().to_string();
    assert!(error.contains("elsewhere.json"), "{error}");
    let id = orchestrator.execute_workflow(base.definition(&task_of("echo"))).await.unwrap();
    assert_eq!(end(&orchestrator, &id).await.variables["said"], "code hello");
}
