use super::harness::Machine;

/// A project is made whole, under its own name, and nothing that is there is touched.
#[test]
fn a_project_is_made_whole_or_not_at_all() {
    let machine = Machine::new();
    machine.ok(&["new", "my-guest"]);
    let manifest = std::fs::read_to_string(machine.path("my-guest/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"my-guest\""), "{manifest}");
    assert!(machine.path("my-guest/bailiwick-guest/src/lib.rs").is_file());
    assert!(machine.path("my-guest/.cargo/config.toml").is_file());
    let again = machine.refused(&["new", "my-guest"]);
    assert!(again.contains("is there already"), "{again}");
    machine.ok(&["new", "overlapping", "--async"]);
    let turn = std::fs::read_to_string(machine.path("overlapping/src/lib.rs")).unwrap();
    assert!(turn.contains("agent!(async run)"), "{turn}");
    machine.ok(&["new", "other", "--path", "deep/er"]);
    assert!(machine.path("deep/er/src/lib.rs").is_file());
    for name in ["", "1st", "a b", "../x"] {
        assert_eq!(machine.run(&["new", name]).code, Some(2), "{name:?}");
    }
    let file = machine.file("file", b"");
    let inside = machine.refused(&["new", "x", "--path", &format!("{file}/x")]);
    assert!(inside.contains("cannot be made"), "{inside}");
}
