//! What travels between the daemon and those who use it.
