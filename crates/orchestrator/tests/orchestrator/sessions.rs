//! Sessions side by side.
