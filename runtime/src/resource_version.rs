//! The order of resource versions.
//!
//! Since Kubernetes 1.35 the resource versions of one resource are decimal numbers without leading
//! zeros, possibly longer than 64 bits, and can be ordered. Anything else that a server sends can only
//! be compared for equality: it is neither older nor newer than any version.

use std::cmp::Ordering;

/// Returns whether this resource version can be ordered.
///
/// `0` cannot: the API server uses it for "any version", and no object has it.
pub(crate) fn is_ordered(version: &str) -> bool {
    !version.is_empty() && !version.starts_with('0') && version.bytes().all(|byte| byte.is_ascii_digit())
}

/// Compares two resource versions. Returns `None` if one of them cannot be ordered.
pub(crate) fn compare(left: &str, right: &str) -> Option<Ordering> {
    (is_ordered(left) && is_ordered(right))
        .then(|| left.len().cmp(&right.len()).then_with(|| left.cmp(right)))
}

/// Returns whether both can be ordered and `left` is older than `right`.
pub(crate) fn is_older(left: &str, right: &str) -> bool {
    compare(left, right) == Some(Ordering::Less)
}

/// Returns whether both can be ordered and `reached` is not older than `wanted`.
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
    fn a_version_that_is_not_a_number_has_no_order() {
        for odd in ["", "0", "01", "1a", "-1", "+1", " 1"] {
            assert_eq!(compare(odd, "5"), None, "{odd:?}");
            assert_eq!(compare("5", odd), None, "{odd:?}");
            assert!(!is_older(odd, "5") && !has_reached("5", odd));
        }
    }
}
