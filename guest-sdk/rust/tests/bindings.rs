//! Holds the bindings that are checked in against the contract in `wit/`.

#![expect(clippy::disallowed_methods, reason = "the test works on the checkout")]

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};
use wit_bindgen_rust::{Opts, WithOption};

/// A contract, its world, and where the bindings of it are.
const BINDINGS: [(&str, &str, &str); 6] = [
    ("wit", "agent", "guest-sdk/rust/src/bindings.rs"),
    ("wit", "async-agent", "guest-sdk/rust/src/tasks/bindings.rs"),
    ("host/test-guests/command/wit", "command", "host/test-guests/command/src/bindings.rs"),
    ("host/wit-wasi-3", "tested", "host/test-guests/folders-async/src/bindings.rs"),
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

/// The contract for guests in C, and what its interfaces are called there.
const C_FOLDER: &str = "guest-sdk/c/bindings";
const C_NAMES: [(&str, &str); 7] = [
    ("bailiwick:storage/types@0.1.0", "host_types"),
    ("bailiwick:storage/files@0.1.0", "host_files"),
    ("bailiwick:storage/text@0.1.0", "host_text"),
    ("bailiwick:storage/spill@0.1.0", "host_spill"),
    ("bailiwick:agent/log@0.1.0", "host_log"),
    ("bailiwick:agent/session@0.1.0", "host_session"),
    ("bailiwick:agent/turn@0.1.0", "guest_turn"),
];

/// So are those for C, to the byte: sources, and the object that says what the component is.
#[test]
fn bindings_for_c_are_those_of_the_contract() -> anyhow::Result<()> {
    let root = Path::new("../..");
    let rename = C_NAMES.map(|(interface, name)| (interface.to_owned(), name.to_owned())).to_vec();
    let rename_world = Some("bindings".to_owned());
    let options = wit_bindgen_c::Opts { rename, rename_world, ..wit_bindgen_c::Opts::default() };
    let folder = root.join(C_FOLDER);
    let files = generated(&root.join("wit"), "agent", options.build().as_mut())?;
    assert_eq!(files.iter().count(), 3);
    for (name, contents) in files.iter() {
        let path = folder.join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, contents)?;
        }
        assert!(
            std::fs::read(&path).unwrap_or_default() == contents,
            "{C_FOLDER}/{name} is not what wit says: \
             run `UPDATE=1 cargo test -p bailiwick-guest --test bindings`",
        );
    }
    Ok(())
}

fn generate(wit: &Path, world: &str, known: &[(&str, &str)]) -> anyhow::Result<String> {
    let known = known.iter().map(|(interface, module)| {
        ((*interface).to_owned(), WithOption::Path((*module).to_owned()))
    });
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
    let files = generated(wit, world, &mut options.build())?;
    let (_, source) = files.iter().next().ok_or_else(|| anyhow::anyhow!("nothing generated"))?;
    Ok(String::from_utf8(source.to_vec())?)
}

fn generated(wit: &Path, world: &str, generator: &mut dyn WorldGenerator) -> anyhow::Result<Files> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files)?;
    Ok(files)
}
