//! The `apiVersion` and the `kind` of apply configurations.

use std::{fmt, marker::PhantomData};

use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Defines a zero-sized field that serializes as a constant of `K`.
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
    /// The `apiVersion` of `K` in an apply configuration.
    ///
    /// It is zero-sized. It serializes as the constant, and deserializing any other value is an error.
    ApiVersion, "apiVersion", api_version
}

constant! {
    /// The `kind` of `K` in an apply configuration.
    ///
    /// It is zero-sized. It serializes as the constant, and deserializing any other value is an error.
    Kind, "kind", kind
}
