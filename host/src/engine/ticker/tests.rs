use std::time::Duration;

use super::Ticker;

/// The thread ends with its holder, and keeps no engine alive.
#[test]
fn a_ticker_ends_with_its_holder() {
    let engine = wasmtime::Engine::default();
    let weak = engine.weak();
    let ticker = Ticker::start(Duration::from_millis(1)).unwrap();
    ticker.tick(&engine);
    drop(engine);
    drop(ticker);
    assert!(weak.upgrade().is_none());
}
