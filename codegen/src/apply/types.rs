//! The type of a field, as generated code writes it.

use syn::{Expr, GenericArgument, Lit, PathArguments, Type};

use super::{Builder, Origin, Scope};
use crate::{
    kubernetes::from_outside,
    model::{ApplyFieldType, TypePath},
    names::Name,
    source::Resolved,
};

/// The names that every module knows, and what the standard library calls them.
const PRELUDE: &[&str] = &[
    "Box", "Option", "String", "Vec", "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8",
    "isize", "u128", "u16", "u32", "u64", "u8", "usize",
];

/// How many aliases may stand for each other.
const MAX_ALIASES: usize = 32;

impl Builder<'_> {
    /// The type of a field of the apply configuration `near`, without an `Option` around it.
    pub(super) fn field_type(&mut self, near: usize, scope: &Scope, of_type: &Type) -> ApplyFieldType {
        let found = Lookup { near, scope, aliases: 0 }.part(self, of_type);
        match found.arguments_of("Option") {
            Some([inner]) => inner.clone(),
            _ => found,
        }
    }

    /// The apply configuration of a struct of a source crate, if it can be taken apart.
    fn apart(&mut self, near: usize, krate: usize, definition: &[Name]) -> Option<ApplyFieldType> {
        let origin = Origin::Source(krate, definition.to_vec());
        if !self.numbers.contains_key(&origin) {
            self.structs.take_apart(krate, definition)?;
        }
        Some(ApplyFieldType::Apply(self.number(origin, near)))
    }
}

/// A type that is looked at.
#[derive(Clone, Copy)]
struct Lookup<'s> {
    near: usize,
    scope: &'s Scope,
    /// How many aliases led here.
    aliases: usize,
}

/// A path and the types between its angle brackets.
struct Written<'t> {
    names: Vec<Name>,
    absolute: bool,
    arguments: Vec<&'t Type>,
}

impl Lookup<'_> {
    /// A type in which structs are taken apart.
    fn part(self, builder: &mut Builder<'_>, of_type: &Type) -> ApplyFieldType {
        self.find(builder, of_type, true).unwrap_or(ApplyFieldType::Json)
    }

    /// A type, or `None` if generated code cannot name it. `apart` says whether structs are taken apart.
    fn find(self, builder: &mut Builder<'_>, of_type: &Type, apart: bool) -> Option<ApplyFieldType> {
        match of_type {
            Type::Group(group) => self.find(builder, &group.elem, apart),
            Type::Paren(paren) => self.find(builder, &paren.elem, apart),
            Type::Tuple(tuple) => {
                let items = tuple.elems.iter().map(|item| self.find(builder, item, false));
                items.collect::<Option<_>>().map(ApplyFieldType::Tuple)
            }
            Type::Array(array) => {
                let Expr::Lit(length) = &array.len else { return None };
                let Lit::Int(length) = &length.lit else { return None };
                let item = self.find(builder, &array.elem, false)?;
                Some(ApplyFieldType::Array(Box::new(item), length.base10_parse().ok()?))
            }
            Type::Path(path) if path.qself.is_none() => self.path(builder, &Written::of(&path.path)?, apart),
            _ => None,
        }
    }

    fn path(self, builder: &mut Builder<'_>, written: &Written<'_>, apart: bool) -> Option<ApplyFieldType> {
        let resolved = match self.scope {
            Scope::Kubernetes => from_outside(&written.names).map(Resolved::External),
            Scope::Module { .. } if written.absolute => Some(Resolved::External(written.names.clone())),
            Scope::Module { krate, this: Some(this), .. } if written.is("Self") => {
                return self.local(builder, *krate, this, written, apart);
            }
            Scope::Module { krate, module, .. } => builder.paths[*krate].resolve(module, &written.names),
        };
        match (resolved, self.scope) {
            (Some(Resolved::Local(definition)), Scope::Module { krate, .. }) => {
                self.local(builder, *krate, &definition, written, apart)
            }
            (Some(Resolved::External(path)), _) => self.external(builder, &path, written, apart),
            (Some(Resolved::Local(_)), Scope::Kubernetes) => None,
            (None, _) => {
                let name = PRELUDE.iter().find(|name| written.is(name));
                match name {
                    Some(name) => self.of_std(builder, &[Name::new(name)], written, apart),
                    None => self.external(builder, &written.names, written, apart),
                }
            }
        }
    }

    /// A type of a source crate.
    fn local(
        self,
        builder: &mut Builder<'_>,
        krate: usize,
        definition: &[Name],
        written: &Written<'_>,
        apart: bool,
    ) -> Option<ApplyFieldType> {
        if let Some(alias) = builder.structs.alias(krate, definition).filter(|_| written.arguments.is_empty())
        {
            if self.aliases == MAX_ALIASES {
                return None;
            }
            let module = definition.split_last().map(|(_, module)| module.to_vec()).unwrap_or_default();
            let scope = Scope::Module { krate, module, this: None };
            let lookup = Lookup { near: self.near, scope: &scope, aliases: self.aliases + 1 };
            return lookup.find(builder, alias, apart);
        }
        if apart
            && written.arguments.is_empty()
            && let Some(found) = builder.apart(self.near, krate, definition)
        {
            return Some(found);
        }
        let path = builder.paths[krate].path(definition)?;
        self.whole(builder, path, written)
    }

    /// A type whose path starts with the name of a crate.
    fn external(
        self,
        builder: &mut Builder<'_>,
        path: &[Name],
        written: &Written<'_>,
        apart: bool,
    ) -> Option<ApplyFieldType> {
        let names: Vec<&str> = path.iter().map(Name::as_str).collect();
        // The same crate can be reached through others.
        if let Some(at) = names.iter().position(|name| *name == "k8s_openapi") {
            return self.of_kubernetes(builder, &path[at..], written, apart);
        }
        match &names[..] {
            [_] => None,
            ["std" | "core" | "alloc", ..] => self.of_std(builder, path, written, apart),
            ["serde_json" | "genclient_runtime", "Value"] => Some(ApplyFieldType::Json),
            ["genclient_runtime", name @ ("ObjectMeta" | "ListMeta")] => {
                let path = ["k8s_openapi", "apimachinery", "pkg", "apis", "meta", "v1", name];
                Some(ApplyFieldType::Path(
                    TypePath(path.iter().map(|name| Name::new(name)).collect()),
                    vec![],
                ))
            }
            ["kube", ..] => self.whole(builder, path.to_vec(), written),
            [first, ..] => {
                let krate = builder.crates.iter().position(|name| name == first)?;
                let definition = builder.paths[krate].leads_to(path)?;
                self.local(builder, krate, &definition, written, apart)
            }
            [] => None,
        }
    }

    /// A type of the standard library. Those that hold others let them be taken apart.
    fn of_std(
        self,
        builder: &mut Builder<'_>,
        path: &[Name],
        written: &Written<'_>,
        apart: bool,
    ) -> Option<ApplyFieldType> {
        let known = ApplyFieldType::known;
        match (path.last()?.as_str(), &written.arguments[..]) {
            (name @ ("Option" | "Vec" | "Box"), [inner]) if apart => {
                Some(known(name, vec![self.part(builder, inner)]))
            }
            (name @ ("BTreeMap" | "HashMap"), [key, value]) if apart => {
                let key = self.find(builder, key, false)?;
                let value = self.part(builder, value);
                let path = ["std", "collections", name].iter().map(|name| Name::new(name)).collect();
                Some(ApplyFieldType::Path(TypePath(path), vec![key, value]))
            }
            (name, []) if PRELUDE.contains(&name) => Some(known(name, vec![])),
            (name @ ("Option" | "Vec" | "Box"), [inner]) => {
                Some(known(name, vec![self.find(builder, inner, false)?]))
            }
            _ if path.len() == 1 => None,
            _ => {
                // The other two hold parts of it, at the same paths.
                let path = std::iter::once(Name::new("std")).chain(path[1..].iter().cloned()).collect();
                self.whole(builder, path, written)
            }
        }
    }

    /// A type of k8s-openapi.
    fn of_kubernetes(
        self,
        builder: &mut Builder<'_>,
        path: &[Name],
        written: &Written<'_>,
        apart: bool,
    ) -> Option<ApplyFieldType> {
        if apart
            && written.arguments.is_empty()
            && builder.parts.get(path).is_some()
            && builder.parts.is_required(path)
        {
            let number = builder.number(Origin::Kubernetes(path.to_vec()), self.near);
            return Some(ApplyFieldType::Apply(number));
        }
        self.whole(builder, path.to_vec(), written)
    }

    /// A type as it is.
    fn whole(
        self,
        builder: &mut Builder<'_>,
        path: Vec<Name>,
        written: &Written<'_>,
    ) -> Option<ApplyFieldType> {
        let arguments = written.arguments.iter().map(|argument| self.find(builder, argument, false));
        Some(ApplyFieldType::Path(TypePath(path), arguments.collect::<Option<_>>()?))
    }
}

impl<'t> Written<'t> {
    /// A path with nothing but types between its angle brackets, which stand at its end.
    fn of(path: &'t syn::Path) -> Option<Self> {
        let names = path.segments.iter().map(|segment| Name::from(&segment.ident)).collect();
        let (last, others) = {
            let mut segments = path.segments.iter().rev();
            (segments.next()?, segments)
        };
        if others.into_iter().any(|segment| !segment.arguments.is_none()) {
            return None;
        }
        let arguments = match &last.arguments {
            PathArguments::None => Vec::new(),
            PathArguments::AngleBracketed(arguments) => {
                let types = arguments.args.iter().map(|argument| match argument {
                    GenericArgument::Type(of_type) => Some(of_type),
                    _ => None,
                });
                types.collect::<Option<_>>()?
            }
            PathArguments::Parenthesized(_) => return None,
        };
        Some(Self { names, absolute: path.leading_colon.is_some(), arguments })
    }

    /// Whether it is this one name.
    fn is(&self, name: &str) -> bool {
        matches!(&self.names[..], [only] if only.as_str() == name)
    }
}
