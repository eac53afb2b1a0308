//! What follows when what happens, step type by step type.

mod agents;
mod always;
mod kept;
mod many;
mod messages;
mod needs;
mod people;
mod refused;
mod reviewers;
mod reviews;
mod rounds;
mod single;
mod steps;
mod trees;
