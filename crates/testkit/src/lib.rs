//! What tests, benchmarks and fuzz targets share: fixtures, generated streams and checks.
