//! Sessions taken up again.
