//! Definitions from the outside: real files, real shells, and every message a person may see.

mod shell;
