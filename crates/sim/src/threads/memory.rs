//! Memory that cores share. A memory node, and a cluster's way to memory, carry only so many bytes in a nanosecond. Where the threads
//! that run want more, every byte waits, for so long that they get what can be carried: code that alone takes `t` ns and `b` bytes an
//! instruction takes `t + b w` where a byte waits for `w` ns. All who use the same way wait alike (assumed: controllers are fair).

use evenkeel_model::{Behaviour, CoreId, CoreSet, Machine};

/// Waits that differ by less, in ns a byte, are the same.
const SAME: f64 = 1e-9;
/// After so many rounds the waits of nodes whose memory the same threads use are taken as they are (assumed: they settle in fewer).
const ROUNDS: u32 = 64;

/// What the thread of a core wants of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Want {
    /// Bytes an instruction; above 0.
    pub bytes: f64,
    /// Nanoseconds an instruction, if no byte waits.
    pub alone: f64,
    /// The node that has its memory; `None`: all nodes alike.
    pub home: Option<u8>,
}

/// Where bytes pass that can be too many.
#[derive(Clone, Debug)]
struct Way {
    /// Bytes a nanosecond.
    carries: f64,
    of: Of,
    /// Nanoseconds that a byte waits.
    wait: f64,
}

#[derive(Clone, Copy, Debug)]
enum Of {
    /// The cores of a cluster, wherever their memory is.
    Cluster(CoreSet),
    /// A memory node, whichever cores use it.
    Node(u8),
}

/// The ways to memory of a machine, and who uses them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Those of clusters, as many as `clusters`, before those of nodes.
    ways: Vec<Way>,
    clusters: usize,
    nodes: f64,
    /// By core.
    wants: Vec<Option<Want>>,
    /// By core: nanoseconds that an instruction waits.
    delays: Vec<f64>,
}

impl Ways {
    /// The ways on which this code can be too much for a machine, where it misses a shared cache so many times as often at the worst.
    pub(crate) fn new<'a>(machine: &Machine, code: impl Iterator<Item = &'a Behaviour> + Clone, misses: f64) -> Self {
        let most = |core: CoreId| {
            let kind = machine.cores[core.index()].core_type;
            let at = machine.core_types[kind.index()].max_frequency();
            code.clone().map(|phase| phase.bytes_missing(misses) * machine.rate(kind, at, phase)).fold(0.0, f64::max)
        };
        let wanted = |cores: CoreSet| cores.iter().map(most).sum::<f64>();
        let way = |carries: f64, of, cores| (wanted(cores) > carries).then_some(Way { carries, of, wait: 0.0 });
        let clusters = machine.clusters.iter().filter_map(|cluster| {
            let cores = cluster.cores;
            cluster.memory_gbps.and_then(|carries| way(carries, Of::Cluster(cores), cores))
        });
        let mut nodes: Vec<u8> = machine.clusters.iter().map(|cluster| cluster.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let of_nodes = nodes
            .iter()
            .filter_map(|node| machine.memory_gbps.and_then(|carries| way(carries, Of::Node(*node), machine.all())));
        let cores = machine.cores.len();
        let mut ways: Vec<Way> = clusters.collect();
        let clusters = ways.len();
        ways.extend(of_nodes);
        Self { ways, clusters, nodes: nodes.len() as f64, wants: vec![None; cores], delays: vec![0.0; cores] }
    }

    /// Whether anything can ever be too much.
    pub(crate) fn limited(&self) -> bool {
        !self.ways.is_empty()
    }

    /// How fast a core runs code that is this fast if no byte waits, in instructions a nanosecond.
    pub(crate) fn rate(&self, core: CoreId, alone: f64) -> f64 {
        match self.delays[core.index()] {
            0.0 => alone,
            delay => 1.0 / (1.0 / alone + delay),
        }
    }

    /// For how long each instruction waits, in ns.
    pub(crate) fn delay(&self, core: CoreId) -> f64 {
        self.delays[core.index()]
    }

    /// What a core's thread wants from now on. Returns whether [`Self::share`] is to be called, before which other cores go on as they did.
    pub(crate) fn want(&mut self, core: CoreId, want: Option<Want>) -> bool {
        if std::mem::replace(&mut self.wants[core.index()], want) == want {
            return false;
        }
        self.ways.iter().any(|way| way.wait > 0.0 || self.carried(way, 0.0).0 > way.carries)
    }

    /// Has bytes wait for as long as they must.
    pub(crate) fn share(&mut self) {
        self.share_clusters();
        for _ in 0..ROUNDS {
            let before: f64 = self.ways[self.clusters..].iter().map(|node| node.wait).sum();
            (self.clusters..self.ways.len()).for_each(|node| self.share_node(node));
            let after: f64 = self.ways[self.clusters..].iter().map(|node| node.wait).sum();
            if (after - before).abs() <= SAME {
                break;
            }
        }
        for core in 0..self.delays.len() {
            let waits = |want: Want| want.bytes * self.wait(CoreId(core as u16), &want);
            self.delays[core] = self.wants[core].map_or(0.0, waits);
        }
    }

    /// The waits of all clusters' ways, if those of nodes stay. No two have a core in common.
    fn share_clusters(&mut self) {
        for index in 0..self.clusters {
            self.ways[index].wait = self.least(index);
        }
    }

    /// The wait of a node, if those of the others stay: the longer it is, the shorter are those of clusters.
    fn share_node(&mut self, node: usize) {
        self.ways[node].wait = 0.0;
        self.share_clusters();
        let most = self.least(node);
        if most == 0.0 || self.ways[..self.clusters].iter().all(|way| way.wait == 0.0) {
            self.ways[node].wait = most;
            return;
        }
        // Clusters that need not wait any more leave more to carry: that bounds it.
        self.ways[..self.clusters].iter_mut().for_each(|way| way.wait = 0.0);
        let (mut short, mut long) = (0.0, self.least(node));
        while long - short > SAME {
            self.ways[node].wait = f64::midpoint(short, long);
            self.share_clusters();
            let way = &self.ways[node];
            if self.carried(way, 0.0).0 > way.carries {
                short = way.wait;
            } else {
                long = way.wait;
            }
        }
        self.ways[node].wait = long;
        self.share_clusters();
    }

    /// The part of a thread's bytes that pass there.
    fn part(&self, way: &Way, core: CoreId, want: &Want) -> f64 {
        match (way.of, want.home) {
            (Of::Cluster(cores), _) => f64::from(u8::from(cores.contains(core))),
            (Of::Node(node), Some(home)) => f64::from(u8::from(node == home)),
            (Of::Node(_), None) => 1.0 / self.nodes,
        }
    }

    /// For how long a byte of a thread waits, on all its ways.
    fn wait(&self, core: CoreId, want: &Want) -> f64 {
        self.ways.iter().map(|way| self.part(way, core, want) * way.wait).sum()
    }

    /// The bytes a nanosecond that pass on a way, if each waits so much longer there than it does, and how that changes with the wait.
    fn carried(&self, way: &Way, longer: f64) -> (f64, f64) {
        let wants = (0..).map(CoreId).zip(&self.wants).filter_map(|(core, want)| Some((core, (*want)?)));
        wants.fold((0.0, 0.0), |(bytes, slope), (core, want)| {
            let part = self.part(way, core, &want);
            let each = 1.0 / (want.alone / want.bytes + self.wait(core, &want) + part * longer);
            (bytes + part * each, slope - part * part * each * each)
        })
    }

    /// The shortest wait on a way with which it is not too much, if all others stay: by Newton's method, which comes to it from below
    /// since ever longer waits help ever less.
    fn least(&self, index: usize) -> f64 {
        let way = &self.ways[index];
        let mut longer = -way.wait;
        for _ in 0..ROUNDS {
            let (bytes, slope) = self.carried(way, longer);
            let step = (way.carries - bytes) / slope;
            if bytes <= way.carries || step <= SAME {
                break;
            }
            longer += step;
        }
        way.wait + longer
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::machines;
    use evenkeel_workload::suite;
    use proptest::prelude::*;

    use super::*;

    const STREAM: Behaviour = Behaviour { memory_bytes: Some(8000.0), ..Behaviour::REFERENCE };

    /// The ways of 2B2S, where a node carries so much, and its little cluster.
    fn ways(node: f64, little: Option<f64>) -> Ways {
        let mut machine = machines::by_name("2B2S").unwrap();
        (machine.memory_gbps, machine.clusters[1].memory_gbps) = (Some(node), little);
        Ways::new(&machine, [STREAM].iter(), 1.0)
    }

    fn want(bytes: f64, alone: f64) -> Option<Want> {
        Some(Want { bytes, alone, home: Some(0) })
    }

    fn rates(ways: &Ways) -> Vec<f64> {
        let rate =
            |(core, want): (u16, &Option<Want>)| want.map_or(0.0, |want| ways.rate(CoreId(core), 1.0 / want.alone));
        (0..).zip(&ways.wants).map(rate).collect()
    }

    #[test]
    fn what_can_never_be_too_much_is_not_looked_at() {
        assert!(!ways(1e6, Some(1e6)).limited());
        assert!(ways(1.0, None).limited());
        let machine = machines::by_name("2B2S").unwrap();
        assert!(!Ways::new(&machine, [Behaviour::REFERENCE].iter(), 1.0).limited());
    }

    #[test]
    fn only_misses_can_become_too_many() {
        let misses = Behaviour { memory_ns: 1000.0, ..Behaviour::REFERENCE };
        let mut machine = machines::by_name("2B2S").unwrap();
        for (code, limited) in [(STREAM, false), (misses, true)] {
            machine.memory_gbps = Some(1.01 * code.bytes() * machine.throughput(&code));
            assert!(!Ways::new(&machine, [code].iter(), 1.0).limited(), "{code:?}");
            assert_eq!(Ways::new(&machine, [code].iter(), 2.0).limited(), limited, "{code:?}");
        }
    }

    /// Why no published number depends on `memory_gbps`: docs/reproductions.md says so.
    #[test]
    fn the_papers_programs_never_want_more_than_their_machines_carry() {
        let papers =
            [("2B2S", ""), ("4B4S", ""), ("odroid-xu3", "odroid"), ("phenom-6B", "dacapo"), ("x5560-4B", "spec2006")];
        for (machine, from) in papers {
            let machine = machines::by_name(machine).unwrap();
            let phases: Vec<Behaviour> = suite::programs()
                .filter(|program| program.suite.starts_with(from))
                .flat_map(|program| suite::program(program.name, None).unwrap().phases)
                .map(|phase| phase.behaviour)
                .collect();
            let ways = Ways::new(&machine, phases.iter(), 1.0);
            assert!(!phases.is_empty() && !ways.limited(), "{} {from}", machine.name);
        }
    }

    #[test]
    fn equal_streams_share_alike_and_compute_bound_code_hardly_waits() {
        let mut ways = ways(4.0, None);
        assert!(!ways.want(CoreId(0), want(8.0, 2.0)), "4 bytes a nanosecond are not too much");
        assert_eq!(ways.delay(CoreId(0)), 0.0);
        assert!(ways.want(CoreId(1), want(8.0, 2.0)));
        ways.share();
        assert!(rates(&ways)[..2].iter().all(|rate| (rate - 0.25).abs() < 1e-6), "{:?}", rates(&ways));
        assert!(ways.want(CoreId(2), want(0.01, 1.0)));
        ways.share();
        assert!(rates(&ways)[2] > 0.99, "{:?}", rates(&ways));
        assert!(ways.want(CoreId(1), None));
        ways.share();
        assert!((rates(&ways)[0] - 0.5).abs() < 1e-2 && ways.delay(CoreId(1)) == 0.0, "{:?}", rates(&ways));
    }

    proptest! {
        /// No way carries more than it can, and none has bytes wait that could carry more.
        #[test]
        fn nothing_waits_in_vain_and_nothing_is_too_much(
            node in 0.5..20.0f64,
            little in 0.5..20.0f64,
            code in prop::collection::vec(prop::option::of((0.001..8.0f64, 0.1..5.0f64)), 4),
        ) {
            let mut ways = ways(node, Some(little));
            for (core, code) in (0..).zip(code) {
                if ways.want(CoreId(core), code.and_then(|(bytes, alone)| want(bytes, alone))) {
                    ways.share();
                }
            }
            for way in &ways.ways {
                let (bytes, _) = ways.carried(way, 0.0);
                prop_assert!(bytes <= way.carries * (1.0 + 1e-6), "{ways:?}");
                prop_assert!(way.wait == 0.0 || bytes >= way.carries * (1.0 - 1e-6), "{ways:?}");
            }
        }
    }
}
