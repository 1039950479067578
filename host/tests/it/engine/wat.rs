//! Guests written by hand, for what no ordinary toolchain builds.

/// A component that exports `bailiwick:agent/turn`. `module` is the text of its core module: it
/// has the memory `$memory`, may import from `host` what `lowered` gives, and exports a
/// function `run` that takes six numbers and returns the address of its result.
pub(super) fn turn(imports: &str, lowered: &str, module: &str) -> Vec<u8> {
    wat::parse_str(text(imports, lowered, module, TURN)).unwrap()
}

/// As [`turn`], but it exports `bailiwick:agent/async-turn`.
pub(super) fn async_turn(imports: &str, lowered: &str, module: &str) -> Vec<u8> {
    let export = TURN
        .replace("(func $run (param", "(func $run async (param")
        .replace("(func $run\n", "(func $run async\n")
        .replace("(func $run) (func\n", "(func $run) (func async\n")
        .replace("bailiwick:agent/turn@", "bailiwick:agent/async-turn@");
    wat::parse_str(text(imports, lowered, module, &export)).unwrap()
}

fn text(imports: &str, lowered: &str, module: &str, export: &str) -> String {
    format!(
        r#"(component
            {imports}
            (core module $libc
                (memory (export "memory") 2)
                (global $next (mut i32) (i32.const 65536))
                (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                    global.get $next
                    (global.set $next (i32.add (global.get $next)
                        (i32.and (i32.add (local.get 3) (i32.const 15)) (i32.const -8))))))
            (core instance $libc (instantiate $libc))
            {lowered}
            (core module $guest
                (import "libc" "memory" (memory $memory 2))
                {module})
            (core instance $guest (instantiate $guest
                (with "libc" (instance $libc))
                (with "host" (instance $host))))
            {export})"#
    )
}

/// As [`turn`], without imports.
pub(super) fn alone(module: &str) -> Vec<u8> {
    turn("", "(core instance $host)", module)
}

/// A guest that replies with its input.
pub(crate) fn echo() -> Vec<u8> {
    alone(ECHO)
}

/// A `run` whose reply is its input.
pub(super) const ECHO: &str = r#"
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (i32.store8 (i32.const 1024) (i32.const 0))
        (i32.store8 (i32.const 1028) (i32.const 0))
        (i32.store (i32.const 1032) (local.get 0))
        (i32.store (i32.const 1036) (local.get 1))
        (i32.const 1024))"#;

const TURN: &str = r#"
    (type $request' (record
        (field "input" string) (field "answer" (option string)) (field "attempt" u32)))
    (type $outcome' (variant (case "reply" string) (case "park" string)))
    (func $run (param "request" $request') (result (result $outcome' (error string)))
        (canon lift (core func $guest "run")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
    (component $turn
        (type $request' (record
            (field "input" string) (field "answer" (option string)) (field "attempt" u32)))
        (type $outcome' (variant (case "reply" string) (case "park" string)))
        (import "request" (type $request (eq $request')))
        (import "outcome" (type $outcome (eq $outcome')))
        (import "run" (func $run
            (param "request" $request) (result (result $outcome (error string)))))
        (export $request-out "request" (type $request))
        (export $outcome-out "outcome" (type $outcome))
        (export "run" (func $run) (func
            (param "request" $request-out) (result (result $outcome-out (error string))))))
    (instance $turn (instantiate $turn
        (with "request" (type $request'))
        (with "outcome" (type $outcome'))
        (with "run" (func $run))))
    (export "bailiwick:agent/turn@0.1.0" (instance $turn))"#;

/// A `run` that never returns.
pub(super) const SPIN: &str = r#"
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (loop $again (br $again))
        unreachable)"#;

/// A `run` that calls itself without end.
pub(super) const DEEP_CALLS: &str = r#"
    (func $run (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (call $run (local.get 0) (local.get 1) (local.get 2)
            (local.get 3) (local.get 4) (local.get 5)))"#;

/// A `run` that grows a memory a MiB at a time, and between has another one fail to grow; it
/// gives up once it holds 64 MiB, or is refused one.
pub(super) const FAILED_GROWTHS: &str = r#"
    (memory $fixed 1 1)
    (memory $other 1)
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (local $left i32)
        (local.set $left (i32.const 64))
        (loop $again
            (drop (memory.grow $fixed (i32.const 100)))
            (br_if $again (i32.and
                (i32.ge_s (memory.grow $other (i32.const 16)) (i32.const 0))
                (i32.gt_s (local.tee $left (i32.sub (local.get $left) (i32.const 1)))
                    (i32.const 0)))))
        unreachable)"#;

/// A guest that calls the host from ever deeper down.
pub(super) fn deep_host_calls() -> Vec<u8> {
    let imports = r#"(import "bailiwick:agent/session@0.1.0" (instance $session
        (export "say" (func (param "part" string)))))"#;
    let lowered = r#"
        (core func $say (canon lower (func $session "say")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core instance $host (export "say" (func $say)))"#;
    let module = r#"
        (import "host" "say" (func $say (param i32 i32)))
        (func $run (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
            (call $say (local.get 0) (local.get 1))
            (call $run (local.get 0) (local.get 1) (local.get 2)
                (local.get 3) (local.get 4) (local.get 5)))"#;
    turn(imports, lowered, module)
}

/// A `run` that keeps arrays without end in the heap that is collected.
pub(super) const COLLECTED_HEAP_BOMB: &str = r#"
    (type $bytes (array (mut i8)))
    (rec (type $kept (struct (field (ref null $kept)) (field (ref null $bytes)))))
    (global $all (mut (ref null $kept)) (ref.null $kept))
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (loop $more
            (global.set $all (struct.new $kept
                (global.get $all) (array.new_default $bytes (i32.const 65536))))
            (br $more))
        unreachable)"#;

/// A `run` that grows a table until that fails, and gives up then.
pub(super) const TABLE_BOMB: &str = r#"
    (table $table 1 funcref)
    (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
        (loop $again
            (br_if $again (i32.ge_s
                (table.grow $table (ref.null func) (i32.const 1000)) (i32.const 0))))
        unreachable)"#;

const STDOUT_IMPORTS: &str = r#"
        (import "wasi:io/error@0.2.0" (instance $error (export "error" (type (sub resource)))))
        (alias export $error "error" (type $error'))
        (import "wasi:io/streams@0.2.0" (instance $streams
            (alias outer 1 $error' (type $error-in))
            (export "error" (type $error-out (eq $error-in)))
            (type $failure (variant
                (case "last-operation-failed" (own $error-out)) (case "closed")))
            (export "stream-error" (type $stream-error (eq $failure)))
            (export "output-stream" (type $stream (sub resource)))
            (export "[method]output-stream.blocking-write-and-flush" (func
                (param "self" (borrow $stream)) (param "contents" (list u8))
                (result (result (error $stream-error)))))))
        (alias export $streams "output-stream" (type $stream'))
        (import "wasi:cli/stdout@0.2.0" (instance $stdout
            (alias outer 1 $stream' (type $stream-in))
            (export "output-stream" (type $stream (eq $stream-in)))
            (export "get-stdout" (func (result (own $stream))))))"#;

const STDOUT_LOWERED: &str = r#"
        (core func $get (canon lower (func $stdout "get-stdout")))
        (core func $write (canon lower
            (func $streams "[method]output-stream.blocking-write-and-flush")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core instance $host (export "get" (func $get)) (export "write" (func $write)))"#;

/// How many lines [`line_flood`] logs.
pub(super) const LINE_FLOOD_LINES: u64 = 10_000_000;

/// A guest that prints ten million empty lines, as many at a time as a call takes.
pub(super) fn line_flood() -> Vec<u8> {
    let writes = LINE_FLOOD_LINES / 4000;
    let module = format!(
        r#"
        (import "host" "get" (func $get (result i32)))
        (import "host" "write" (func $write (param i32 i32 i32 i32)))
        (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
            (local $stream i32) (local $left i32)
            (memory.fill (i32.const 4096) (i32.const 10) (i32.const 4000))
            (local.set $stream (call $get))
            (local.set $left (i32.const {writes}))
            (loop $again
                (call $write (local.get $stream)
                    (i32.const 4096) (i32.const 4000) (i32.const 2048))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $again (local.get $left)))
            (i32.store8 (i32.const 1024) (i32.const 0))
            (i32.store8 (i32.const 1028) (i32.const 0))
            (i32.store (i32.const 1032) (i32.const 0))
            (i32.store (i32.const 1036) (i32.const 0))
            (i32.const 1024))"#
    );
    turn(STDOUT_IMPORTS, STDOUT_LOWERED, &module)
}

/// A guest that takes handles without end, and lets none go.
pub(super) fn handle_flood() -> Vec<u8> {
    let module = r#"
        (import "host" "get" (func $get (result i32)))
        (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
            (loop $again (drop (call $get)) (br $again))
            unreachable)"#;
    turn(STDOUT_IMPORTS, STDOUT_LOWERED, module)
}

/// A guest that makes as many handles of a resource of its own.
pub(super) fn own_handle_flood() -> Vec<u8> {
    let lowered = r#"
        (type $own (resource (rep i32)))
        (core func $new (canon resource.new $own))
        (core instance $host (export "new" (func $new)))"#;
    let module = r#"
        (import "host" "new" (func $new (param i32) (result i32)))
        (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
            (loop $again (drop (call $new (i32.const 1))) (br $again))
            unreachable)"#;
    turn("", lowered, module)
}

/// A guest of more core instances than one may have.
pub(super) fn many_instances(count: usize) -> Vec<u8> {
    turn("", &empty_instances(count), ECHO)
}

/// As [`many_instances`], with an asynchronous turn.
pub(super) fn many_overlapping_instances(count: usize) -> Vec<u8> {
    async_turn("", &empty_instances(count), ECHO)
}

fn empty_instances(count: usize) -> String {
    let instances = "(core instance (instantiate $empty))".repeat(count);
    format!("(core module $empty) {instances} (core instance $host)")
}

/// As [`alone`], with an asynchronous turn.
pub(super) fn overlapping_alone(module: &str) -> Vec<u8> {
    async_turn("", "(core instance $host)", module)
}

/// A guest that leaves through `wasi:cli/exit`, with success.
pub(super) fn exiting() -> Vec<u8> {
    let imports = r#"(import "wasi:cli/exit@0.2.0" (instance $cli
        (export "exit" (func (param "status" (result))))))"#;
    let lowered = r#"
        (core func $exit (canon lower (func $cli "exit")))
        (core instance $host (export "exit" (func $exit)))"#;
    let module = r#"
        (import "host" "exit" (func $exit (param i32)))
        (func (export "run") (param i32 i32 i32 i32 i32 i32) (result i32)
            (call $exit (i32.const 0))
            unreachable)"#;
    turn(imports, lowered, module)
}

/// A command of the first WASI 0.2, which does nothing.
pub(super) fn early_command() -> Vec<u8> {
    let text = r#"(component
        (core module $m (func (export "run") (result i32) (i32.const 0)))
        (core instance $m (instantiate $m))
        (func $run (result (result)) (canon lift (core func $m "run")))
        (instance $run (export "run" (func $run)))
        (export "wasi:cli/run@0.2.0" (instance $run))
        (export "something-else" (func $run)))"#;
    wat::parse_str(text).unwrap()
}

/// A guest that asks twice to be woken, each time with 3 MiB.
pub(super) fn long_wakes() -> Vec<u8> {
    let imports = r#"(import "bailiwick:agent/session@0.1.0" (instance $session
        (export "wake" (func (param "after-ms" u64) (param "input" string)
            (result (result (error string)))))))"#;
    let lowered = r#"
        (core func $wake (canon lower (func $session "wake")
            (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
        (core instance $host (export "wake" (func $wake)))"#;
    let module = format!(
        r#"
        (import "host" "wake" (func $wake (param i64 i32 i32 i32)))
        (func $start
            (drop (memory.grow (i32.const 64)))
            (call $wake (i64.const 1) (i32.const 131072) (i32.const 3145728) (i32.const 2048))
            (call $wake (i64.const 1) (i32.const 131072) (i32.const 3145728) (i32.const 2048)))
        (start $start)
        {ECHO}"#
    );
    turn(imports, lowered, &module)
}
