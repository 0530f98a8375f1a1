//! The functions that rules can call: CEL's own, and those that Kubernetes adds.

use std::{collections::HashMap, sync::LazyLock};

use super::types::Type;

/// One way to call a function.
pub(super) struct Overload {
    /// Whether it is called on its first argument: `a.f(b)`.
    pub member: bool,
    pub arguments: Vec<Type>,
    pub result: Type,
    /// How many type parameters it has; they are the first variables.
    pub parameters: usize,
}

/// `name: (argument, …) -> result`, or `name: receiver.(argument, …) -> result`. `A` and `B` stand for any type.
const SIGNATURES: &str = "
_?_:_: (bool, A, A) -> A
_&&_: (bool, bool) -> bool
_||_: (bool, bool) -> bool
!_: (bool) -> bool
@not_strictly_false: (bool) -> bool
_==_: (A, A) -> bool
_!=_: (A, A) -> bool
_<_: (bool, bool) -> bool
_<_: (int, int) -> bool
_<_: (uint, uint) -> bool
_<_: (double, double) -> bool
_<_: (string, string) -> bool
_<_: (bytes, bytes) -> bool
_<_: (timestamp, timestamp) -> bool
_<_: (duration, duration) -> bool
_<_: (int, double) -> bool
_<_: (int, uint) -> bool
_<_: (uint, double) -> bool
_<_: (uint, int) -> bool
_<_: (double, int) -> bool
_<_: (double, uint) -> bool
_+_: (int, int) -> int
_+_: (uint, uint) -> uint
_+_: (double, double) -> double
_+_: (string, string) -> string
_+_: (bytes, bytes) -> bytes
_+_: (list(A), list(A)) -> list(A)
_+_: (timestamp, duration) -> timestamp
_+_: (duration, timestamp) -> timestamp
_+_: (duration, duration) -> duration
_-_: (int, int) -> int
_-_: (uint, uint) -> uint
_-_: (double, double) -> double
_-_: (timestamp, timestamp) -> duration
_-_: (timestamp, duration) -> timestamp
_-_: (duration, duration) -> duration
_*_: (int, int) -> int
_*_: (uint, uint) -> uint
_*_: (double, double) -> double
_/_: (int, int) -> int
_/_: (uint, uint) -> uint
_/_: (double, double) -> double
_%_: (int, int) -> int
_%_: (uint, uint) -> uint
-_: (int) -> int
-_: (double) -> double
_[_]: (list(A), int) -> A
_[_]: (map(A, B), A) -> B
_[_]: (optional(list(A)), int) -> optional(A)
_[_]: (optional(map(A, B)), A) -> optional(B)
_[?_]: (list(A), int) -> optional(A)
_[?_]: (map(A, B), A) -> optional(B)
_[?_]: (optional(list(A)), int) -> optional(A)
_[?_]: (optional(map(A, B)), A) -> optional(B)
@in: (A, list(A)) -> bool
@in: (A, map(A, B)) -> bool
size: (string) -> int
size: (bytes) -> int
size: (list(A)) -> int
size: (map(A, B)) -> int
size: string.() -> int
size: bytes.() -> int
size: list(A).() -> int
size: map(A, B).() -> int
type: (A) -> type(A)
dyn: (A) -> dyn
bool: (bool) -> bool
bool: (string) -> bool
int: (int) -> int
int: (uint) -> int
int: (double) -> int
int: (string) -> int
int: (timestamp) -> int
int: (duration) -> int
uint: (uint) -> uint
uint: (int) -> uint
uint: (double) -> uint
uint: (string) -> uint
double: (double) -> double
double: (int) -> double
double: (uint) -> double
double: (string) -> double
string: (string) -> string
string: (bool) -> string
string: (int) -> string
string: (uint) -> string
string: (double) -> string
string: (bytes) -> string
string: (timestamp) -> string
string: (duration) -> string
string: (net.IP) -> string
string: (net.CIDR) -> string
bytes: (bytes) -> bytes
bytes: (string) -> bytes
timestamp: (timestamp) -> timestamp
timestamp: (string) -> timestamp
timestamp: (int) -> timestamp
duration: (duration) -> duration
duration: (string) -> duration
duration: (int) -> duration
contains: string.(string) -> bool
startsWith: string.(string) -> bool
endsWith: string.(string) -> bool
matches: string.(string) -> bool
matches: (string, string) -> bool
getFullYear: timestamp.() -> int
getFullYear: timestamp.(string) -> int
getMonth: timestamp.() -> int
getMonth: timestamp.(string) -> int
getDayOfYear: timestamp.() -> int
getDayOfYear: timestamp.(string) -> int
getDayOfMonth: timestamp.() -> int
getDayOfMonth: timestamp.(string) -> int
getDate: timestamp.() -> int
getDate: timestamp.(string) -> int
getDayOfWeek: timestamp.() -> int
getDayOfWeek: timestamp.(string) -> int
getHours: timestamp.() -> int
getHours: timestamp.(string) -> int
getHours: duration.() -> int
getMinutes: timestamp.() -> int
getMinutes: timestamp.(string) -> int
getMinutes: duration.() -> int
getSeconds: timestamp.() -> int
getSeconds: timestamp.(string) -> int
getSeconds: duration.() -> int
getMilliseconds: timestamp.() -> int
getMilliseconds: timestamp.(string) -> int
getMilliseconds: duration.() -> int
optional.of: (A) -> optional(A)
optional.ofNonZeroValue: (A) -> optional(A)
optional.none: () -> optional(A)
value: optional(A).() -> A
hasValue: optional(A).() -> bool
or: optional(A).(optional(A)) -> optional(A)
orValue: optional(A).(A) -> A
charAt: string.(int) -> string
indexOf: string.(string) -> int
indexOf: string.(string, int) -> int
indexOf: list(A).(A) -> int
lastIndexOf: string.(string) -> int
lastIndexOf: string.(string, int) -> int
lastIndexOf: list(A).(A) -> int
lowerAscii: string.() -> string
upperAscii: string.() -> string
replace: string.(string, string) -> string
replace: string.(string, string, int) -> string
split: string.(string) -> list(string)
split: string.(string, int) -> list(string)
substring: string.(int) -> string
substring: string.(int, int) -> string
trim: string.() -> string
join: list(string).() -> string
join: list(string).(string) -> string
format: string.(list(dyn)) -> string
strings.quote: (string) -> string
isSorted: list(int).() -> bool
isSorted: list(uint).() -> bool
isSorted: list(double).() -> bool
isSorted: list(bool).() -> bool
isSorted: list(duration).() -> bool
isSorted: list(timestamp).() -> bool
isSorted: list(string).() -> bool
isSorted: list(bytes).() -> bool
sum: list(int).() -> int
sum: list(uint).() -> uint
sum: list(double).() -> double
sum: list(duration).() -> duration
max: list(int).() -> int
max: list(uint).() -> uint
max: list(double).() -> double
max: list(bool).() -> bool
max: list(duration).() -> duration
max: list(timestamp).() -> timestamp
max: list(string).() -> string
max: list(bytes).() -> bytes
min: list(int).() -> int
min: list(uint).() -> uint
min: list(double).() -> double
min: list(bool).() -> bool
min: list(duration).() -> duration
min: list(timestamp).() -> timestamp
min: list(string).() -> string
min: list(bytes).() -> bytes
slice: list(A).(int, int) -> list(A)
flatten: list(list(A)).() -> list(A)
flatten: list(dyn).(int) -> list(dyn)
distinct: list(A).() -> list(A)
reverse: list(A).() -> list(A)
sort: list(A).() -> list(A)
@sortByAssociatedKeys: list(A).(list(B)) -> list(A)
lists.range: (int) -> list(int)
sets.contains: (list(A), list(A)) -> bool
sets.equivalent: (list(A), list(A)) -> bool
sets.intersects: (list(A), list(A)) -> bool
find: string.(string) -> string
findAll: string.(string) -> list(string)
findAll: string.(string, int) -> list(string)
url: (string) -> kubernetes.URL
isURL: (string) -> bool
getScheme: kubernetes.URL.() -> string
getHost: kubernetes.URL.() -> string
getHostname: kubernetes.URL.() -> string
getPort: kubernetes.URL.() -> string
getEscapedPath: kubernetes.URL.() -> string
getQuery: kubernetes.URL.() -> map(string, list(string))
ip: (string) -> net.IP
ip: net.CIDR.() -> net.IP
isIP: (string) -> bool
ip.isCanonical: (string) -> bool
family: net.IP.() -> int
isUnspecified: net.IP.() -> bool
isLoopback: net.IP.() -> bool
isLinkLocalMulticast: net.IP.() -> bool
isLinkLocalUnicast: net.IP.() -> bool
isGlobalUnicast: net.IP.() -> bool
cidr: (string) -> net.CIDR
isCIDR: (string) -> bool
containsIP: net.CIDR.(string) -> bool
containsIP: net.CIDR.(net.IP) -> bool
containsCIDR: net.CIDR.(string) -> bool
containsCIDR: net.CIDR.(net.CIDR) -> bool
prefixLength: net.CIDR.() -> int
masked: net.CIDR.() -> net.CIDR
quantity: (string) -> kubernetes.Quantity
isQuantity: (string) -> bool
sign: (kubernetes.Quantity) -> int
isInteger: kubernetes.Quantity.() -> bool
asInteger: kubernetes.Quantity.() -> int
asApproximateFloat: kubernetes.Quantity.() -> double
add: kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
add: kubernetes.Quantity.(int) -> kubernetes.Quantity
sub: kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
sub: kubernetes.Quantity.(int) -> kubernetes.Quantity
isGreaterThan: kubernetes.Quantity.(kubernetes.Quantity) -> bool
isLessThan: kubernetes.Quantity.(kubernetes.Quantity) -> bool
compareTo: kubernetes.Quantity.(kubernetes.Quantity) -> int
format.named: (string) -> optional(kubernetes.NamedFormat)
format.dns1123Label: () -> kubernetes.NamedFormat
format.dns1123Subdomain: () -> kubernetes.NamedFormat
format.dns1035Label: () -> kubernetes.NamedFormat
format.qualifiedName: () -> kubernetes.NamedFormat
format.dns1123LabelPrefix: () -> kubernetes.NamedFormat
format.dns1123SubdomainPrefix: () -> kubernetes.NamedFormat
format.dns1035LabelPrefix: () -> kubernetes.NamedFormat
format.labelValue: () -> kubernetes.NamedFormat
format.uri: () -> kubernetes.NamedFormat
format.uuid: () -> kubernetes.NamedFormat
format.byte: () -> kubernetes.NamedFormat
format.date: () -> kubernetes.NamedFormat
format.datetime: () -> kubernetes.NamedFormat
validate: kubernetes.NamedFormat.(string) -> optional(list(string))
";

/// Functions that the server has, and this crate cannot evaluate. The last ones are macros with two variables: those
/// with one are gone once an expression is parsed.
pub(super) const UNSUPPORTED: &[&str] = &[
    "semver",
    "isSemver",
    "major",
    "minor",
    "patch",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "all",
    "exists",
    "existsOne",
];

/// The types of Kubernetes' libraries.
pub(super) const OPAQUE: &[&str] =
    &["net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.Quantity", "kubernetes.NamedFormat"];

static TABLE: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for line in SIGNATURES.lines().filter(|line| !line.is_empty()) {
        let (name, overload) = parse(line).expect("a signature of the table");
        table.entry(name).or_default().push(overload);
        // The operators of order have the same overloads.
        if name == "_<_" {
            for name in ["_<=_", "_>_", "_>=_"] {
                let (_, overload) = parse(line).expect("a signature of the table");
                table.entry(name).or_default().push(overload);
            }
        }
    }
    table
});

/// The ways to call a function; nothing if there is no such function.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    TABLE.get(name).map(Vec::as_slice)
}

/// The names of all functions.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().copied()
}

fn parse(line: &'static str) -> Option<(&'static str, Overload)> {
    let (name, signature) = line.rsplit_once(": ")?;
    let (call, result) = signature.rsplit_once(" -> ")?;
    let (member, receiver, arguments) = match call.rsplit_once(".(") {
        Some((receiver, arguments)) => (true, Some(receiver), arguments),
        None => (false, None, call.strip_prefix('(')?),
    };
    let mut types = Vec::new();
    types.extend(receiver.map(parse_type));
    types.extend(split(arguments.strip_suffix(')')?).into_iter().map(parse_type));
    let mentions =
        |letter: &str| signature.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == letter);
    let parameters = if mentions("B") { 2 } else { usize::from(mentions("A")) };
    let overload = Overload {
        member,
        arguments: types.into_iter().collect::<Option<_>>()?,
        result: parse_type(result)?,
        parameters,
    };
    Some((name, overload))
}

/// Splits at the commas that are outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    if start < text.len() {
        parts.push(text[start..].trim());
    }
    parts
}

fn parse_type(text: &str) -> Option<Type> {
    if let Some((name, parameters)) = text.split_once('(') {
        let mut parameters = split(parameters.strip_suffix(')')?).into_iter().map(parse_type);
        let mut next = || parameters.next().flatten().map(Box::new);
        return Some(match name {
            "list" => Type::List(next()?),
            "map" => Type::Map(next()?, next()?),
            "optional" => Type::Optional(next()?),
            "type" => Type::Meta(next()?),
            _ => return None,
        });
    }
    Some(match text {
        "A" => Type::Var(0),
        "B" => Type::Var(1),
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::Text,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        name => Type::Opaque(OPAQUE.iter().find(|opaque| **opaque == name)?),
    })
}
