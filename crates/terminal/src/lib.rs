//! Reads a terminal exactly. Knows no agent, no process, no clock and no async.
