//! What follows when what happens, step type by step type.

mod agents;
mod many;
mod people;
mod rounds;
mod single;
