//! What the exit code says.

pub(super) const REFUSED: u8 = 1;
pub(super) const PARKED: u8 = 10;
pub(super) const GUEST_ERROR: u8 = 11;
pub(super) const TRAPPED: u8 = 12;
pub(super) const LIMIT: u8 = 13;
pub(super) const HOST_FAULT: u8 = 14;
/// What shells report of a process that Ctrl-C ended.
pub(super) const CANCELLED: u8 = 130;

pub(super) const HELP: &str = "\
Exit codes:
    0  it was done; of `run`: the guest replied
    1  it was not done; a sentence on standard error says why
    2  the command line is not understood
   10  `run`: the turn is parked with a question for a person
   11  `run`: the guest reported an error of its own
   12  `run`: the guest trapped
   13  `run`: the guest went over a limit
   14  `run`: this host failed the turn
  130  it was cancelled with Ctrl-C

Environment:
  BAILIWICK_LOG  what this host logs on standard error, such as `debug`; `warn` by default";
