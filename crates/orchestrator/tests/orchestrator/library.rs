//! The example of using Coven as a library, run as it stands.

#[allow(dead_code, reason = "the example's own entry is not used here")]
#[path = "../../examples/library.rs"]
mod example;

use crate::support::{Base, program, state_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_the_library_runs_a_definition_and_sees_its_result() {
    let base = Base::new();
    let (steps, greeting) =
        example::greet(base.path(), &state_of(base.path()), program(), "you").await.unwrap();
    assert_eq!(steps, ["greet"]);
    assert_eq!(greeting, "Hello, you");
}
