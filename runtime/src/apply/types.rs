//! Fields whose value is a constant of the kind.

use std::{fmt, marker::PhantomData};

use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A field of no size that is a constant of `K` in JSON.
macro_rules! constant {
    ($(#[$docs:meta])* $name:ident, $field:literal, $constant:ident) => {
        $(#[$docs])*
        pub struct $name<K>(PhantomData<fn() -> K>);

        impl<K> Default for $name<K> {
            fn default() -> Self {
                Self(PhantomData)
            }
        }

        impl<K> Clone for $name<K> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<K> Copy for $name<K> {}

        impl<K> PartialEq for $name<K> {
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }

        impl<K> Eq for $name<K> {}

        impl<K> fmt::Debug for $name<K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }

        impl<K: Resource<DynamicType = ()>> Serialize for $name<K> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&K::$constant(&()))
            }
        }

        impl<'de, K: Resource<DynamicType = ()>> Deserialize<'de> for $name<K> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let (found, expected) = (String::deserialize(deserializer)?, K::$constant(&()));
                match found == *expected {
                    true => Ok(Self::default()),
                    false => Err(D::Error::custom(format_args!(
                        concat!($field, " is `{}`, not `{}`"),
                        found, expected
                    ))),
                }
            }
        }
    };
}

constant! {
    /// The `apiVersion` of an apply configuration, which is that of `K`.
    ///
    /// It has no size. In JSON it is the constant, and another value is an error.
    ApiVersion, "apiVersion", api_version
}

constant! {
    /// The `kind` of an apply configuration, which is that of `K`.
    ///
    /// It has no size. In JSON it is the constant, and another value is an error.
    Kind, "kind", kind
}
