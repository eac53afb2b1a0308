//! The crate against the real git, in repositories of its own: what it does, and what somebody who
//! can write every file of a tree cannot make it do.

#![expect(clippy::unwrap_used, reason = "a test fails where it is wrong")]

#[path = "git/attacks.rs"]
mod attacks;
#[path = "git/fixture.rs"]
mod fixture;
#[path = "git/in_use.rs"]
mod in_use;
#[path = "git/kinds.rs"]
mod kinds;
#[path = "git/landings.rs"]
mod landings;
#[path = "git/programs.rs"]
mod programs;
#[path = "git/repositories.rs"]
mod repositories;
#[path = "git/tidied.rs"]
mod tidied;
#[path = "git/trees.rs"]
mod trees;
