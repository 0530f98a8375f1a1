//! Quantities such as `500m` and `2Gi`, exact to a billionth.

use std::cmp::Ordering;

use crate::quantity::MALFORMED;

const NANO: i128 = 1_000_000_000;

const SUFFIX: &str = "unable to parse quantity's suffix";

/// A quantity, in billionths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

impl From<i64> for Quantity {
    fn from(value: i64) -> Self {
        Self(i128::from(value) * NANO)
    }
}

impl Quantity {
    /// Parses a quantity; what is finer than a billionth is rounded up, and what is too large is the largest one.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.as_bytes().first() {
            None => return Err(MALFORMED),
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return Err(MALFORMED);
        }
        let (base, exponent) = scale(suffix)?;
        let mut digits: String = format!("{whole}{fraction}").trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Ok(Self(0));
        }
        // The value is digits × 10^(9 - length of the fraction) × base^exponent billionths.
        let mut ten = 9 - i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let mut factor: i128 = 1;
        if base == 10 {
            ten = ten.saturating_add(exponent);
        } else {
            factor = 1_i128 << (10 * exponent);
        }
        let mut rounds_up = false;
        while ten < 0 && !digits.is_empty() && factor == 1 {
            rounds_up |= digits.pop() != Some('0');
            ten += 1;
        }
        let mantissa = if digits.is_empty() { Some(0) } else { digits.parse::<i128>().ok() };
        let value = mantissa.and_then(|mantissa| mantissa.checked_mul(factor)).and_then(|mut value| {
            while ten < 0 {
                rounds_up |= value % 10 != 0;
                value /= 10;
                ten += 1;
            }
            10_i128.checked_pow(u32::try_from(ten).ok()?).and_then(|power| value.checked_mul(power))
        });
        let value = value.unwrap_or(i128::MAX - 1) + i128::from(rounds_up);
        Ok(Self(if negative { -value } else { value }))
    }

    pub fn sign(&self) -> i64 {
        match self.0.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// The quantity as an integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if self.0 % NANO == 0 { i64::try_from(self.0 / NANO).ok() } else { None }
    }

    #[expect(clippy::cast_precision_loss, reason = "an approximation is asked for")]
    pub fn float(&self) -> f64 {
        self.0 as f64 / NANO as f64
    }

    pub fn add(&self, other: &Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

fn scale(suffix: &str) -> Result<(u32, i32), &'static str> {
    Ok(match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 1),
        "Mi" => (2, 2),
        "Gi" => (2, 3),
        "Ti" => (2, 4),
        "Pi" => (2, 5),
        "Ei" => (2, 6),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E']).ok_or(
                if suffix.bytes().all(|b| b"eEinumkKMGTP+-0123456789".contains(&b)) {
                    SUFFIX
                } else {
                    MALFORMED
                },
            )?;
            let digits = exponent.trim_start_matches(['+', '-']);
            if digits.is_empty()
                || exponent.len() - digits.len() > 1
                || !digits.bytes().all(|b| b.is_ascii_digit())
            {
                return Err(SUFFIX);
            }
            (10, exponent.parse::<i32>().map_err(|_| SUFFIX)?.clamp(-1000, 1000))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn quantities_are_read_with_their_suffixes() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1"), parse("1000m"));
        assert_eq!(parse("1Ki"), parse("1024"));
        assert_eq!(parse("1.5Gi"), parse("1536Mi"));
        assert_eq!(parse("1e3"), parse("1k"));
        assert_eq!(parse("-0.5"), parse("-500m"));
        assert_eq!(parse("0.1n"), parse("1n"));
        assert!(parse("9Ei") > parse("9P"));
        assert_eq!(parse("2Gi").integer(), Some(2 << 30));
        assert_eq!(parse("500m").integer(), None);
        assert!(parse("1E1000") > parse("1E"));
        for text in ["", "a", "1x", "1..2", ".", "1eX", "1KiB"] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }
}
