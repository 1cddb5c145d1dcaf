// Nothing is built from this package: see its Cargo.toml.
