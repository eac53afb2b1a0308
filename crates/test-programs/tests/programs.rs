//! That the programs are there. As these tests need them, `cargo test --workspace` builds them
//! together with everything else, and the tests of the other crates find them ready.

use std::path::Path;

use coven_testkit::programs::TestProgram;

#[test]
fn the_tests_of_other_crates_find_the_programs_that_cargo_built_here() {
    for (program, built) in [
        (TestProgram::Agent, env!("CARGO_BIN_EXE_coven-test-agent")),
        (TestProgram::Holder, env!("CARGO_BIN_EXE_coven-test-holder")),
        (TestProgram::Daemon, env!("CARGO_BIN_EXE_coven-test-daemon")),
    ] {
        assert_eq!(program.path(), Path::new(built));
        assert!(Path::new(built).exists());
    }
}
