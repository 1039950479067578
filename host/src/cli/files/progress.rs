use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Transfers of fewer bytes are over before anybody looks.
const SHOWN_BYTES_MIN: u64 = 8 << 20;

/// How far a transfer is, on standard error if that is a terminal.
pub(super) fn bar(bytes: Option<u64>) -> ProgressBar {
    if bytes.is_some_and(|bytes| bytes < SHOWN_BYTES_MIN) {
        return ProgressBar::hidden();
    }
    let (bar, template) = match bytes {
        Some(bytes) => {
            (ProgressBar::new(bytes), "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes} {bytes_per_sec}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
