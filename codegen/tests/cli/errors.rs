//! Every bad input: its message, exit code 2, and a tree that is exactly what it was.

use super::support::{HEAD, Workspace, kind, kind_with, module, snapshot};

/// Runs `generate` over these files, which must fail without a trace, and compares what it says.
fn refused(name: &str, root: &str, files: &[(&str, &str)]) {
    let workspace = Workspace::new(root);
    for (path, text) in files {
        workspace.write(path, text);
    }
    let before = workspace.tree();
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert_eq!(run.stdout, "");
    assert!(workspace.tree() == before, "the tree has changed");
    snapshot(name, &run.stderr);
}

fn root_refused(name: &str, items: &str) {
    refused(name, &module("a.example.com/v1", items), &[]);
}

#[test]
fn an_unknown_attribute_has_a_suggestion() {
    root_refused("unknown_attribute", &kind_with("Network", "cluster_scope"));
}

#[test]
fn an_unknown_verb_has_a_suggestion() {
    root_refused("unknown_verb", &kind_with("Network", "only_verbs(get, lst)"));
}

#[test]
fn conflicting_verb_attributes_are_both_shown() {
    root_refused("conflicting_verbs", &kind_with("Network", "only_verbs(get), skip_verbs(watch)"));
}

#[test]
fn an_attribute_given_twice_is_shown_twice() {
    root_refused("attribute_twice", &kind_with("Network", "no_status, no_status"));
}

#[test]
fn names_follow_the_dns_rules() {
    root_refused(
        "invalid_names",
        &kind_with("Network", "plural = \"Nets\", shortname = \"n_t\", singular = \"-n\""),
    );
}

#[test]
fn a_group_and_a_version_follow_the_dns_rules() {
    refused("invalid_group", &module("Sample.k8s.io/1", &kind("Network")), &[]);
}

#[test]
fn a_group_of_the_kubernetes_community_needs_an_approval() {
    refused("no_approval", &module("sample.k8s.io/v1", &kind("Network")), &[]);
}

#[test]
fn an_approval_has_one_of_two_forms() {
    let approval = "annotation(\"api-approved.kubernetes.io\", \"yes\")";
    refused("wrong_approval", &module("sample.k8s.io/v1", &kind_with("Network", approval)), &[]);
}

#[test]
fn only_structs_with_fields_can_be_kinds() {
    root_refused(
        "shapes",
        "#[derive(GenClient)]\npub enum A { B }\n\n#[derive(GenClient)]\npub struct C(ObjectMeta);\n\n\
         #[derive(GenClient)]\npub struct D<T> { pub metadata: ObjectMeta, pub spec: T }\n",
    );
}

#[test]
fn metadata_must_be_there_and_of_the_right_type() {
    root_refused(
        "metadata",
        "#[derive(GenClient)]\npub struct A { pub spec: u32 }\n\n\
         #[derive(GenClient)]\npub struct B { pub metadata: String }\n",
    );
}

#[test]
fn a_status_verb_needs_a_status_field() {
    root_refused("status_without_field", &kind_with("Network", "only_verbs(get, update_status)"));
}

#[test]
fn a_list_needs_items_of_its_own_kind() {
    root_refused(
        "lists",
        &format!(
            "{}{}",
            kind("Network"),
            "\n#[derive(GenClientList)]\npub struct NetworkList { pub metadata: ListMeta }\n\n\
             #[derive(GenClientList)]\npub struct OtherList { pub metadata: ListMeta, pub items: Vec<Network> }\n"
        ),
    );
}

#[test]
fn a_list_of_a_type_without_annotation_serves_nobody() {
    root_refused(
        "orphaned_list",
        &format!(
            "{}{}",
            kind("Network"),
            "\npub struct Plain;\n\n#[derive(GenClientList)]\npub struct PlainList { pub metadata: ListMeta, pub items: Vec<Plain> }\n"
        ),
    );
}

#[test]
fn a_module_without_a_group_version_is_shown_with_the_line_to_add() {
    refused("no_group_version", &format!("{HEAD}{}", kind("Network")), &[]);
}

#[test]
fn a_parent_without_a_group_version_cannot_be_shared() {
    refused(
        "no_parent_group_version",
        &format!(
            "pub mod v1 {{\n    use super::*;\n    genclient_runtime::group_version!(super);\n{}}}\n",
            kind("Network")
        ),
        &[],
    );
}

#[test]
fn two_group_versions_in_a_module_are_one_too_many() {
    root_refused(
        "two_group_versions",
        &format!("genclient_runtime::group_version!(\"b.example.com/v1\");\n{}", kind("Network")),
    );
}

#[test]
fn two_kinds_with_one_plural_are_both_shown() {
    root_refused("one_plural", &format!("{}{}", kind("Network"), kind_with("Net", "plural = \"networks\"")));
}

#[test]
fn a_kind_cannot_be_defined_twice_in_a_version() {
    let items = module("a.example.com/v1", &kind("Network"));
    refused(
        "kind_twice",
        "pub mod a;\npub mod b;\n",
        &[("apis/src/a.rs", &items), ("apis/src/b.rs", &items)],
    );
}

#[test]
fn a_kind_cannot_be_called_like_the_list_of_another() {
    root_refused("kind_like_list", &format!("{}{}", kind("Network"), kind("NetworkList")));
}

#[test]
fn two_groups_cannot_have_one_ident() {
    let group = |name: &str| {
        format!(
            "{HEAD}\ngenclient_runtime::group_version!(\"{name}.example.com/v1\", ident = \"same\");\n{}",
            kind("Network")
        )
    };
    refused(
        "ident_clash",
        "pub mod a;\npub mod b;\n",
        &[("apis/src/a.rs", &group("a")), ("apis/src/b.rs", &group("b"))],
    );
}

#[test]
fn one_group_cannot_have_two_idents() {
    let group = |version: &str, ident: &str| {
        format!(
            "{HEAD}\ngenclient_runtime::group_version!(\"a.example.com/{version}\", ident = \"{ident}\");\n{}",
            kind_with("Network", "storage")
        )
    };
    refused(
        "two_idents",
        "pub mod a;\npub mod b;\n",
        &[("apis/src/a.rs", &group("v1", "one")), ("apis/src/b.rs", &group("v2", "two"))],
    );
}

#[test]
fn two_groups_cannot_have_one_folder() {
    refused(
        "group_folder_clash",
        "pub mod x;\npub mod y;\npub mod z;\n",
        &[
            ("apis/src/x.rs", &module("a.b/v1", &kind("Network"))),
            ("apis/src/y.rs", &module("a.c/v1", &kind("Network"))),
            ("apis/src/z.rs", &module("a-b.x/v2", &kind("Network"))),
        ],
    );
}

#[test]
fn two_groups_cannot_have_clients_of_one_name() {
    refused(
        "client_clash",
        "pub mod a;\npub mod b;\n",
        &[
            ("apis/src/a.rs", &module("a1.example.com/v1", &kind("Network"))),
            ("apis/src/b.rs", &module("a-1.example.com/v1", &kind("Network"))),
        ],
    );
}

#[test]
fn a_group_cannot_be_called_like_a_generated_method() {
    refused("reserved_group", &module("start.example.com/v1", &kind("Network")), &[]);
}

#[test]
fn a_kind_cannot_have_an_accessor_that_generated_code_uses() {
    root_refused("reserved_accessor", &kind_with("Network", "plural = \"client\""));
}

#[test]
fn two_kinds_cannot_have_one_accessor() {
    root_refused(
        "accessor_clash",
        &format!(
            "{}{}",
            kind_with("FooBar", "plural = \"foobars\""),
            kind_with("Foo", "plural = \"foo-bars\"")
        ),
    );
}

#[test]
fn a_method_cannot_be_called_like_a_verb() {
    root_refused(
        "method_clash",
        &kind_with("Network", "method(name = \"get\", verb = get, subresource = \"scale\")"),
    );
}

#[test]
fn the_types_of_a_method_must_be_found() {
    root_refused(
        "method_type",
        &kind_with(
            "Network",
            "method(name = \"start\", verb = create, subresource = \"start\", input = Missing)",
        ),
    );
}

#[test]
fn a_file_that_does_not_parse_is_shown_with_its_place() {
    refused(
        "does_not_parse",
        "pub mod a;\npub mod b;\n",
        &[
            ("apis/src/a.rs", "pub struct Network {\n    pub metadata ObjectMeta,\n}\n"),
            ("apis/src/b.rs", &module("a.example.com/v1", &kind_with("Network", "banana"))),
        ],
    );
}

#[test]
fn a_module_file_that_is_missing_is_named_with_both_places() {
    refused("missing_module", &format!("mod absent;\n{}", module("a.example.com/v1", &kind("Network"))), &[]);
}

#[test]
fn a_module_with_two_files_is_refused() {
    let items = module("a.example.com/v1", &kind("Network"));
    refused(
        "two_module_files",
        "pub mod v1;\n",
        &[("apis/src/v1.rs", &items), ("apis/src/v1/mod.rs", &items)],
    );
}

#[test]
fn finding_nothing_to_generate_is_an_error() {
    refused("nothing_annotated", "pub struct Network;\n", &[]);
}

#[test]
fn a_kind_behind_a_feature_is_refused() {
    let items = format!("#[cfg(feature = \"net\")]{}", kind("Network"));
    refused("cfg_feature", &module("a.example.com/v1", &items), &[]);
}

#[test]
fn a_derive_behind_a_feature_is_refused() {
    root_refused(
        "cfg_attr",
        "#[cfg_attr(feature = \"net\", derive(GenClient))]\npub struct Network { pub metadata: ObjectMeta }\n",
    );
}

#[test]
fn a_kind_that_other_crates_cannot_reach_needs_a_path() {
    refused("unreachable", "mod v1;\n", &[("apis/src/v1.rs", &module("a.example.com/v1", &kind("Network")))]);
}

#[test]
fn a_kind_that_a_glob_hides_or_makes_ambiguous_cannot_be_reached() {
    let version = |version: &str, attribute: &str| {
        module(&format!("a.example.com/{version}"), &kind_with("Network", attribute))
    };
    refused(
        "ambiguous_glob",
        "mod v1;\nmod v2;\n\npub use v1::*;\npub use v2::*;\n",
        &[
            ("apis/src/v1.rs", &version("v1", "storage")),
            ("apis/src/v2.rs", &version("v2", "storage = false")),
        ],
    );
    refused(
        "hidden_glob",
        &format!("mod v2;\npub use v2::*;\n{}", version("v1", "storage")),
        &[("apis/src/v2.rs", &version("v2", "storage = false"))],
    );
}

#[test]
fn kinds_that_would_be_missed_are_refused() {
    root_refused(
        "unseen",
        &format!(
            "{}{}",
            kind("Network"),
            "\nuse genclient_runtime::GenClient as Kind;\n\ninclude!(\"types.rs\");\n\n\
             macro_rules! kinds {\n    ($name:ident) => {\n        #[derive(GenClient)]\n        \
             pub struct $name { pub metadata: ObjectMeta }\n    };\n}\n\n\
             #[derive(Clone, Debug)]\n#[genclient(no_status)]\npub struct Subnet {\n    pub metadata: ObjectMeta,\n}\n\n\
             #[derive(GenClient, GenClientList)]\npub struct RouterList {\n    pub metadata: ListMeta,\n}\n\n\
             fn f() {\n    #[derive(GenClient)]\n    struct Port {\n        metadata: ObjectMeta,\n    }\n}\n"
        ),
    );
}

#[test]
fn what_depends_on_an_unknown_condition_is_refused() {
    root_refused(
        "cfg_parts",
        "\n#[derive(Clone, Debug, GenClient)]\n#[cfg_attr(unix, genclient(cluster_scoped))]\n\
         pub struct Network {\n    pub metadata: ObjectMeta,\n}\n\n\
         #[derive(Clone, Debug, GenClient)]\npub struct Subnet {\n    pub metadata: ObjectMeta,\n    \
         #[cfg(feature = \"status\")]\n    pub status: Option<u8>,\n}\n",
    );
    let root = format!(
        "{HEAD}\n#[cfg(unix)]\ngenclient_runtime::group_version!(\"a.example.com/v1\");\n{}",
        kind("Network")
    );
    refused("cfg_group_version", &root, &[]);
}

#[test]
fn a_given_path_that_leads_to_another_type_is_refused() {
    let root = module("a.example.com/v1", &kind_with("Network", "path = \"sample_apis::other::Network\""));
    refused("path_elsewhere", &format!("{root}\npub mod other {{\n    pub struct Network;\n}}\n"), &[]);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_what_to_do() {
    let workspace = Workspace::new("mod a;\n");
    std::fs::write(workspace.path("apis/src/a.rs"), b"// \xff\n").unwrap();
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2);
    snapshot("module_not_utf8", &run.stderr);
    std::fs::write(workspace.path("apis/src/lib.rs"), b"// \xff\n").unwrap();
    snapshot("root_not_utf8", &workspace.run(&["generate"]).stderr);
    std::fs::remove_file(workspace.path("apis/src/lib.rs")).unwrap();
    snapshot("no_root", &workspace.run(&["generate"]).stderr);
    workspace.write("apis/Cargo.toml", "[package\n");
    snapshot("manifest_does_not_parse", &workspace.run(&["generate"]).stderr);
    workspace.write("apis/Cargo.toml", "[workspace]\n");
    snapshot("no_package", &workspace.run(&["generate"]).stderr);
}

#[test]
fn a_bracket_that_is_not_closed_is_shown_where_it_is() {
    refused("not_rust", "pub struct Network {}\n\nfn f() {\n", &[]);
}

#[test]
fn two_stored_versions_are_one_too_many_and_none_is_too_few() {
    let version = |version: &str, attributes: &str| {
        module(
            &format!("a.example.com/{version}"),
            &format!("{}{}", kind_with("Two", attributes), kind("None")),
        )
    };
    refused(
        "storage",
        "pub mod v1;\npub mod v2;\n",
        &[("apis/src/v1.rs", &version("v1", "storage")), ("apis/src/v2.rs", &version("v2", "storage"))],
    );
}

#[test]
fn the_versions_of_a_kind_share_scope_and_plural() {
    refused(
        "versions_differ",
        "pub mod v1;\npub mod v2;\n",
        &[
            ("apis/src/v1.rs", &module("a.example.com/v1", &kind_with("Network", "storage"))),
            (
                "apis/src/v2.rs",
                &module("a.example.com/v2", &kind_with("Network", "cluster_scoped, plural = \"nets\"")),
            ),
        ],
    );
}

#[test]
fn the_versions_of_a_kind_share_what_their_crd_says_once() {
    let version = |version: &str, attribute: &str| {
        module(&format!("a.example.com/{version}"), &kind_with("Network", attribute))
    };
    refused(
        "versions_differ_in_names",
        "pub mod v1;\npub mod v2;\n",
        &[
            (
                "apis/src/v1.rs",
                &version(
                    "v1",
                    "storage, shortname = \"net\", annotation(\"a\", \"1\"), label(\"l\", \"1\"), label(\"m\", \"1\")",
                ),
            ),
            (
                "apis/src/v2.rs",
                &version(
                    "v2",
                    "shortname = \"net\", shortname = \"nw\", category = \"all\", singular = \"net\", \
                     annotation(\"a\", \"2\"), annotation(\"b\", \"2\"), label(\"l\", \"2\"), label(\"m\", \"1\")",
                ),
            ),
        ],
    );
}

#[test]
fn a_version_without_a_crd_says_nothing_of_it() {
    let workspace = Workspace::new("pub mod v1;\npub mod v2;\n");
    workspace
        .write("apis/src/v1.rs", &module("a.example.com/v1", &kind_with("Network", "shortname = \"net\"")));
    workspace.write("apis/src/v2.rs", &module("a.example.com/v2", &kind_with("Network", "no_crd")));
    workspace.generate();
}

#[test]
fn several_errors_in_several_files_are_all_shown_in_one_run() {
    refused(
        "several",
        "pub mod a;\npub mod b;\npub mod c;\n",
        &[
            ("apis/src/a.rs", &module("a.example.com/v1", &kind_with("Network", "banana, plural = \"A\""))),
            ("apis/src/b.rs", &format!("{HEAD}{}", kind("Subnet"))),
            ("apis/src/c.rs", &module("C/v1", &kind_with("Router", "only_verbs(fetch)"))),
        ],
    );
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    // Permissions do not stop the superuser; a file where a folder should be stops everybody.
    refused(
        "output_not_writable",
        &module("a.example.com/v1", &kind("Network")),
        &[("generated/client", "a file\n")],
    );
}

#[test]
fn a_hand_written_file_in_the_way_is_an_error() {
    refused(
        "file_in_the_way",
        &module("a.example.com/v1", &kind("Network")),
        &[("generated/client/src/clientset/mod.rs", "// written by hand\n")],
    );
}

#[test]
fn an_unknown_key_of_the_configuration_is_marked() {
    refused(
        "unknown_key",
        &module("a.example.com/v1", &kind("Network")),
        &[(
            "genclient.toml",
            "[[client]]\noutput = \"generated\"\nsources = [\"apis\"]\nsource = \"apis\"\n",
        )],
    );
}

#[test]
fn a_configuration_needs_a_client_with_sources() {
    let root = module("a.example.com/v1", &kind("Network"));
    refused("no_client", &root, &[("genclient.toml", "command = \"x\"\n")]);
    refused("no_sources", &root, &[("genclient.toml", "[[client]]\noutput = \"generated\"\nsources = []\n")]);
    refused(
        "shared_output",
        &root,
        &[(
            "genclient.toml",
            "[[client]]\noutput = \"g\"\nsources = [\"apis\"]\n\n[[client]]\noutput = \"g\"\nsources = [\"apis\"]\n",
        )],
    );
}

/// A configuration of clients with these outputs.
fn clients(outputs: &[&str]) -> String {
    outputs.iter().map(|output| format!("[[client]]\noutput = {output:?}\nsources = [\"apis\"]\n")).collect()
}

#[test]
fn one_client_cannot_be_within_another() {
    let root = module("a.example.com/v1", &kind("Network"));
    refused("nested_output", &root, &[("genclient.toml", &clients(&["g", "g/src/x"]))]);
    // One folder in two ways: the folder of the configuration is called like this.
    let workspace = Workspace::new(&root);
    let folder = workspace.path(".").canonicalize().unwrap();
    let folder = folder.file_name().unwrap().to_str().unwrap();
    workspace.write("genclient.toml", &clients(&["g", &format!("../{folder}/g/h")]));
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("is within the output"), "{}", run.stderr);
}

#[test]
fn one_package_has_one_client_with_crds() {
    let package = ("Cargo.toml", "[package]\nname = \"mine\"\n");
    let root = module("a.example.com/v1", &kind("Network"));
    refused("shared_package", &root, &[package, ("genclient.toml", &clients(&["src/a", "src/b"]))]);
}

#[test]
fn the_runtime_is_the_path_of_a_crate() {
    for runtime in
        ["", "::", "a::", "a b", "a<b>", "a::<b>", "self::rt", "crate::rt", "Self", "a-b", "r#crate"]
    {
        let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
        let config = workspace.read("genclient.toml");
        workspace.write("genclient.toml", &format!("{config}runtime = {runtime:?}\n"));
        let run = workspace.run(&["generate"]);
        assert_eq!(run.code, 2, "{runtime}: {}", run.stderr);
        assert!(run.stderr.contains("is not the path of a crate"), "{runtime}: {}", run.stderr);
    }
}

#[test]
fn a_source_that_is_no_crate_is_named() {
    refused(
        "no_crate",
        &module("a.example.com/v1", &kind("Network")),
        &[("genclient.toml", "[[client]]\noutput = \"generated\"\nsources = [\"absent\", \"apis\"]\n")],
    );
}

#[test]
fn a_missing_configuration_is_named() {
    let workspace = Workspace::new("");
    let run = workspace.run(&["--config", "absent.toml", "generate"]);
    assert_eq!(run.code, 2);
    snapshot("no_configuration", &run.stderr);
}

/// A workspace whose client has these sources, and whose package depends on nothing.
fn sources_refused(name: &str, sources: &str) {
    let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"apis\"]\nresolver = \"3\"\n");
    workspace.write("apis/Cargo.toml", "[package]\nname = \"sample-apis\"\nedition = \"2024\"\n");
    // cargo writes the lock file if it is not there.
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--quiet"]).current_dir(workspace.path(""));
    assert!(cargo.output().unwrap().status.success());
    workspace.write("genclient.toml", &format!("[[client]]\noutput = \"client\"\nsources = [{sources}]\n"));
    let before = workspace.tree();
    let run = workspace.run(&["generate"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(workspace.tree() == before, "the tree has changed");
    snapshot(name, &run.stderr);
}

#[test]
fn a_command_that_writes_nothing_writes_no_lock_file_either() {
    let workspace = Workspace::new(&module("a.example.com/v1", &kind("Network")));
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"apis\"]\nresolver = \"3\"\n");
    workspace.write("apis/Cargo.toml", "[package]\nname = \"sample-apis\"\nedition = \"2024\"\n");
    let client = "[[client]]\noutput = \"client\"\nsources = [{ package = \"sample-apis\" }]\ncrds = false\n";
    workspace.write("genclient.toml", client);
    for arguments in [&["list"][..], &["generate", "--check"], &["generate", "--dry-run"]] {
        let run = workspace.run(arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.stderr.contains("`Cargo.lock` is missing or out of date"), "{}", run.stderr);
        assert!(!workspace.path("Cargo.lock").exists(), "{arguments:?}");
    }
}

#[test]
fn a_package_that_is_not_a_dependency_is_refused() {
    sources_refused("no_dependency", "{ package = \"gateway-api\" }");
    sources_refused("misspelt_dependency", "{ package = \"sample-api\" }");
}

#[test]
fn kubernetes_kinds_need_k8s_openapi() {
    sources_refused("no_k8s_openapi", "\"apis\", { kubernetes = \"1.37\" }");
}

#[test]
fn a_source_is_one_of_three() {
    sources_refused("two_sources_in_one", "{ folder = \"apis\", kubernetes = \"1.37\" }");
    sources_refused("no_version", "{ kubernetes = \"latest\" }");
    sources_refused("unknown_source", "{ pakage = \"gateway-api\" }");
}

#[test]
fn a_custom_resource_of_kube_needs_a_group() {
    let spec = |keys: &str| format!("#[derive(CustomResource)]\n#[kube({keys})]\npub struct FooSpec {{}}\n");
    refused("kube_without_group", &spec("version = \"v1\", kind = \"Foo\""), &[]);
    refused(
        "kube_misspelt",
        &spec("grup = \"example.com\", version = \"v1\", kind = \"Foo\", namespace"),
        &[],
    );
}

#[test]
fn one_kind_from_two_sources_is_shown_twice() {
    let ours = module("example.com/v1", &kind_with("Foo", "cluster_scoped"));
    let theirs = "#[derive(CustomResource)]\n#[kube(group = \"example.com\", version = \"v1\", kind = \"Foo\")]\npub struct FooSpec {}\n";
    refused(
        "kind_from_two_sources",
        &ours,
        &[
            ("other/Cargo.toml", "[package]\nname = \"other\"\n"),
            ("other/src/lib.rs", theirs),
            ("genclient.toml", "[[client]]\noutput = \"g\"\nsources = [\"apis\", \"other\"]\ncrds = false\n"),
        ],
    );
}
