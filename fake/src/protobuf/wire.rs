//! The fields of a message, as bytes.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'b> {
    Integer(u64),
    Fixed(u64),
    Bytes(&'b [u8]),
}

const WRONG: &str = "proto: wrong wireType";
const SHORT: &str = "unexpected EOF";

impl<'b> Field<'b> {
    pub(super) fn bytes(self) -> Result<&'b [u8], String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(WRONG.to_owned()),
        }
    }

    pub(super) fn integer(self) -> Result<u64, String> {
        match self {
            Self::Integer(number) => Ok(number),
            _ => Err(WRONG.to_owned()),
        }
    }

    pub(super) fn fixed(self) -> Result<u64, String> {
        match self {
            Self::Fixed(number) => Ok(number),
            _ => Err(WRONG.to_owned()),
        }
    }

    /// Bytes that are no text are replaced, as in JSON.
    pub(super) fn text(self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

/// Whole numbers are written as if they were not negative.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// Reads the fields of a message one after the other. After an error there are no more.
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or(SHORT)?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    fn take(&mut self, length: u64) -> Result<&'b [u8], String> {
        let length = usize::try_from(length).map_err(|_| SHORT)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(SHORT)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn field(&mut self) -> Result<(u64, Field<'b>), String> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Integer(self.varint()?),
            1 => Field::Fixed(little_endian(self.take(8)?)),
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed(little_endian(self.take(4)?)),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        Ok((tag >> 3, field))
    }
}

impl<'b> Iterator for Reader<'b> {
    type Item = Result<(u64, Field<'b>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Reads whole numbers without tags between them.
pub(super) fn packed(bytes: &[u8]) -> impl Iterator<Item = Result<u64, String>> {
    let mut reader = Reader::new(bytes);
    std::iter::from_fn(move || {
        if reader.rest.is_empty() {
            return None;
        }
        let number = reader.varint();
        if number.is_err() {
            reader.rest = &[];
        }
        Some(number)
    })
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let low = u8::try_from(number & 0x7f).unwrap();
            number >>= 7;
            if number == 0 {
                bytes.push(low);
                break;
            }
            bytes.push(low | 0x80);
        }
        bytes
    }

    #[test]
    fn numbers_are_read() {
        for number in [0, 1, 127, 128, 300, u64::MAX] {
            let bytes = [vec![0x08], varint(number)].concat();
            assert_eq!(Reader::new(&bytes).next(), Some(Ok((1, Field::Integer(number)))));
        }
        assert_eq!(signed(u64::MAX), -1);
        assert_eq!(packed(&[1, 0xac, 2]).collect::<Result<Vec<_>, _>>(), Ok(vec![1, 300]));
        let half = [&[0x09][..], &0.5_f64.to_bits().to_le_bytes()].concat();
        assert_eq!(Reader::new(&half).next(), Some(Ok((1, Field::Fixed(0.5_f64.to_bits())))));
    }

    #[test]
    fn a_message_that_ends_too_early_is_an_error() {
        for bytes in [&[0x08][..], &[0x0a, 5, 1], &[0x09, 1, 2], &[0x0b], &[0x80; 11]] {
            let mut reader = Reader::new(bytes);
            assert!(reader.next().unwrap().is_err(), "{bytes:?}");
            assert!(reader.next().is_none());
        }
    }
}
