use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Room for so many parts, and for what was lent of it.
#[derive(Debug)]
struct Parts(Arc<AtomicUsize>);

struct Return(Arc<AtomicUsize>);

impl Drop for Return {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Spare for Parts {
    fn take(&self, _: usize) -> Option<Lent> {
        let less = |left: usize| left.checked_sub(1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).ok()?;
        Some(Lent::new(Return(self.0.clone())))
    }
}

fn tuning() -> Tuning {
    Tuning { parts_at_once_max: 8, ..Tuning::default() }
}

const QUICK: Option<Duration> = Some(Duration::from_millis(10));
const SLOW: Option<Duration> = Some(Duration::from_secs(15));

fn all(lanes: &mut Lanes) -> Vec<Lane> {
    std::iter::from_fn(|| lanes.take(1)).collect()
}

/// Without room to borrow one part is on its way, and another once it has arrived.
#[test]
fn one_part_at_a_time_needs_no_room() {
    let mut lanes = Lanes::new(&tuning());
    for _ in 0..20 {
        let taken = all(&mut lanes);
        assert_eq!(taken.len(), 1);
        taken.into_iter().for_each(|lane| lanes.give_back(lane, QUICK));
    }
}

/// Quick parts make it more at once, up to the bound; a slow one halves that.
#[test]
fn as_many_parts_as_arrive_quickly() {
    let mut lanes = Lanes::new(&tuning());
    lanes.lend(Arc::new(Parts(Arc::new(AtomicUsize::new(100)))));
    let mut counts = Vec::new();
    for took in [QUICK, QUICK, QUICK, SLOW, SLOW, SLOW, QUICK] {
        let mut taken = all(&mut lanes);
        counts.push(taken.len());
        // How the last one fared decides; the others were neither quick nor slow.
        let last = taken.pop().unwrap();
        taken.into_iter().for_each(|lane| lanes.give_back(lane, Some(Duration::from_secs(5))));
        lanes.give_back(last, took);
    }
    assert_eq!(counts, [2, 3, 4, 5, 2, 1, 1]);
    for _ in 0..20 {
        all(&mut lanes).into_iter().for_each(|lane| lanes.give_back(lane, QUICK));
    }
    assert_eq!(all(&mut lanes).len(), tuning().parts_at_once_max);
}

/// No more at once than there is room for, and the room is given back.
#[test]
fn borrowed_room_is_given_back() {
    let left = Arc::new(AtomicUsize::new(3));
    let mut lanes = Lanes::new(&tuning());
    lanes.lend(Arc::new(Parts(left.clone())));
    for _ in 0..10 {
        all(&mut lanes).into_iter().for_each(|lane| lanes.give_back(lane, QUICK));
    }
    let taken = all(&mut lanes);
    assert_eq!((taken.len(), left.load(Ordering::SeqCst)), (4, 0));
    drop(taken);
    assert_eq!(left.load(Ordering::SeqCst), 3);
}
