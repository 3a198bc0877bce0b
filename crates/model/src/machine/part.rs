//! A machine with some of its cores switched off, as in `odroid-xu3:2+2`.

use super::{Cluster, Core, Machine, renumbered};
use crate::{ClusterId, CoreId, CoreSet, CoreTypeId};

impl Machine {
    /// The same machine with only the first so many cores of its fastest type and of all others. The rest are off and use
    /// no energy. Cores keep their order; hardware threads count as cores.
    ///
    /// # Errors
    /// No core is left, or the machine does not have so many.
    pub fn with_cores(&self, big: usize, little: usize) -> Result<Self, String> {
        let (bigs, littles) = (self.big(), self.little());
        if big + little == 0 || big > bigs.len() || little > littles.len() {
            let name = &self.name;
            return Err(format!(
                "{name} has {} big and {} little cores, of which some must stay",
                bigs.len(),
                littles.len()
            ));
        }
        let on = bigs.iter().take(big).chain(littles.iter().take(little)).collect();
        Ok(Self {
            name: format!("{}:{big}+{little}", self.name),
            description: format!("{} with {big} big and {little} little cores", self.name),
            ..self.within(on)
        })
    }

    /// The same machine with only these cores, of which there must be one. They keep their order.
    #[must_use]
    pub fn within(&self, on: CoreSet) -> Self {
        let kept = || on.iter().map(|core| self.cores[core.index()]);
        let types = distinct(kept().map(|core| u16::from(core.core_type.0)));
        let clusters = distinct(kept().map(|core| core.cluster.0));
        let core_type = |old: CoreTypeId| CoreTypeId(position(&types, old.0.into()) as u8);
        let core = |old: Core| Core {
            core_type: core_type(old.core_type),
            cluster: ClusterId(position(&clusters, old.cluster.0)),
        };
        let cores: Vec<Core> = kept().map(core).collect();
        let cluster = |(id, old): (usize, &u16)| {
            let old = &self.clusters[usize::from(*old)];
            let ids = (0..cores.len() as u16).map(CoreId);
            Cluster {
                core_type: core_type(old.core_type),
                cores: ids.filter(|core| cores[core.index()].cluster.index() == id).collect(),
                ..old.clone()
            }
        };
        let staying: Vec<CoreId> = on.iter().collect();
        let siblings = self.siblings.iter().map(|threads| renumbered(threads, &staying));
        Self {
            name: self.name.clone(),
            description: self.description.clone(),
            core_types: types.iter().map(|id| self.core_types[usize::from(*id)].clone()).collect(),
            clusters: clusters.iter().enumerate().map(cluster).collect(),
            siblings: siblings.filter(|threads| threads.len() > 1).collect(),
            memory_gbps: self.memory_gbps,
            costs: self.costs,
            cores,
        }
    }
}

/// The different ones, ascending.
fn distinct(ids: impl Iterator<Item = u16>) -> Vec<u16> {
    let mut ids: Vec<u16> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Where one of those kept is among them.
fn position(kept: &[u16], id: u16) -> u16 {
    kept.partition_point(|other| *other < id) as u16
}

#[cfg(test)]
mod tests {
    use crate::machine::Opp;
    use crate::{CoreId, CoreSet, CoreTypeId, Hz, Volts, machines};

    #[test]
    fn the_cores_that_are_left_keep_their_kinds_and_order() {
        let odroid = machines::by_name("odroid-xu3").unwrap();
        let part = odroid.with_cores(1, 2).unwrap();
        assert_eq!((part.name.as_str(), part.cores.len()), ("odroid-xu3:1+2", 3));
        let names = [0, 1, 2].map(|core| part.core_type(CoreId(core)).name.as_str());
        assert_eq!(names, ["cortex-a7", "cortex-a7", "cortex-a15"], "little first, as in the file");
        assert_eq!((part.big().len(), part.clusters.len(), part.clusters[1].cores.len()), (1, 2, 1));
        assert_eq!(part.capacity(CoreTypeId(1)), odroid.capacity(CoreTypeId(1)));
        // However slow a core is, it can be divided by.
        let mut slow = part;
        slow.core_types[1].opps = vec![Opp { frequency: Hz(1000), voltage: Volts(1.0) }];
        assert_eq!(slow.capacity(CoreTypeId(1)), 1);
    }

    #[test]
    fn hardware_threads_that_lose_their_siblings_have_a_core_alone() {
        let all = machines::by_name("i9-13900k-ht").unwrap();
        let staying = [0, 2, 3].map(CoreId);
        let part = all.within(staying.into_iter().collect());
        assert_eq!((part.cores.len(), &part.name, part.clusters.len()), (3, &all.name, 1));
        assert_eq!(all.siblings(CoreId(2)), [2, 3].map(CoreId).into_iter().collect(), "of the whole");
        assert_eq!(part.siblings, [[1, 2].map(CoreId).into_iter().collect::<CoreSet>()]);
    }

    #[test]
    fn one_kind_alone_is_a_symmetric_machine() {
        let odroid = machines::by_name("odroid-xu3").unwrap();
        for (big, little, name) in [(4, 0, "cortex-a15"), (0, 4, "cortex-a7")] {
            let part = odroid.with_cores(big, little).unwrap();
            assert_eq!((part.core_types.len(), part.clusters.len(), part.cores.len()), (1, 1, 4));
            assert_eq!((part.core_types[0].name.as_str(), part.little().is_empty()), (name, true));
        }
    }

    #[test]
    fn a_machine_has_no_more_than_it_has() {
        let odroid = machines::by_name("odroid-xu3").unwrap();
        assert_eq!(odroid.with_cores(4, 4).map(|all| all.cores), Ok(odroid.cores.clone()));
        for (big, little) in [(5, 0), (0, 5), (0, 0)] {
            assert!(odroid.with_cores(big, little).unwrap_err().starts_with("odroid-xu3 has 4 big and 4 little cores"));
        }
    }
}
