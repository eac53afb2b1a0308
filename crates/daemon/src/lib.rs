//! The daemon: one for each user, for any number of base directories.
