//! Tests of the delivery.
