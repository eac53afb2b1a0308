//! The page, as bytes.
