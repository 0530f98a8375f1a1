//! `group_version!`, which knows this crate whatever its name is in the user's `Cargo.toml`.

/// Names the API group and version of the types in a module.
///
/// It defines `GROUP`, `VERSION`, `API_VERSION`, `kind()` and `resource()` in the module.
///
/// ```
/// mod v1 {
///     genclient_runtime::group_version!("samplecrd.k8s.io/v1");
///
///     mod network {
///         genclient_runtime::group_version!(super); // the types in here have the parent's
///     }
/// }
///
/// mod v2 {
///     // `sample` is the group's name in generated code, in place of `samplecrd`.
///     genclient_runtime::group_version!("samplecrd.k8s.io/v2", ident = "sample");
/// }
///
/// assert_eq!(v1::API_VERSION, "samplecrd.k8s.io/v1");
/// assert_eq!(v2::resource("networks").to_string(), "networks.samplecrd.k8s.io");
/// ```
///
/// The core group has no name: `group_version!("v1")`.
#[macro_export]
macro_rules! group_version {
    ($($input:tt)*) => {
        $crate::__private::group_version! { $crate { $($input)* } }
    };
}
