//! Schemas, and objects that fit them or do not.

use serde_json::{Value, json};

use super::Case;

fn case(name: &'static str, properties: Value, questions: Vec<Value>) -> Case<Value> {
    Case { name, spec: json!({ "type": "object", "properties": properties }), questions }
}

fn of(name: &'static str, spec: Value, questions: Vec<Value>) -> Case<Value> {
    Case { name, spec, questions }
}

/// A property `a` with each of the values.
fn each(name: &'static str, property: Value, values: Vec<Value>) -> Case<Value> {
    case(name, json!({ "a": property }), values.into_iter().map(|value| json!({ "a": value })).collect())
}

fn rules(name: &'static str, mut property: Value, rules: &[&str], values: Vec<Value>) -> Case<Value> {
    property["x-kubernetes-validations"] = rules.iter().map(|rule| json!({ "rule": rule })).collect();
    each(name, property, values)
}

pub fn cases() -> Vec<Case<Value>> {
    let mut cases = values();
    cases.extend(structure());
    cases.extend(formats());
    cases.extend(cel());
    cases
}

fn values() -> Vec<Case<Value>> {
    vec![
        each(
            "string",
            json!({ "type": "string" }),
            vec![json!("x"), json!(1), json!(1.5), json!(true), json!({}), json!([]), json!(null)],
        ),
        each(
            "integer",
            json!({ "type": "integer" }),
            vec![json!(1), json!(1.0), json!(1.5), json!("1"), json!(null), json!(9223372036854775807i64)],
        ),
        each(
            "int32",
            json!({ "type": "integer", "format": "int32" }),
            vec![json!(2147483647), json!(2147483648i64), json!("x")],
        ),
        each("number", json!({ "type": "number" }), vec![json!(1), json!(1.5), json!("1"), json!(1e30)]),
        each("float", json!({ "type": "number", "format": "float" }), vec![json!(1.5), json!(1e39)]),
        each("boolean", json!({ "type": "boolean" }), vec![json!(true), json!("true"), json!(0)]),
        each("object", json!({ "type": "object" }), vec![json!({}), json!([]), json!("x")]),
        each(
            "nullable",
            json!({ "type": "string", "nullable": true }),
            vec![json!(null), json!("x"), json!(1)],
        ),
        each(
            "enum",
            json!({ "type": "string", "enum": ["a", "b"] }),
            vec![json!("a"), json!("c"), json!("")],
        ),
        each(
            "enum of integers",
            json!({ "type": "integer", "enum": [1, 2] }),
            vec![json!(1), json!(3), json!(1.0)],
        ),
        each(
            "nullable enum",
            json!({ "type": "string", "nullable": true, "enum": ["a"] }),
            vec![json!(null), json!("a")],
        ),
        each(
            "pattern",
            json!({ "type": "string", "pattern": r"^\d+(\.\w{2,})?$" }),
            vec![json!("12"), json!("1.ab"), json!("x"), json!("١")],
        ),
        each(
            "minimum",
            json!({ "type": "integer", "minimum": 1, "maximum": 5 }),
            vec![json!(0), json!(1), json!(5), json!(6)],
        ),
        each(
            "exclusive",
            json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 5.5, "exclusiveMaximum": true }),
            vec![json!(1), json!(1.1), json!(5.5), json!(6)],
        ),
        each("multiple", json!({ "type": "integer", "multipleOf": 3 }), vec![json!(9), json!(10)]),
        each(
            "multiple of a fraction",
            json!({ "type": "number", "multipleOf": 0.1 }),
            vec![json!(0.3), json!(0.35), json!(1)],
        ),
        each(
            "length",
            json!({ "type": "string", "minLength": 2, "maxLength": 3 }),
            vec![json!("é"), json!("éé"), json!("ééé"), json!("éééé")],
        ),
        each("length one", json!({ "type": "string", "maxLength": 1 }), vec![json!("ab")]),
        each(
            "items",
            json!({ "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "integer" } }),
            vec![json!([]), json!([1]), json!([1, "x"]), json!([1, 2, 3]), json!(["a", "b", "c"])],
        ),
        each(
            "properties",
            json!({ "type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": { "type": "string" } }),
            vec![json!({}), json!({ "a": "b" }), json!({ "a": "1", "b": "2", "c": "3" }), json!({ "a": 1 })],
        ),
        of(
            "required",
            json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "string" }, "b": { "type": "object", "required": ["c"], "properties": { "c": { "type": "string" } } } } }),
            vec![
                json!({}),
                json!({ "a": "x" }),
                json!({ "a": "x", "b": {} }),
                json!({ "a": null, "b": { "c": "x" } }),
            ],
        ),
        each(
            "anyOf",
            json!({ "type": "string", "anyOf": [{ "minLength": 3 }, { "pattern": "^a" }] }),
            vec![json!("abc"), json!("a"), json!("b")],
        ),
        each(
            "oneOf",
            json!({ "type": "integer", "oneOf": [{ "minimum": 3 }, { "multipleOf": 2 }] }),
            vec![json!(3), json!(4), json!(1), json!(2)],
        ),
        each(
            "allOf",
            json!({ "type": "integer", "allOf": [{ "minimum": 3 }, { "maximum": 5 }] }),
            vec![json!(4), json!(1), json!(6)],
        ),
        each("not", json!({ "type": "string", "not": { "enum": ["x"] } }), vec![json!("x"), json!("y")]),
        of(
            "oneOf required",
            json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            vec![json!({}), json!({ "a": "1" }), json!({ "a": "1", "b": "2" })],
        ),
        each(
            "int or string",
            json!({ "x-kubernetes-int-or-string": true }),
            vec![json!(1), json!("x"), json!(1.5), json!(true), json!({})],
        ),
        each(
            "int or string spelled out",
            json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }], "pattern": "^[0-9]+%$" }),
            vec![json!(1), json!("5%"), json!("x"), json!(true)],
        ),
        each(
            "set",
            json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } }),
            vec![json!(["a", "b"]), json!(["a", "b", "a", "a"])],
        ),
        each(
            "set of integers",
            json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "integer" } }),
            vec![json!([1, 2, 1])],
        ),
        each(
            "map",
            json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "value": { "type": "string" } } } }),
            vec![
                json!([{ "name": "a" }, { "name": "b" }]),
                json!([{ "name": "a" }, { "name": "a", "value": "x" }]),
                json!([{}]),
            ],
        ),
        each(
            "map of two keys",
            json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "items": { "type": "object", "required": ["port"], "properties": { "port": { "type": "integer" }, "protocol": { "type": "string", "default": "TCP" } } } }),
            vec![
                json!([{ "port": 1 }, { "port": 1, "protocol": "UDP" }]),
                json!([{ "port": 1 }, { "port": 1, "protocol": "TCP" }]),
            ],
        ),
    ]
}

fn structure() -> Vec<Case<Value>> {
    vec![
        case(
            "unknown fields",
            json!({ "a": { "type": "string" }, "o": { "type": "object", "properties": { "b": { "type": "string" } } }, "l": { "type": "array", "items": { "type": "object", "properties": { "c": { "type": "string" } } } } }),
            vec![json!({ "a": "x", "z": 1, "o": { "y": {} }, "l": [{ "c": "1" }, { "x": [], "w": null }] })],
        ),
        case(
            "preserved fields",
            json!({ "p": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "k": { "type": "object", "properties": { "a": { "type": "string" } } } } } }),
            vec![json!({ "p": { "z": { "y": [1, { "x": null }] }, "k": { "a": "1", "b": 2 } } })],
        ),
        case(
            "fields of maps",
            json!({ "m": { "type": "object", "additionalProperties": { "type": "object", "properties": { "a": { "type": "string" } } } }, "any": { "type": "object", "additionalProperties": true } }),
            vec![json!({ "m": { "x": { "a": "1", "b": 2 } }, "any": { "x": { "y": 1 } } })],
        ),
        case(
            "embedded",
            json!({ "e": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true } }),
            vec![
                json!({ "e": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "labels": { "a": "b" }, "zzz": 1, "creationTimestamp": null }, "spec": { "any": 1 } } }),
                json!({ "e": {} }),
                json!({ "e": { "apiVersion": "", "kind": "" } }),
                json!({ "e": { "apiVersion": "a/b/c", "kind": "No_Kind" } }),
                json!({ "e": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a/b" } } }),
            ],
        ),
        case(
            "embedded with properties",
            json!({ "e": { "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "spec": { "type": "object", "properties": { "a": { "type": "string" } } } } } }),
            vec![
                json!({ "e": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x" }, "spec": { "a": "1", "b": 1 }, "status": {} } }),
            ],
        ),
        case(
            "defaults",
            json!({ "a": { "type": "string", "default": "d" }, "o": { "type": "object", "default": {}, "properties": { "b": { "type": "integer", "default": 5 }, "n": { "type": "string", "nullable": true, "default": "x" } } }, "p": { "type": "object", "properties": { "c": { "type": "string", "default": "e" } } } }),
            vec![
                json!({}),
                json!({ "a": null }),
                json!({ "o": { "n": null } }),
                json!({ "o": null }),
                json!({ "p": {} }),
                json!({ "p": null }),
            ],
        ),
        case(
            "defaults in lists and maps",
            json!({ "l": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string", "default": "x" } } } }, "m": { "type": "object", "additionalProperties": { "type": "object", "properties": { "a": { "type": "string", "default": "y" } } } }, "d": { "type": "array", "items": { "type": "string", "default": "z" } } }),
            vec![
                json!({ "l": [{}, { "a": "1" }], "m": { "k": {} } }),
                json!({ "d": ["a", null] }),
                json!({ "l": [null] }),
            ],
        ),
        case(
            "nulls",
            json!({ "a": { "type": "string" }, "n": { "type": "string", "nullable": true }, "m": { "type": "object", "additionalProperties": { "type": "string" } } }),
            vec![
                json!({ "a": null, "n": null }),
                json!({ "m": { "x": null, "y": "1" } }),
                json!({ "m": null }),
            ],
        ),
        of("nothing known", json!({ "type": "object" }), vec![json!({ "a": 1, "b": { "c": 2 } })]),
        of(
            "anything",
            json!({ "x-kubernetes-preserve-unknown-fields": true }),
            vec![json!({ "a": 1 }), json!("text"), json!([1])],
        ),
        of(
            "a map of lists",
            json!({ "type": "object", "additionalProperties": { "type": "array", "items": { "type": "string", "maxLength": 1 } } }),
            vec![json!({ "a": ["x", "yy"] })],
        ),
    ]
}

fn formats() -> Vec<Case<Value>> {
    let formats: [(&'static str, &[&str]); 22] = [
        ("date", &["2024-02-29", "2023-02-29", "x"]),
        (
            "date-time",
            &["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5+01:00", "2024-01-01", "2024-01-01T25:00:00Z"],
        ),
        ("duration", &["1h30m", "2 days", "x", "1.5h", "-1s"]),
        ("ipv4", &["10.0.0.1", "010.0.0.1", "::1", "10.0.0", "::ffff:1.2.3.4"]),
        ("ipv6", &["::1", "10.0.0.1", "fe80::1%eth0"]),
        ("cidr", &["10.0.0.0/8", "10.0.0.0/33", "fd00::/64", "10.0.0.1/08"]),
        ("mac", &["00:00:5e:00:53:01", "0000.5e00.5301", "00:00"]),
        ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "x"]),
        ("uuid3", &["6fa459ea-ee8a-3ca4-894e-db77e160355e", "6fa459ea-ee8a-4ca4-894e-db77e160355e"]),
        ("uuid4", &["6fa459ea-ee8a-4ca4-894e-db77e160355e", "6fa459ea-ee8a-4ca4-094e-db77e160355e"]),
        ("uuid5", &["886313e1-3b8a-5372-9b90-0c9aee199e5d", "x"]),
        ("byte", &["aGVsbG8=", "a", ""]),
        ("email", &["a@b.c", "a", "Ann <a@b>", "a b@c", "a@b@c"]),
        ("hostname", &["example.com", "-a", "a_b", "a..b"]),
        ("uri", &["http://example.com/a?b=c", "/a", "a", "http://a b", "mailto:a@b", "http://[::1]:80/"]),
        ("isbn", &["0321751043", "978-0321751041", "1"]),
        ("creditcard", &["4111 1111 1111 1111", "4111 1111 1111 1112"]),
        ("ssn", &["111-11-1111", "111 11 1111", "1"]),
        ("hexcolor", &["#fff", "#ffff"]),
        ("rgbcolor", &["rgb(1,2,3)", "rgb(1,2,300)"]),
        ("k8s-short-name", &["a-b", "A"]),
        ("unknown-format", &["anything"]),
    ];
    let format = |(format, texts): (&'static str, &[&str])| {
        let values = texts.iter().map(|text| json!(text)).chain([json!(1)]).collect();
        each(format, json!({ "type": "string", "format": format }), values)
    };
    formats.into_iter().map(format).collect()
}

fn cel() -> Vec<Case<Value>> {
    let text = || json!({ "type": "string", "maxLength": 50 });
    let integer = || json!({ "type": "integer" });
    let numbers = || json!({ "type": "array", "maxItems": 10, "items": { "type": "integer" } });
    let words = || json!({ "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 20 } });
    vec![
        rules(
            "integers",
            integer(),
            &["self > 1", "self % 2 == 0", "10 / self < 5"],
            vec![json!(4), json!(1), json!(0), json!(-1)],
        ),
        rules(
            "overflow",
            integer(),
            &["self + 9223372036854775807 > 0", "self - 1 < self * 2"],
            vec![json!(1), json!(-1)],
        ),
        rules(
            "strings",
            text(),
            &[
                "self.startsWith('a')",
                "self.endsWith('z')",
                "self.contains('b')",
                "self.size() > 3",
                "self.matches('^[a-z]+$')",
            ],
            vec![json!("abcz"), json!("b"), json!("ÄZ")],
        ),
        rules(
            "more strings",
            text(),
            &[
                "self.lowerAscii() == 'abc'",
                "self.upperAscii() == 'ABC'",
                "self.trim() == self",
                "self.replace('a', 'b') == 'bbc'",
                "self.split('b').size() == 2",
                "self.substring(1) == 'bc'",
                "self.indexOf('c') == 2",
                "self.charAt(0) == 'a'",
                "'%s-%d'.format([self, 1]) == 'abc-1'",
                "self.lastIndexOf('b') == 1",
            ],
            vec![json!("abc"), json!("ABC"), json!(" x"), json!("")],
        ),
        rules(
            "regex",
            text(),
            &[
                "self.find('[0-9]+') == '12'",
                "self.findAll('[a-z]').size() == 3",
                "self.findAll('[a-z]', 1) == ['a']",
            ],
            vec![json!("a12bc"), json!("x")],
        ),
        rules(
            "lists",
            numbers(),
            &[
                "self.sum() == 6",
                "self.isSorted()",
                "self.max() == 3",
                "self.min() == 1",
                "self.indexOf(2) == 1",
                "2 in self",
                "self.all(x, x > 0)",
                "self.exists(x, x == 3)",
                "self.exists_one(x, x == 3)",
                "self.filter(x, x > 1).size() == 2",
                "self.map(x, x * 2) == [2, 4, 6]",
                "self[0] == 1",
                "self.sort() == [1, 2, 3]",
            ],
            vec![json!([1, 2, 3]), json!([3, 2, 1]), json!([]), json!([0, 3, 3])],
        ),
        rules(
            "words",
            words(),
            &[
                "self.join(',') == 'a,b'",
                "sets.contains(self, ['a'])",
                "sets.equivalent(self, ['b', 'a'])",
                "sets.intersects(self, ['a', 'z'])",
                "self.all(x, x.size() == 1)",
            ],
            vec![json!(["a", "b"]), json!(["x", "yy"]), json!([])],
        ),
        rules(
            "ip",
            text(),
            &[
                "isIP(self)",
                "ip(self).family() == 4",
                "!ip(self).isLoopback()",
                "ip(self).isGlobalUnicast()",
                "ip.isCanonical(self)",
            ],
            vec![json!("10.0.0.1"), json!("127.0.0.1"), json!("::1"), json!("fd00:0::1")],
        ),
        rules(
            "cidr",
            text(),
            &[
                "isCIDR(self)",
                "cidr(self).containsIP('10.0.0.1')",
                "cidr(self).containsCIDR('10.0.0.0/24')",
                "cidr(self).prefixLength() == 8",
                "cidr(self).masked() == cidr(self)",
                "cidr(self).ip() == ip('10.0.0.0')",
                "string(cidr(self)) == self",
            ],
            vec![json!("10.0.0.0/8"), json!("10.0.0.0/16"), json!("10.1.0.0/8"), json!("fd00::/64")],
        ),
        rules(
            "url",
            text(),
            &[
                "isURL(self)",
                "url(self).getScheme() == 'https'",
                "url(self).getHostname() == 'a.b'",
                "url(self).getPort() == '80'",
                "url(self).getEscapedPath() == '/x'",
                "url(self).getQuery()['q'] == ['1']",
            ],
            vec![json!("https://a.b:80/x?q=1"), json!("http://c/")],
        ),
        rules(
            "quantity",
            text(),
            &[
                "isQuantity(self)",
                "quantity(self).isGreaterThan(quantity('1Mi'))",
                "quantity(self).compareTo(quantity('2Gi')) == 0",
                "quantity(self).add(quantity('1')).isInteger()",
                "quantity(self).asInteger() == 2147483648",
            ],
            vec![json!("2Gi"), json!("1k"), json!("500m")],
        ),
        rules(
            "format",
            text(),
            &[
                "!format.dns1123Label().validate(self).hasValue()",
                "format.named('uuid').value().validate(self).hasValue()",
                "format.dns1123Subdomain().validate(self).orValue([]) == []",
            ],
            vec![json!("abc"), json!("A_b"), json!("a.b")],
        ),
        rules(
            "timestamps",
            json!({ "type": "string", "format": "date-time" }),
            &[
                "self.getFullYear() == 2024",
                "self < timestamp('2025-01-01T00:00:00Z')",
                "self.getHours() == 1",
            ],
            vec![json!("2024-01-01T01:00:00Z"), json!("2026-01-01T00:00:00Z")],
        ),
        rules(
            "durations",
            json!({ "type": "string", "format": "duration" }),
            &["self > duration('1m')", "self.getSeconds() == 3600"],
            vec![json!("1h"), json!("1s")],
        ),
        rules(
            "bytes",
            json!({ "type": "string", "format": "byte", "maxLength": 20 }),
            &["self == b'hello'", "self.size() == 5"],
            vec![json!("aGVsbG8="), json!("aGk=")],
        ),
        rules(
            "doubles",
            json!({ "type": "number" }),
            &["self > 1.5", "self < 3", "int(self) == 2", "string(self) == '2'"],
            vec![json!(2), json!(2.5), json!(1)],
        ),
        rules(
            "int or string",
            json!({ "x-kubernetes-int-or-string": true }),
            &["type(self) == int ? self > 1 : self.endsWith('%')", "self > 1"],
            vec![json!(2), json!(1), json!("5%"), json!("x")],
        ),
        rules(
            "maps",
            json!({ "type": "object", "maxProperties": 5, "additionalProperties": { "type": "string", "maxLength": 10 } }),
            &[
                "'a' in self",
                "self.all(k, self[k].size() > 1)",
                "self['a'] == 'xx'",
                "self.a == 'xx'",
                "size(self) == 1",
                "self.exists(k, k == 'a')",
            ],
            vec![json!({ "a": "xx" }), json!({ "b": "x" }), json!({})],
        ),
        rules(
            "objects",
            json!({ "type": "object", "required": ["min"], "properties": { "min": { "type": "integer" }, "max": { "type": "integer" }, "foo-bar": { "type": "string", "maxLength": 5 }, "namespace": { "type": "string", "maxLength": 5 } } }),
            &[
                "!has(self.max) || self.min <= self.max",
                "self.max > 1",
                "has(self.foo__dash__bar) ? self.foo__dash__bar == 'x' : true",
                "!has(self.__namespace__) || self.__namespace__ != 'y'",
                "self.?max.orValue(3) == 3",
                "self == self",
            ],
            vec![
                json!({ "min": 1, "max": 3 }),
                json!({ "min": 5, "max": 3 }),
                json!({ "min": 1 }),
                json!({ "min": 1, "max": 3, "foo-bar": "z", "namespace": "y" }),
            ],
        ),
        of(
            "messages",
            json!({ "type": "object", "properties": { "a": { "type": "integer" }, "s": { "type": "string", "maxLength": 5, "default": "x" }, "b": { "type": "object", "properties": { "c": { "type": "integer" } } } }, "x-kubernetes-validations": [
            { "rule": "self.a > 1", "message": " too small " },
            { "rule": "self.a > 2", "messageExpression": "'s is ' + self.s" },
            { "rule": "self.a > 3", "message": "m", "messageExpression": "''" },
            { "rule": "self.a > 4", "reason": "FieldValueForbidden", "fieldPath": ".a" },
            { "rule": "self.a > 5", "reason": "FieldValueRequired", "fieldPath": ".b.c", "message": "c" },
            { "rule": "self.a > 6", "reason": "FieldValueDuplicate", "fieldPath": ".b" },
            { "rule": "self.b.c > 0", "message": "no c" },
        ] }),
            vec![json!({ "a": 0 }), json!({ "a": 7, "b": { "c": 1 } }), json!({ "a": 7, "b": {} })],
        ),
        of(
            "nested rules",
            json!({ "type": "object", "properties": { "l": { "type": "array", "maxItems": 5, "items": { "type": "object", "properties": { "x": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 0" }] } }, "x-kubernetes-validations": [{ "rule": "self.x < 10", "fieldPath": ".x" }] } }, "m": { "type": "object", "maxProperties": 5, "additionalProperties": { "type": "string", "maxLength": 10, "x-kubernetes-validations": [{ "rule": "self != 'bad'" }] } } } }),
            vec![json!({ "l": [{ "x": 1 }, { "x": 0 }, { "x": 11 }], "m": { "a": "bad", "b": "good" } })],
        ),
        of(
            "blocked rules",
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string", "maxLength": 3 } }, "x-kubernetes-validations": [{ "rule": "self.a == 'x'" }] }),
            vec![json!({}), json!({ "a": "long text" }), json!({ "a": "y" })],
        ),
        of(
            "old self",
            json!({ "type": "object", "properties": { "a": { "type": "string", "maxLength": 5, "x-kubernetes-validations": [{ "rule": "self == oldSelf" }, { "rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true }] } } }),
            vec![json!({ "a": "new" }), json!({ "a": "x" })],
        ),
    ]
}
