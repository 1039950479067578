//! Holds the bindings that are checked in against the contract in `wit/`.

#![expect(clippy::disallowed_methods, reason = "the test works on the checkout")]

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};

/// A contract, its world, and where the bindings of it are.
const BINDINGS: [(&str, &str, &str); 5] = [
    ("wit", "agent", "guest-sdk/rust/src/bindings.rs"),
    ("wit", "async-agent", "guest-sdk/rust/src/tasks/bindings.rs"),
    ("host/test-guests/command/wit", "command", "host/test-guests/command/src/bindings.rs"),
    ("benches/guests/bench-peers/wit", "peers", "benches/guests/bench-peers/src/bindings.rs"),
    ("host/test-guests/command/wit", "output", "host/test-guests/printing/src/bindings.rs"),
];

/// Interfaces of the asynchronous world that are those of the synchronous one.
const SHARED: [(&str, &str); 6] = [
    ("bailiwick:storage/types@0.1.0", "crate::bindings::bailiwick::storage::types"),
    ("bailiwick:storage/files@0.1.0", "crate::bindings::bailiwick::storage::files"),
    ("bailiwick:storage/text@0.1.0", "crate::bindings::bailiwick::storage::text"),
    ("bailiwick:storage/spill@0.1.0", "crate::bindings::bailiwick::storage::spill"),
    ("bailiwick:agent/log@0.1.0", "crate::bindings::bailiwick::agent::log"),
    ("bailiwick:agent/session@0.1.0", "crate::bindings::bailiwick::agent::session"),
];

/// Types without equality: one holds a resource, the other one streams.
const NOT_COMPARED: [&str; 2] = ["stream-error", "reading"];

/// Bindings that are checked in are what their contract says.
/// `UPDATE=1 cargo test -p bailiwick-guest --test bindings` writes them anew.
#[test]
fn bindings_are_those_of_the_contract() -> anyhow::Result<()> {
    // Cargo runs tests in the folder of their package.
    let root = Path::new("../..");
    for (wit, world, path) in BINDINGS {
        let known = if world == "async-agent" { SHARED.as_slice() } else { &[] };
        let generated = generate(&root.join(wit), world, known)?;
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(root.join(path), &generated)?;
        }
        let checked_in = std::fs::read_to_string(root.join(path)).unwrap_or_default();
        assert!(
            checked_in == generated,
            "{path} is not what {wit} says: \
             run `UPDATE=1 cargo test -p bailiwick-guest --test bindings`",
        );
    }
    Ok(())
}

fn generate(wit: &Path, world: &str, known: &[(&str, &str)]) -> anyhow::Result<String> {
    let known = known.iter().map(|(interface, module)| {
        ((*interface).to_owned(), WithOption::Path((*module).to_owned()))
    });
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let options = Opts {
        format: true,
        generate_all: true,
        pub_export_macro: true,
        runtime_path: Some("wit_bindgen::rt".to_owned()),
        additional_derive_attributes: vec!["PartialEq".to_owned(), "Eq".to_owned()],
        with: known.collect(),
        additional_derive_ignore: NOT_COMPARED.map(str::to_owned).to_vec(),
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    let (_, source) = files.iter().next().ok_or_else(|| anyhow::anyhow!("nothing generated"))?;
    Ok(String::from_utf8(source.to_vec())?)
}
