use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::join;

/// No more calls are under way than was asked, each is made, and answers come in their order.
#[test]
fn joined_calls_are_bounded_and_answered_in_order() {
    let (under_way, most) = (Cell::new(0), Cell::new(0));
    let call = |number: u32| {
        let (under_way, most) = (&under_way, &most);
        let mut polls_left = 1 + number % 3;
        under_way.set(under_way.get() + 1);
        most.set(most.get().max(under_way.get()));
        poll_fn(move |context| {
            polls_left -= 1;
            if polls_left > 0 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            under_way.set(under_way.get() - 1);
            Poll::Ready(number)
        })
    };
    let mut all = pin!(join(4, (0..20).map(call)));
    let mut context = Context::from_waker(Waker::noop());
    let answers = loop {
        if let Poll::Ready(answers) = all.as_mut().poll(&mut context) {
            break answers;
        }
    };
    assert_eq!(answers, (0..20).collect::<Vec<_>>());
    assert_eq!(most.get(), 4);
}
