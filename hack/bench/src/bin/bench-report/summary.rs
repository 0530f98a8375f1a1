//! The figures of all runs, by work, measure and peer.

use std::collections::BTreeMap;

use genclient_bench::{Result, measure::Run};

/// The sides, ours first. A side that was measured in several forms is there with each.
pub(crate) const PEERS: [&str; 6] = [
    "genclient",
    "kube-rs",
    "kube-rs, one thread",
    "client-go",
    "client-go, managedFields",
    "kube-apiserver",
];

/// The forms in which a side was measured.
pub(crate) fn forms(peer: &str) -> &'static [&'static str] {
    match peer {
        "genclient" => &PEERS[..1],
        "kube-rs" => &PEERS[1..3],
        "client-go" => &PEERS[3..5],
        _ => &PEERS[5..],
    }
}

/// The figures of one measure of one peer, in order of size; never empty.
pub(crate) struct Figures(Vec<f64>);

impl Figures {
    pub(crate) fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len().is_multiple_of(2) {
            (self.0[middle - 1] + self.0[middle]) / 2.0
        } else {
            self.0[middle]
        }
    }

    pub(crate) fn least(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// The figures of all runs.
pub(crate) struct Summary {
    /// In the order in which they were done.
    works: Vec<String>,
    figures: BTreeMap<(String, String, String), Figures>,
}

impl Summary {
    /// Reads runs, one line of JSON each.
    pub(crate) fn read(lines: &str) -> Result<Self> {
        let mut summary = Self { works: Vec::new(), figures: BTreeMap::new() };
        for line in lines.lines() {
            let run: Run = serde_json::from_str(line)?;
            if !summary.works.contains(&run.work) {
                summary.works.push(run.work.clone());
            }
            for (measure, value) in run.measures {
                let key = (run.work.clone(), run.peer.clone(), measure);
                summary.figures.entry(key).or_insert(Figures(Vec::new())).0.push(value);
            }
        }
        summary.figures.values_mut().for_each(|figures| figures.0.sort_by(f64::total_cmp));
        Ok(summary)
    }

    pub(crate) fn works(&self) -> impl Iterator<Item = &str> {
        self.works.iter().map(String::as_str)
    }

    pub(crate) fn has(&self, work: &str, peer: &str) -> bool {
        self.figures.keys().any(|(other, of, _)| other == work && of == peer)
    }

    /// What was measured of a work, by us or by anyone.
    pub(crate) fn measures<'a>(&'a self, work: &'a str) -> impl Iterator<Item = &'a str> {
        let mut measures: Vec<_> = self
            .figures
            .keys()
            .filter(|(other, ..)| other == work)
            .map(|(.., measure)| measure.as_str())
            .collect();
        measures.sort_unstable();
        measures.dedup();
        measures.into_iter()
    }

    pub(crate) fn get(&self, work: &str, peer: &str, measure: &str) -> Option<&Figures> {
        self.figures.get(&(work.to_owned(), peer.to_owned(), measure.to_owned()))
    }

    /// Our median over that of a peer.
    pub(crate) fn ratio(&self, work: &str, measure: &str, peer: &str) -> Option<f64> {
        let ours = self.get(work, PEERS[0], measure)?.median();
        let theirs = self.get(work, peer, measure)?.median();
        (theirs > 0.0).then(|| ours / theirs)
    }

    /// The median of a peer, in the form in which it is lowest.
    pub(crate) fn best(&self, work: &str, measure: &str, peer: &str) -> Option<f64> {
        let medians = forms(peer).iter().filter_map(|form| Some(self.get(work, form, measure)?.median()));
        medians.reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_ratio_are_of_the_right_runs() {
        let line = |peer, value| format!(r#"{{"peer":"{peer}","work":"w","measures":{{"m":{value}}}}}"#);
        let lines = [line("genclient", 3), line("genclient", 1), line("kube-rs", 10), line("genclient", 2)];
        let summary = Summary::read(&lines.join("\n")).unwrap();
        assert_eq!(summary.ratio("w", "m", "kube-rs"), Some(0.2));
        assert_eq!(summary.ratio("w", "m", "client-go"), None);
        assert_eq!(summary.get("w", "genclient", "m").map(Figures::most), Some(3.0));
    }

    #[test]
    fn a_peer_is_taken_in_its_best_form() {
        let line = |peer, value| format!(r#"{{"peer":"{peer}","work":"w","measures":{{"m":{value}}}}}"#);
        let lines = [line("genclient", 3), line("kube-rs", 10), line("kube-rs, one thread", 6)];
        let summary = Summary::read(&lines.join("\n")).unwrap();
        assert_eq!(summary.best("w", "m", "kube-rs"), Some(6.0));
    }
}
