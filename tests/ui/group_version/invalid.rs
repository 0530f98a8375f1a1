use genclient_runtime::group_version;

mod empty {
    super::group_version!();
}

mod no_text {
    super::group_version!(v1);
}

mod upper {
    super::group_version!("Sample.k8s.io/v1");
}

mod dots {
    super::group_version!("a..b/v1");
}

mod no_group {
    super::group_version!("/v1");
}

mod version {
    super::group_version!("a.example.com/1");
}

mod both {
    super::group_version!("-a.example.com/V1");
}

mod too_long {
    super::group_version!("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.io/v1");
}

mod key {
    super::group_version!("a.example.com/v1", indent = "a");
}

mod ident {
    super::group_version!("a.example.com/v1", ident = "A-b");
}

mod keyword {
    super::group_version!("a.example.com/v1", ident = "self");
}

mod twice {
    super::group_version!("a.example.com/v1", ident = "a", ident = "b");
}

mod more {
    super::group_version!(super, ident = "b");
}

fn main() {}
