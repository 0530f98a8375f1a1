//! How two resource versions of one resource compare.
//!
//! Since Kubernetes 1.35 the resource versions of one resource are decimal numbers without leading
//! zeros that can be put in order; they may be longer than 64 bits. Whatever else a server sends
//! can only be compared for equality, and is never taken to be older or newer than anything.

use std::cmp::Ordering;

/// Whether this text is a resource version that has a place in the order.
///
/// `0` is none: it means "any version" to the API server, and no object carries it.
pub(crate) fn is_ordered(version: &str) -> bool {
    !version.is_empty() && !version.starts_with('0') && version.bytes().all(|byte| byte.is_ascii_digit())
}

/// The order of two resource versions, or `None` where one of them has no place in it.
pub(crate) fn compare(left: &str, right: &str) -> Option<Ordering> {
    (is_ordered(left) && is_ordered(right))
        .then(|| left.len().cmp(&right.len()).then_with(|| left.cmp(right)))
}

/// Whether both can be compared and `left` comes before `right`.
pub(crate) fn is_older(left: &str, right: &str) -> bool {
    compare(left, right) == Some(Ordering::Less)
}

/// Whether both can be compared and `reached` is `wanted` or comes after it.
pub(crate) fn has_reached(reached: &str, wanted: &str) -> bool {
    compare(reached, wanted).is_some_and(Ordering::is_ge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_of_any_length() {
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("10", "10"), Some(Ordering::Equal));
        assert_eq!(compare("184467440737095516160", "18446744073709551616"), Some(Ordering::Greater));
    }

    #[test]
    fn what_is_no_number_has_no_order() {
        for odd in ["", "0", "01", "1a", "-1", "+1", " 1"] {
            assert_eq!(compare(odd, "5"), None, "{odd:?}");
            assert_eq!(compare("5", odd), None, "{odd:?}");
            assert!(!is_older(odd, "5") && !has_reached("5", odd));
        }
    }
}
