//! The public suite of WASI, against scopes as folders.

use std::path::Path;

use anyhow::{Result, bail};

use crate::guests;
use crate::places::Places;
use crate::servers;
use crate::shell::{cargo, run, step};
use crate::test::TEST;

/// Runs the programs of a checkout of <https://github.com/WebAssembly/wasi-testsuite> that has them
/// built: one of its branch `prod/testsuite-base`.
pub(crate) fn check(places: &Places, checkout: &Path) -> Result<()> {
    for wasi in ["wasm32-wasip1", "wasm32-wasip3"] {
        let programs = checkout.join("tests/rust/testsuite").join(wasi);
        if !programs.is_dir() {
            bail!(
                "there are no programs in {}: check out the branch `prod/testsuite-base`",
                programs.display()
            );
        }
    }
    let guests = guests::build(places)?;
    servers::ensure(&places.tools)?;
    step("running the programs over each kind of store");
    let mut test = cargo();
    test.current_dir(&places.root).args(TEST).args(["--test", "it", "the_public_suite_passes"]);
    test.args(["--", "--ignored", "--nocapture"]);
    test.env("BAILIWICK_GUESTS", &guests).env("BAILIWICK_TOOLS", &places.tools);
    test.env("BAILIWICK_WASI_TESTSUITE", checkout.canonicalize()?);
    run(&mut test)
}
