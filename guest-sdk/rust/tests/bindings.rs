//! Holds the bindings that are checked in against the contract in `wit/`.

#![expect(clippy::disallowed_methods, reason = "the test works on the checkout")]

use std::path::Path;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::Opts;

/// `src/bindings.rs` is what `wit/` says. `UPDATE=1 cargo test -p bailiwick-guest --test bindings`
/// writes it anew.
#[test]
fn bindings_are_those_of_the_contract() -> anyhow::Result<()> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = crate_dir.join("src/bindings.rs");
    let generated = generate(&crate_dir.join("../../wit"))?;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &generated)?;
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        checked_in == generated,
        "src/bindings.rs is not what wit/ says: \
         run `UPDATE=1 cargo test -p bailiwick-guest --test bindings`",
    );
    Ok(())
}

fn generate(wit: &Path) -> anyhow::Result<String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some("agent"))?;
    let options = Opts {
        format: true,
        generate_all: true,
        pub_export_macro: true,
        runtime_path: Some("wit_bindgen::rt".to_owned()),
        additional_derive_attributes: vec!["PartialEq".to_owned(), "Eq".to_owned()],
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    let (_, source) = files.iter().next().ok_or_else(|| anyhow::anyhow!("nothing generated"))?;
    Ok(String::from_utf8(source.to_vec())?)
}
