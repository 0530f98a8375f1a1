//! Sets of fields.
//!
//! A [`FieldSet`] is a trie of [`PathElement`]s. It is what an entry of `metadata.managedFields` holds, in
//! the `FieldsV1` format: [`FieldSet::from_json`] reads it and [`FieldSet::to_json`] writes it, with the same
//! members in the same order as the API server.
//!
//! Membership is exact. A set that contains `.spec.replicas` does not contain `.spec`, and the other way
//! round.

mod format;

use std::{collections::BTreeMap, fmt};

pub use format::FieldsError;

use crate::path::{FieldPath, PathElement};

/// A set of field paths.
///
/// ```
/// use genclient_merge::{FieldPath, FieldSet};
/// use serde_json::json;
///
/// let fields = FieldSet::from_json(&json!({ "f:spec": { "f:cidr": {}, "f:gateway": {} } }))?;
/// assert!(fields.contains(&FieldPath::of_fields(["spec", "cidr"])));
/// assert!(!fields.contains(&FieldPath::of_fields(["spec"])));
/// # Ok::<(), genclient_merge::fields::FieldsError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Every node is a member or has one below.
    nodes: BTreeMap<PathElement, Node>,
}

/// The place of a path element in the trie.
#[derive(Clone, Default, PartialEq, Eq)]
struct Node {
    /// Whether the path that ends here is in the set.
    member: bool,
    /// The paths that go on from here.
    below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self { nodes: BTreeMap::new() }
    }

    /// Returns whether the set has no members.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the number of paths in the set.
    pub fn len(&self) -> usize {
        self.nodes.values().map(|node| usize::from(node.member) + node.below.len()).sum()
    }

    /// Adds a path. The fields above it are not added; the root is never a member.
    ///
    /// # Panics
    /// If the path has more than [`MAX_DEPTH`](crate::MAX_DEPTH) elements.
    pub fn insert(&mut self, path: &FieldPath) {
        self.insert_elements(path.elements());
    }

    pub(crate) fn insert_elements(&mut self, elements: &[PathElement]) {
        assert!(elements.len() <= crate::MAX_DEPTH, "a path of {} elements is too long", elements.len());
        let Some((last, above)) = elements.split_last() else { return };
        let mut set = self;
        for element in above {
            set = &mut set.nodes.entry(element.clone()).or_default().below;
        }
        set.nodes.entry(last.clone()).or_default().member = true;
    }

    /// Returns whether the path is in the set.
    pub fn contains(&self, path: &FieldPath) -> bool {
        let Some((last, above)) = path.elements().split_last() else { return false };
        let mut set = self;
        for element in above {
            match set.nodes.get(element) {
                Some(node) => set = &node.below,
                None => return false,
            }
        }
        set.has(last)
    }

    /// Returns whether the path with this one element is in the set.
    pub(crate) fn has(&self, element: &PathElement) -> bool {
        self.nodes.get(element).is_some_and(|node| node.member)
    }

    /// Returns the paths that begin with the element, without it.
    pub(crate) fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.nodes.get(element).map(|node| &node.below).filter(|below| !below.is_empty())
    }

    /// Returns each first element of a path, whether it is a member, and what is below it.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.nodes.iter().map(|(element, node)| (element, node.member, &node.below))
    }

    /// Adds an element with its membership and what is below it.
    pub(crate) fn add_node(&mut self, element: PathElement, member: bool, below: FieldSet) {
        if member || !below.is_empty() {
            let node = self.nodes.entry(element).or_default();
            node.member |= member;
            node.below.extend_from(below);
        }
    }

    /// Returns the paths that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.extend_from(other.clone());
        union
    }

    /// Adds the paths of another set.
    pub(crate) fn extend_from(&mut self, other: Self) {
        if self.nodes.is_empty() {
            self.nodes = other.nodes;
            return;
        }
        for (element, node) in other.nodes {
            let mine = self.nodes.entry(element).or_default();
            mine.member |= node.member;
            mine.below.extend_from(node.below);
        }
    }

    /// Returns the paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.filter_nodes(|element, node| {
            let other = other.nodes.get(element)?;
            Some(Node { member: node.member && other.member, below: node.below.intersection(&other.below) })
        })
    }

    /// Returns the paths that are in this set but not in the other one.
    ///
    /// A field that the other set contains stays if only fields below it are in this set:
    /// [`difference_below`](Self::difference_below) removes those, too.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.subtract(other);
        difference
    }

    /// Returns the paths of this set that neither are in the other set nor lie below a path of it.
    #[must_use]
    pub fn difference_below(&self, other: &Self) -> Self {
        let mut difference = self.clone();
        difference.subtract_below(other);
        difference
    }

    /// Removes the paths that are in the other set: [`difference`](Self::difference) in place.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.retain_nodes(other, |node, other| {
            node.member &= !other.member;
            node.below.subtract(&other.below);
        });
    }

    /// Removes the paths that are in the other set or lie below a path of it:
    /// [`difference_below`](Self::difference_below) in place.
    pub(crate) fn subtract_below(&mut self, other: &Self) {
        self.retain_nodes(other, |node, other| match other.member {
            true => *node = Node::default(),
            false => node.below.subtract_below(&other.below),
        });
    }

    /// Changes the nodes that the other set has too, and removes those that are empty then.
    fn retain_nodes(&mut self, other: &Self, change: impl Fn(&mut Node, &Node)) {
        for (element, other) in &other.nodes {
            if let Some(node) = self.nodes.get_mut(element) {
                change(node, other);
                if node.is_empty() {
                    self.nodes.remove(element);
                }
            }
        }
    }

    /// Returns the paths of the set that have no other path of the set below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        self.filter_nodes(|_, node| {
            let below = node.below.leaves();
            Some(Node { member: node.member && below.is_empty(), below })
        })
    }

    /// Keeps what `keep` returns for each node, except nodes without any member.
    fn filter_nodes(&self, keep: impl Fn(&PathElement, &Node) -> Option<Node>) -> Self {
        let nodes = self.nodes.iter().filter_map(|(element, node)| Some((element, keep(element, node)?)));
        let nodes = nodes.filter(|(_, node)| !node.is_empty());
        Self { nodes: nodes.map(|(element, node)| (element.clone(), node)).collect() }
    }

    /// Returns the paths of the set in the order in which the API server lists them: at every level the
    /// members come first, then what is below each element.
    pub fn iter(&self) -> impl Iterator<Item = FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut FieldPath::root(), &mut paths);
        paths.into_iter()
    }

    fn collect(&self, prefix: &mut FieldPath, paths: &mut Vec<FieldPath>) {
        for (element, node) in &self.nodes {
            if node.member {
                let mut path = prefix.clone();
                path.push(element.clone());
                paths.push(path);
            }
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.collect(prefix, paths);
            prefix.pop();
        }
    }
}

impl FromIterator<FieldPath> for FieldSet {
    fn from_iter<I: IntoIterator<Item = FieldPath>>(paths: I) -> Self {
        let mut set = Self::new();
        set.extend(paths);
        set
    }
}

impl Extend<FieldPath> for FieldSet {
    fn extend<I: IntoIterator<Item = FieldPath>>(&mut self, paths: I) {
        for path in paths {
            self.insert(&path);
        }
    }
}

impl fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|path| path.to_string())).finish()
    }
}

/// Prints one path per line.
impl fmt::Display for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            path.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
