//! The functions that Kubernetes adds to CEL.

use std::{
    any::Any,
    cmp::Ordering,
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    sync::LazyLock,
};

use cel::{
    DeclarationError, Env, ExecutionError,
    common::{
        types::{
            CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString, DYN_TYPE,
            LIST_TYPE, STRING_TYPE, Type,
        },
        value::{CowVal, StaticVal, Val},
    },
};
use ipnet::IpNet;

use super::{
    super::{cause::quote, formats, re2, url},
    budget,
    names::{self, Format},
    quantity::Quantity,
};

type Answer<T> = Result<T, ExecutionError>;
type Arguments<'b, 'v> = Vec<CowVal<'b, 'v>>;

fn fail<T>(function: &str, message: String) -> Answer<T> {
    Err(ExecutionError::function_error(function, message))
}

macro_rules! opaque {
    ($name:ident, $type:literal) => {
        impl Val for $name {
            fn get_type(&self) -> &Type {
                Self::cel_type()
            }

            fn cel_type() -> &'static Type {
                static TYPE: LazyLock<Type> = LazyLock::new(|| Type::new_opaque_type($type));
                &TYPE
            }

            fn equals(&self, other: &dyn Val) -> bool {
                other.downcast_ref::<Self>().is_some_and(|other| self == other)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }

        impl StaticVal for $name {}
    };
}

#[derive(Clone, Debug, PartialEq)]
struct Ip(IpAddr);
#[derive(Clone, Debug, PartialEq)]
struct Cidr(IpNet);
#[derive(Clone, Debug, PartialEq)]
struct Url(url::Url);

opaque!(Ip, "net.IP");
opaque!(Cidr, "net.CIDR");
opaque!(Url, "kubernetes.URL");
opaque!(Quantity, "kubernetes.Quantity");
opaque!(Format, "kubernetes.NamedFormat");

/// The environment of all rules: CEL, its extensions, and the libraries of Kubernetes.
pub(super) fn environment() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(cel::extensions::strings)?;
    env.add_extension(cel::extensions::lists)?;
    for name in super::signatures::OPAQUE {
        env.add_type(Type::new_opaque_type(*name))?;
    }
    budget::declare(&mut env)?;
    declare_regex(&mut env)?;
    declare_lists(&mut env)?;
    declare_network(&mut env)?;
    declare_urls(&mut env)?;
    declare_quantities(&mut env)?;
    declare_formats(&mut env)?;
    Ok(env)
}

fn declare_regex(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_member_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>, name = "@matches", id = "matches_member")?;
    cel::add_overload!(env, fn matches: (CelString, CelString) -> Result<CelBool>, name = "@matches", id = "matches_global")?;
    cel::add_member_overload!(env, fn find: (CelString, CelString) -> Result<CelString>)?;
    cel::add_member_overload!(env, fn find_all: (CelString, CelString) -> Result<CelList>)?;
    cel::add_member_overload!(env, fn find_some: (CelString, CelString, CelInt) -> Result<CelList>, name = "findAll")?;
    Ok(())
}

fn regex(function: &str, pattern: &CelString<'_>) -> Answer<regex::Regex> {
    re2::compile(pattern.inner()).or_else(|error| fail(function, format!("Illegal regex: {error}")))
}

fn matches(text: &CelString<'_>, pattern: &CelString<'_>) -> Answer<CelBool> {
    let pattern = re2::compile(pattern.inner()).or_else(|error| fail("matches", error))?;
    Ok(CelBool::from(pattern.is_match(text.inner())))
}

fn find(text: &CelString<'_>, pattern: &CelString<'_>) -> Answer<CelString<'static>> {
    let found = regex("find", pattern)?.find(text.inner()).map(|found| found.as_str().to_owned());
    Ok(CelString::from(found.unwrap_or_default()))
}

fn find_all(text: &CelString<'_>, pattern: &CelString<'_>) -> Answer<CelList<'static>> {
    find_some(text, pattern, &CelInt::from(-1))
}

fn find_some(text: &CelString<'_>, pattern: &CelString<'_>, limit: &CelInt) -> Answer<CelList<'static>> {
    let limit = usize::try_from(*limit.inner()).unwrap_or(usize::MAX);
    let pattern = regex("findAll", pattern)?;
    Ok(texts(pattern.find_iter(text.inner()).take(limit).map(|found| found.as_str().to_owned())))
}

fn texts(items: impl Iterator<Item = String>) -> CelList<'static> {
    CelList::from(items.map(|item| Box::new(CelString::from(item)) as Box<dyn Val>).collect::<Vec<_>>())
}

fn declare_lists(env: &mut Env) -> Result<(), DeclarationError> {
    for (name, op) in [
        ("isSorted", is_sorted as cel::common::functions::Function),
        ("sum", sum),
        ("min", min),
        ("max", max),
    ] {
        env.add_member_overload(name, &format!("list.{name}()"), LIST_TYPE, vec![], op)?;
    }
    env.add_member_overload("indexOf", "list.indexOf(dyn)", LIST_TYPE, vec![DYN_TYPE], index_of)?;
    env.add_member_overload(
        "lastIndexOf",
        "list.lastIndexOf(dyn)",
        LIST_TYPE,
        vec![DYN_TYPE],
        last_index_of,
    )?;
    for (name, op) in [
        ("sets.contains", sets_contains as cel::common::functions::Function),
        ("sets.equivalent", sets_equivalent),
        ("sets.intersects", sets_intersects),
    ] {
        env.add_overload(name, name, vec![LIST_TYPE, LIST_TYPE], op)?;
    }
    Ok(())
}

fn items<'b, 'v>(list: &'b (dyn Val + 'v)) -> &'b [Box<dyn Val + 'v>] {
    list.downcast_ref::<CelList<'v>>().map_or(&[], CelList::inner)
}

fn no_overload(function: &str) -> ExecutionError {
    ExecutionError::no_such_member_overload(function, Vec::new())
}

fn compare(function: &str, a: &dyn Val, b: &dyn Val) -> Answer<Ordering> {
    a.as_comparer().ok_or_else(|| no_overload(function))?.compare(b)
}

fn is_sorted<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    for pair in items(arguments[0].as_ref()).windows(2) {
        if compare("isSorted", pair[0].as_ref(), pair[1].as_ref())? == Ordering::Greater {
            return Ok(CowVal::owned(CelBool::from(false)));
        }
    }
    Ok(CowVal::owned(CelBool::from(true)))
}

fn sum<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    let mut sum: Option<Box<dyn Val + 'v>> = None;
    for item in items(arguments[0].as_ref()) {
        sum = Some(match sum {
            None => item.clone_as_boxed(),
            Some(sum) => sum.as_adder().ok_or_else(|| no_overload("sum"))?.add(item.as_ref())?.into_owned(),
        });
    }
    Ok(sum.map_or_else(|| CowVal::owned(CelInt::from(0)), CowVal::Owned))
}

fn extreme<'b, 'v>(
    function: &str,
    arguments: &Arguments<'b, 'v>,
    wanted: Ordering,
) -> Answer<CowVal<'b, 'v>> {
    let mut best: Option<&(dyn Val + 'v)> = None;
    for item in items(arguments[0].as_ref()) {
        if best.map_or(Ok(true), |best| Ok(compare(function, item.as_ref(), best)? == wanted))? {
            best = Some(item.as_ref());
        }
    }
    match best {
        Some(best) => Ok(CowVal::Owned(best.clone_as_boxed())),
        None => fail(function, format!("{function} called on empty list")),
    }
}

fn min<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    extreme("min", &arguments, Ordering::Less)
}

fn max<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    extreme("max", &arguments, Ordering::Greater)
}

fn position<'b, 'v>(index: Option<usize>) -> Answer<CowVal<'b, 'v>> {
    let index = index.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1);
    Ok(CowVal::owned(CelInt::from(index)))
}

fn index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    position(items(arguments[0].as_ref()).iter().position(|item| item.equals(arguments[1].as_ref())))
}

fn last_index_of<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    position(items(arguments[0].as_ref()).iter().rposition(|item| item.equals(arguments[1].as_ref())))
}

/// Whether a list has all items, or any, of another one. Both were charged with their sizes: the product is charged
/// here, because the comparison is quadratic.
fn has<'b, 'v>(arguments: &Arguments<'b, 'v>, swapped: bool, all: bool) -> Answer<bool> {
    let (list, other) = if swapped { (1, 0) } else { (0, 1) };
    let (list, other) = (items(arguments[list].as_ref()), items(arguments[other].as_ref()));
    budget::spend(list.len().saturating_mul(other.len()))?;
    let contains = |item: &dyn Val| list.iter().any(|own| own.equals(item));
    let mut others = other.iter().map(AsRef::as_ref);
    Ok(if all { others.all(contains) } else { others.any(contains) })
}

fn sets_contains<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    Ok(CowVal::owned(CelBool::from(has(&arguments, false, true)?)))
}

fn sets_equivalent<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    let equivalent = has(&arguments, false, true)? && has(&arguments, true, true)?;
    Ok(CowVal::owned(CelBool::from(equivalent)))
}

fn sets_intersects<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    Ok(CowVal::owned(CelBool::from(has(&arguments, false, false)?)))
}

fn declare_network(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn ip: (CelString) -> Result<Ip>)?;
    cel::add_overload!(env, fn is_ip: (CelString) -> CelBool, name = "isIP")?;
    cel::add_overload!(env, fn is_canonical: (CelString) -> Result<CelBool>, name = "ip.isCanonical")?;
    cel::add_overload!(env, fn ip_text: (Ip) -> CelString, name = "string")?;
    cel::add_member_overload!(env, fn family: (Ip) -> CelInt)?;
    cel::add_member_overload!(env, fn is_unspecified: (Ip) -> CelBool)?;
    cel::add_member_overload!(env, fn is_loopback: (Ip) -> CelBool)?;
    cel::add_member_overload!(env, fn is_link_local_multicast: (Ip) -> CelBool)?;
    cel::add_member_overload!(env, fn is_link_local_unicast: (Ip) -> CelBool)?;
    cel::add_member_overload!(env, fn is_global_unicast: (Ip) -> CelBool)?;
    cel::add_overload!(env, fn cidr: (CelString) -> Result<Cidr>)?;
    cel::add_overload!(env, fn is_cidr: (CelString) -> CelBool, name = "isCIDR")?;
    cel::add_overload!(env, fn cidr_text: (Cidr) -> CelString, name = "string")?;
    cel::add_member_overload!(env, fn contains_ip: (Cidr, Ip) -> CelBool, name = "containsIP")?;
    cel::add_member_overload!(env, fn contains_ip_text: (Cidr, CelString) -> Result<CelBool>, name = "containsIP")?;
    cel::add_member_overload!(env, fn contains_cidr: (Cidr, Cidr) -> CelBool, name = "containsCIDR")?;
    cel::add_member_overload!(env, fn contains_cidr_text: (Cidr, CelString) -> Result<CelBool>, name = "containsCIDR")?;
    cel::add_member_overload!(env, fn cidr_ip: (Cidr) -> Ip, name = "ip")?;
    cel::add_member_overload!(env, fn prefix_length: (Cidr) -> CelInt)?;
    cel::add_member_overload!(env, fn masked: (Cidr) -> Cidr)?;
    Ok(())
}

/// An address as `netip.ParseAddr` reads it, but without a zone and not an IPv4 address in an IPv6 one.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    if text.contains(':') && text.contains('%') {
        return Err(format!("IP address {} with zone value is not allowed", quote(text)));
    }
    match formats::parse_ip(text) {
        Some(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)))
        }
        Some(address) => Ok(address),
        None => Err(format!(
            "IP Address {} parse error during conversion from string: ParseAddr({0}): unable to parse IP",
            quote(text)
        )),
    }
}

fn parse_cidr(text: &str) -> Result<IpNet, String> {
    let quoted = quote(text);
    let wrong = |reason: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({quoted}): {reason}"
        )
    };
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
    let address = match formats::parse_ip(address) {
        Some(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
        }
        Some(address) => address,
        None => return Err(wrong(&format!("ParseAddr({}): unable to parse IP", quote(address)))),
    };
    let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    if !digits || bits.len() > 1 && bits.starts_with('0') {
        return Err(wrong(&format!("bad bits after slash: {}", quote(bits))));
    }
    let bits = bits.parse().map_err(|_| wrong("prefix length out of range"))?;
    IpNet::new(address, bits).map_err(|_| wrong("prefix length out of range"))
}

fn ip(text: &CelString<'_>) -> Answer<Ip> {
    parse_ip(text.inner()).map(Ip).or_else(|error| fail("ip", error))
}

fn is_ip(text: &CelString<'_>) -> CelBool {
    CelBool::from(parse_ip(text.inner()).is_ok())
}

fn is_canonical(text: &CelString<'_>) -> Answer<CelBool> {
    Ok(CelBool::from(ip(text)?.0.to_string() == text.inner()))
}

fn ip_text(ip: &Ip) -> CelString<'static> {
    CelString::from(ip.0.to_string())
}

fn family(ip: &Ip) -> CelInt {
    CelInt::from(if ip.0.is_ipv4() { 4 } else { 6 })
}

fn is_unspecified(ip: &Ip) -> CelBool {
    CelBool::from(ip.0.is_unspecified())
}

fn is_loopback(ip: &Ip) -> CelBool {
    CelBool::from(ip.0.is_loopback())
}

fn link_local_multicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn link_local_unicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(ip: &Ip) -> CelBool {
    CelBool::from(link_local_multicast(&ip.0))
}

fn is_link_local_unicast(ip: &Ip) -> CelBool {
    CelBool::from(link_local_unicast(&ip.0))
}

fn is_global_unicast(ip: &Ip) -> CelBool {
    let ip = &ip.0;
    let broadcast = *ip == IpAddr::V4(Ipv4Addr::BROADCAST);
    let local = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || link_local_unicast(ip);
    CelBool::from(!broadcast && !local)
}

fn cidr(text: &CelString<'_>) -> Answer<Cidr> {
    parse_cidr(text.inner()).map(Cidr).or_else(|error| {
        fail("cidr", format!("network address parse error during conversion from string: {error}"))
    })
}

fn is_cidr(text: &CelString<'_>) -> CelBool {
    CelBool::from(parse_cidr(text.inner()).is_ok())
}

fn cidr_text(cidr: &Cidr) -> CelString<'static> {
    CelString::from(cidr.0.to_string())
}

fn contains_ip(cidr: &Cidr, ip: &Ip) -> CelBool {
    CelBool::from(cidr.0.contains(&ip.0))
}

fn contains_ip_text(cidr: &Cidr, text: &CelString<'_>) -> Answer<CelBool> {
    Ok(contains_ip(cidr, &ip(text)?))
}

fn contains_cidr(outer: &Cidr, inner: &Cidr) -> CelBool {
    CelBool::from(outer.0.contains(&inner.0))
}

fn contains_cidr_text(outer: &Cidr, text: &CelString<'_>) -> Answer<CelBool> {
    Ok(contains_cidr(outer, &cidr(text)?))
}

fn cidr_ip(cidr: &Cidr) -> Ip {
    Ip(cidr.0.addr())
}

fn prefix_length(cidr: &Cidr) -> CelInt {
    CelInt::from(i64::from(cidr.0.prefix_len()))
}

fn masked(cidr: &Cidr) -> Cidr {
    Cidr(cidr.0.trunc())
}

fn declare_urls(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn url_of: (CelString) -> Result<Url>, name = "url")?;
    cel::add_overload!(env, fn is_url: (CelString) -> CelBool, name = "isURL")?;
    cel::add_member_overload!(env, fn get_scheme: (Url) -> CelString)?;
    cel::add_member_overload!(env, fn get_host: (Url) -> CelString)?;
    cel::add_member_overload!(env, fn get_hostname: (Url) -> CelString)?;
    cel::add_member_overload!(env, fn get_port: (Url) -> CelString)?;
    cel::add_member_overload!(env, fn get_escaped_path: (Url) -> CelString)?;
    cel::add_member_overload!(env, fn get_query: (Url) -> CelMap)?;
    Ok(())
}

fn url_of(text: &CelString<'_>) -> Answer<Url> {
    url::parse(text.inner())
        .map(Url)
        .or_else(|error| fail("url", format!("URL parse error during conversion from string: {error}")))
}

fn is_url(text: &CelString<'_>) -> CelBool {
    CelBool::from(url::parse(text.inner()).is_ok())
}

fn get_scheme(url: &Url) -> CelString<'static> {
    CelString::from(url.0.scheme.clone())
}

fn get_host(url: &Url) -> CelString<'static> {
    CelString::from(url.0.host.clone())
}

fn get_hostname(url: &Url) -> CelString<'static> {
    CelString::from(url.0.hostname().to_owned())
}

fn get_port(url: &Url) -> CelString<'static> {
    CelString::from(url.0.port().to_owned())
}

fn get_escaped_path(url: &Url) -> CelString<'static> {
    CelString::from(url.0.path.clone())
}

fn get_query(url: &Url) -> CelMap<'static> {
    let mut map: HashMap<CelMapKey<'static>, Box<dyn Val>> = HashMap::new();
    for (name, values) in url.0.query() {
        map.insert(CelMapKey::from(name), Box::new(texts(values.into_iter())));
    }
    CelMap::from(map)
}

fn declare_quantities(env: &mut Env) -> Result<(), DeclarationError> {
    cel::add_overload!(env, fn quantity: (CelString) -> Result<Quantity>)?;
    cel::add_overload!(env, fn is_quantity: (CelString) -> CelBool)?;
    cel::add_overload!(env, fn sign: (Quantity) -> CelInt)?;
    cel::add_member_overload!(env, fn is_integer: (Quantity) -> CelBool)?;
    cel::add_member_overload!(env, fn as_integer: (Quantity) -> Result<CelInt>)?;
    cel::add_member_overload!(env, fn as_approximate_float: (Quantity) -> CelDouble)?;
    cel::add_member_overload!(env, fn add: (Quantity, Quantity) -> Result<Quantity>)?;
    cel::add_member_overload!(env, fn add_integer: (Quantity, CelInt) -> Result<Quantity>, name = "add")?;
    cel::add_member_overload!(env, fn sub: (Quantity, Quantity) -> Result<Quantity>)?;
    cel::add_member_overload!(env, fn sub_integer: (Quantity, CelInt) -> Result<Quantity>, name = "sub")?;
    cel::add_member_overload!(env, fn is_greater_than: (Quantity, Quantity) -> CelBool)?;
    cel::add_member_overload!(env, fn is_less_than: (Quantity, Quantity) -> CelBool)?;
    cel::add_member_overload!(env, fn compare_to: (Quantity, Quantity) -> CelInt)?;
    Ok(())
}

fn quantity(text: &CelString<'_>) -> Answer<Quantity> {
    Quantity::parse(text.inner()).or_else(|error| fail("quantity", error.to_owned()))
}

fn is_quantity(text: &CelString<'_>) -> CelBool {
    CelBool::from(Quantity::parse(text.inner()).is_ok())
}

fn sign(quantity: &Quantity) -> CelInt {
    CelInt::from(quantity.sign())
}

fn is_integer(quantity: &Quantity) -> CelBool {
    CelBool::from(quantity.integer().is_some())
}

fn as_integer(quantity: &Quantity) -> Answer<CelInt> {
    match quantity.integer() {
        Some(integer) => Ok(CelInt::from(integer)),
        None => fail("asInteger", "cannot convert value to integer".to_owned()),
    }
}

fn as_approximate_float(quantity: &Quantity) -> CelDouble {
    CelDouble::from(quantity.float())
}

fn in_range(function: &str, quantity: Option<Quantity>) -> Answer<Quantity> {
    quantity.map_or_else(|| fail(function, "quantity is too large".to_owned()), Ok)
}

fn add(a: &Quantity, b: &Quantity) -> Answer<Quantity> {
    in_range("add", a.add(b))
}

fn add_integer(a: &Quantity, b: &CelInt) -> Answer<Quantity> {
    in_range("add", a.add(&Quantity::from(*b.inner())))
}

fn sub(a: &Quantity, b: &Quantity) -> Answer<Quantity> {
    in_range("sub", a.sub(b))
}

fn sub_integer(a: &Quantity, b: &CelInt) -> Answer<Quantity> {
    in_range("sub", a.sub(&Quantity::from(*b.inner())))
}

fn is_greater_than(a: &Quantity, b: &Quantity) -> CelBool {
    CelBool::from(a > b)
}

fn is_less_than(a: &Quantity, b: &Quantity) -> CelBool {
    CelBool::from(a < b)
}

fn compare_to(a: &Quantity, b: &Quantity) -> CelInt {
    CelInt::from(a.cmp(b) as i64)
}

fn declare_formats(env: &mut Env) -> Result<(), DeclarationError> {
    macro_rules! constants {
        ($($name:ident => $function:literal),* $(,)?) => {
            $(
                env.add_overload($function, $function, vec![], |_| Ok(CowVal::owned(Format::$name)))?;
            )*
        };
    }
    constants!(
        Dns1123Label => "format.dns1123Label",
        Dns1123Subdomain => "format.dns1123Subdomain",
        Dns1035Label => "format.dns1035Label",
        QualifiedName => "format.qualifiedName",
        Dns1123LabelPrefix => "format.dns1123LabelPrefix",
        Dns1123SubdomainPrefix => "format.dns1123SubdomainPrefix",
        Dns1035LabelPrefix => "format.dns1035LabelPrefix",
        LabelValue => "format.labelValue",
        Uri => "format.uri",
        Uuid => "format.uuid",
        Byte => "format.byte",
        Date => "format.date",
        DateTime => "format.datetime",
    );
    env.add_overload("format.named", "format.named(string)", vec![STRING_TYPE], named)?;
    env.add_member_overload(
        "validate",
        "format.validate(string)",
        Type::new_opaque_type("kubernetes.NamedFormat"),
        vec![STRING_TYPE],
        validate,
    )?;
    Ok(())
}

fn text<'b>(value: &'b CowVal<'_, '_>) -> &'b str {
    value.downcast_ref::<CelString>().map_or("", CelString::inner)
}

fn named<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    Ok(CowVal::owned(match Format::named(text(&arguments[0])) {
        Some(format) => CelOptional::of(Box::new(format)),
        None => CelOptional::none(),
    }))
}

fn validate<'b, 'v>(arguments: Arguments<'b, 'v>) -> Answer<CowVal<'b, 'v>> {
    let errors = match arguments[0].downcast_ref::<Format>() {
        Some(format) => names::validate(*format, text(&arguments[1])),
        None => return Err(no_overload("validate")),
    };
    Ok(CowVal::owned(if errors.is_empty() {
        CelOptional::none()
    } else {
        CelOptional::of(Box::new(texts(errors.into_iter())))
    }))
}
