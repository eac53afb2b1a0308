//! Which questions of an agent may be answered without a person, and how.
