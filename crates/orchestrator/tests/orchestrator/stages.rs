//! Stage workflows.
