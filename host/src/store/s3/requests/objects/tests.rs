use super::read_range;

/// Start and total are read of a range; what is none is not taken for one.
#[test]
fn a_range_says_where_it_starts_and_how_much_there_is() {
    assert_eq!(read_range("bytes 0-9/100"), Some((0, 100)));
    assert_eq!(read_range("bytes 5-5/18446744073709551615"), Some((5, u64::MAX)));
    for odd in ["", "bytes */100", "bytes 0-9/*", "0-9/100", "bytes -1-9/100", "bytes 0-9"] {
        assert_eq!(read_range(odd), None, "{odd}");
    }
}
