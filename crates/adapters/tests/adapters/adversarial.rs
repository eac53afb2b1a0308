//! Screens and streams on which a naive matcher, one that looks for words anywhere, is wrong. The
//! name of each test says what it would get wrong.

mod noise;
mod questions;
mod quotes;
mod screens;
mod signals;
