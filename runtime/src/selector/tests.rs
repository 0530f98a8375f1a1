use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

use super::*;

fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
    let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
    Selector::parse(selector)
        .unwrap_or_else(|error| panic!("{selector:?}: {error}"))
        .matches_labels(|key| labels.get(key).copied())
}

#[test]
fn a_selector_that_the_server_accepts_parses_and_prints_in_canonical_form() {
    for (text, canonical) in [
        ("", ""),
        ("  \t\r\n", ""),
        ("x", "x"),
        (" x , y ", "x,y"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("z=c,x=a", "x=a,z=c"),
        ("x=", "x="),
        ("x= ", "x="),
        ("x==", "x=="),
        ("x=,z= ", "x=,z="),
        ("x==a", "x==a"),
        ("x != a", "x!=a"),
        ("x!=", "x!="),
        ("x in (a)", "x in (a)"),
        ("x in (b,a,b)", "x in (a,b)"),
        ("x in(a,b)", "x in (a,b)"),
        ("x in ()", "x in ()"),
        ("x notin ()", "x notin ()"),
        ("x in (,)", "x in ()"),
        ("x in (a,)", "x in (,a)"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,,b)", "x in (,a,b)"),
        ("x in (a,,,)", "x in (,a)"),
        ("x in (,,,)", "x in ()"),
        ("x notin (a, b)", "x notin (a,b)"),
        ("x\tnotin\n(\na\r)", "x notin (a)"),
        ("in", "in"),
        ("notin", "notin"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin=in", "notin=in"),
        ("x=notin", "x=notin"),
        ("!in", "!in"),
        ("x>1", "x>1"),
        ("x > 007", "x>007"),
        ("x<9223372036854775807", "x<9223372036854775807"),
        ("app.kubernetes.io/name=a_B-9.z", "app.kubernetes.io/name=a_B-9.z"),
        ("x,x=1", "x,x=1"),
        ("y,x notin (a),!z", "x notin (a),y,!z"),
    ] {
        let selector = Selector::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(selector.to_string(), canonical, "{text:?}");
        assert_eq!(Selector::parse(canonical).expect("the canonical form parses"), selector, "{text:?}");
    }
}

#[test]
fn a_selector_that_the_server_refuses_is_refused_with_the_position() {
    let long = "x".repeat(64);
    let long_prefix = format!("{}/x", "a.".repeat(127) + "a");
    for (text, position) in [
        (",", 0),
        ("x,", 2),
        ("x,,y", 2),
        (",x", 0),
        ("!", 1),
        ("!!x", 1),
        ("!x=y", 2),
        ("x y", 2),
        ("x=a b", 4),
        ("x=a=b", 3),
        ("x===a", 3),
        ("x=!a", 2),
        ("x=(a)", 2),
        ("x a", 2),
        ("x in", 4),
        ("x in a", 5),
        ("x in (", 6),
        ("x in (a", 7),
        ("x in (a b)", 8),
        ("x in (a=b)", 7),
        ("x in (a,,)", 9),
        ("x in (,,)", 8),
        ("x in (a,=)", 8),
        ("x in (a))", 8),
        ("x in (a),", 9),
        ("x notin a", 8),
        ("(x)", 0),
        ("=a", 0),
        ("x>", 2),
        ("x>a", 2),
        ("x>-1", 2),
        ("x<9223372036854775808", 2),
        ("x<1.5", 2),
        ("x>=1", 2),
        ("x=\"a\"", 2),
        ("x='a'", 2),
        ("x=a/b", 2),
        ("x=-a", 2),
        ("x=a-", 2),
        ("-x", 0),
        ("x.", 0),
        ("a/b/c", 0),
        ("/x", 0),
        ("a/", 0),
        ("UPPER.example/x", 0),
        ("a..b/x", 0),
        ("ä", 0),
        ("x=ä", 2),
        (&*long, 0),
        (&*format!("a={long}"), 2),
        (&*long_prefix, 0),
    ] {
        let error = Selector::parse(text).expect_err(text);
        assert_eq!(error.position(), position, "{text:?}: {error}");
        assert!(!error.message().is_empty());
    }
}

#[test]
fn selectors_that_differ_in_the_order_of_their_keys_are_equal() {
    let selectors = ["a=1,b in (x,y),!c", "!c,b in (y,x),a=1"].map(|text| Selector::parse(text).unwrap());
    assert_eq!(selectors[0], selectors[1]);
    assert_eq!(selectors[0].to_string(), selectors[1].to_string());
}

#[test]
fn labels_at_the_limit_of_their_length_are_accepted() {
    let text = "x".repeat(63);
    Selector::parse(&format!("{text}={text}")).expect("63 characters");
    let prefix = "a.".repeat(126) + "a";
    assert_eq!(prefix.len(), 253);
    Selector::parse(&format!("{prefix}/x")).expect("253 characters");
}

#[test]
fn a_selector_has_the_same_meaning_as_on_the_server() {
    let labels: &[_] = &[("x", "a"), ("n", "10"), ("empty", "")];
    for (selector, expected) in [
        ("", true),
        ("x", true),
        ("y", false),
        ("!x", false),
        ("!y", true),
        ("x=a", true),
        ("x==a", true),
        ("x=b", false),
        ("x=", false),
        ("empty=", true),
        ("empty", true),
        ("y=", false),
        ("x!=a", false),
        ("x!=b", true),
        ("y!=a", true),
        ("x in (a,b)", true),
        ("x in (b)", false),
        ("y in (a)", false),
        ("y in ()", false),
        ("empty in ()", true),
        ("x notin (a)", false),
        ("x notin (b)", true),
        ("y notin (a)", true),
        ("empty notin ()", false),
        ("n>9", true),
        ("n>10", false),
        ("n<11", true),
        ("n<10", false),
        ("x>1", false),
        ("y<1", false),
        ("x=a,n>9,!y", true),
        ("x=a,n>10", false),
    ] {
        assert_eq!(matches(selector, labels), expected, "{selector:?}");
    }
    assert!(!Selector::nothing().matches_labels(|_| None));
    assert!(!Selector::nothing().is_everything());
}

fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: Some(values.iter().map(ToString::to_string).collect()),
        }]),
        match_labels: None,
    }
}

#[test]
fn a_typed_label_selector_means_the_same_as_its_text() {
    assert!(Selector::try_from(LabelSelector::default()).expect("an empty one").is_everything());
    let mut typed = expression("tier", "In", &["front", "back"]);
    typed.match_labels = Some([("app".to_owned(), "web".to_owned())].into());
    assert_eq!(
        Selector::try_from(&typed).expect("a good one"),
        Selector::parse("app=web,tier in (front,back)").expect("a good one"),
    );
    for (typed, text) in [
        (expression("x", "NotIn", &["a"]), "x notin (a)"),
        (expression("x", "Exists", &[]), "x"),
        (expression("x", "DoesNotExist", &[]), "!x"),
    ] {
        assert_eq!(Selector::try_from(typed).expect("a good one").to_string(), text);
    }
}

#[test]
fn a_typed_label_selector_that_the_server_refuses_is_refused() {
    use LabelSelectorError as E;
    assert!(matches!(Selector::try_from(expression("x", "In", &[])), Err(E::NoValues { .. })));
    assert!(matches!(Selector::try_from(expression("x", "NotIn", &[])), Err(E::NoValues { .. })));
    assert!(matches!(Selector::try_from(expression("x", "Exists", &["a"])), Err(E::Values { .. })));
    assert!(matches!(Selector::try_from(expression("x", "in", &["a"])), Err(E::Operator { .. })));
    assert!(matches!(Selector::try_from(expression("-", "Exists", &[])), Err(E::Key { .. })));
    assert!(matches!(Selector::try_from(expression("x", "In", &["a b"])), Err(E::Value { .. })));
}

#[test]
fn a_namespace_must_be_a_dns_label() {
    for good in ["default", "a", "9", "kube-system", &"a".repeat(63)] {
        assert!(is_dns_label(good), "{good}");
    }
    for bad in ["", "-a", "a-", "A", "a.b", "a_b", "a/b", "ä", &"a".repeat(64)] {
        assert!(!is_dns_label(bad), "{bad}");
    }
}
