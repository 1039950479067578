//! What is a guest, and what is refused in a sentence.

use bailiwick::engine::{End, LoadError, Verdict};

use super::{Host, limits, wat};
use crate::guests::guest;

/// Neither loading nor inspecting takes it, and both say why with these words.
async fn assert_unfit(bytes: &[u8], words: &str) {
    let host = Host::new(limits());
    let Err(LoadError::Unfit(sentence)) = host.engine.load(bytes).await else {
        panic!("loaded, or the host failed");
    };
    assert!(sentence.contains(words), "{sentence}");
    let inspection = host.engine.inspect(bytes).await;
    assert_eq!(inspection.verdict, Verdict::Unfit(sentence));
    assert!(inspection.to_string().contains("This host cannot run it"));
}

fn assemble(text: &str) -> Vec<u8> {
    ::wat::parse_str(text).unwrap()
}

/// What is no component is refused by what it is.
#[tokio::test]
async fn what_is_no_component_is_refused() {
    assert_unfit(b"", "empty").await;
    assert_unfit(b"%PDF-1.7", "not WebAssembly").await;
    assert_unfit(b" ;; a comment\n(component)", "WebAssembly text").await;
    assert_unfit(&assemble("(module)"), "core module").await;
    assert_unfit(b"\0asm\x0c\0\x01\0", "version").await;
}

/// Compiled code is taken from nobody, whatever made it.
#[tokio::test]
async fn compiled_code_is_refused() {
    let compiled = wasmtime::Engine::default().precompile_component(&wat::echo()).unwrap();
    assert_unfit(&compiled, "compiled code").await;
}

/// A component that was cut off, or in which a byte was changed, is corrupt and not a crash.
#[tokio::test]
async fn a_corrupt_component_is_refused() {
    let whole = wat::echo();
    for length in [8, 9, whole.len() / 2, whole.len() - 1] {
        let host = Host::new(limits());
        let loaded = host.engine.load(&whole[..length]).await;
        assert!(matches!(loaded, Err(LoadError::Unfit(_))), "cut to {length}: {loaded:?}");
    }
    let mut changed = whole;
    changed[12] ^= 0xff;
    assert_unfit(&changed, "corrupt").await;
}

/// An import that this host does not offer is named.
#[tokio::test]
async fn a_missing_import_is_named() {
    let stranger = r#"(component (import "acme:mail/send@1.0.0" (instance
        (export "send" (func (param "text" string))))))"#;
    assert_unfit(&assemble(stranger), "`acme:mail/send@1.0.0`, which this host does not offer")
        .await;
    let newer = r#"(component (import "bailiwick:agent/session@0.1.0" (instance
        (export "shout" (func (param "text" string))))))"#;
    assert_unfit(&assemble(newer), "`shout`").await;
}

/// A component for another world lacks the export, and is told which.
#[tokio::test]
async fn a_missing_export_is_named() {
    assert_unfit(&assemble("(component)"), "`bailiwick:agent/turn@0.1.0`").await;
    let other_shape = r#"(component
        (core module $m (func (export "f")))
        (core instance $m (instantiate $m))
        (func $f (canon lift (core func $m "f")))
        (instance $i (export "run" (func $f)))
        (export "bailiwick:agent/turn@0.1.0" (instance $i)))"#;
    assert_unfit(&assemble(other_shape), "not as this host knows it").await;
}

/// A guest that can be run is told by what it imports and exports.
#[tokio::test]
async fn an_inspection_lists_imports_and_exports() {
    let host = Host::new(limits());
    let inspection = host.engine.inspect(&wat::echo()).await;
    assert_eq!(inspection.verdict, Verdict::Turn);
    assert_eq!(inspection.exports, ["bailiwick:agent/turn@0.1.0"]);
    let Some(command) = guest("command") else { return };
    let inspection = host.engine.inspect(&command).await;
    assert_eq!(inspection.verdict, Verdict::Command);
    assert!(inspection.imports.iter().any(|name| name.starts_with("wasi:cli/stdout@0.2.")));
    assert!(inspection.to_string().contains("as a command"), "{inspection}");
}

/// So is a program of WASI 0.3, whose calls may overlap.
#[tokio::test]
async fn an_inspection_tells_a_program_of_wasi_0_3() {
    let Some(program) = guest("folders-async") else { return };
    let inspection = Host::new(limits()).engine.inspect(&program).await;
    assert_eq!(inspection.verdict, Verdict::AsyncCommand);
    assert_eq!(inspection.exports, ["wasi:cli/run@0.3.0"]);
    assert!(inspection.to_string().contains("a command of WASI 0.3"), "{inspection}");
}

/// Agents whose calls overlap find folders of 0.3; those whose calls do not are refused by name.
#[tokio::test]
async fn an_agent_may_import_folders_of_wasi_0_3() {
    let imports = r#"
        (import "wasi:filesystem/types@0.3.0" (instance $types
            (export "descriptor" (type (sub resource)))))
        (alias export $types "descriptor" (type $descriptor))
        (import "wasi:filesystem/preopens@0.3.0" (instance
            (export "descriptor" (type (eq $descriptor)))
            (export "get-directories" (func (result (list (tuple (own $descriptor) string)))))))"#;
    let host = Host::new(limits());
    let agent = wat::async_turn(imports, "(core instance $host)", wat::ECHO);
    let agent = host.load(&agent).await;
    assert!(agent.has_folders());
    assert_eq!(host.run(&agent, "well").await.end, End::Reply("well".to_owned()));
    let other = wat::turn(imports, "(core instance $host)", wat::ECHO);
    assert_unfit(&other, "`wasi:filesystem/types@0.3.0`, which this host does not offer").await;
}

/// A component that exports a program of 0.3 of another shape is refused.
#[tokio::test]
async fn a_program_of_another_shape_is_refused() {
    let other_shape = r#"(component
        (core module $m (func (export "f")))
        (core instance $m (instantiate $m))
        (func $f (canon lift (core func $m "f")))
        (instance $i (export "run" (func $f)))
        (export "wasi:cli/run@0.3.0" (instance $i)))"#;
    assert_unfit(&assemble(other_shape), "not as this host knows it").await;
}

/// Any WASI 0.2 will do, and exports that nobody asked for are nobody's business.
#[tokio::test]
async fn an_early_wasi_and_further_exports_are_accepted() {
    let host = Host::new(limits());
    let command = host.load(&wat::early_command()).await;
    assert_eq!(host.run(&command, "").await.end, End::Reply(String::new()));
}

/// The contract is synchronous: a guest with tasks and streams of its own is refused, and so is
/// one with memory that could not be bounded.
#[tokio::test]
async fn asynchronous_guests_are_refused() {
    let text = "(component (core func (canon waitable-set.new)))";
    assert_unfit(&assemble(text), "build it for synchronous calls").await;
    assert_unfit(&assemble("(component (core module (memory 1 1 shared)))"), "a feature").await;
}
