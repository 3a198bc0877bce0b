//! The devicetree that a kernel was started with, as sysfs has it: a folder for each node, a file for each property, which any user may
//! read. A CPU's node is `of_node` in its folder.

use evenkeel_model::Hz;

use crate::power::{CpuPowers, OppNode};
use crate::sysfs::Tree;

const BASE: &str = "sys/firmware/devicetree/base";
/// Tables of operating points are below these nodes.
const PARENTS: [&str; 3] = ["", "/cpus", "/soc"];
/// More nodes than any of these has.
const MOST: usize = 4096;

/// The powers of CPUs; none of those that nothing says it of.
pub(crate) fn powers(tree: &Tree<'_>, ids: &[u16]) -> Vec<CpuPowers> {
    let property = |id: &u16, name: &str| cell(tree, &Tree::cpu_file(*id, &format!("of_node/{name}")));
    let node = |id: &u16| CpuNode {
        table: property(id, "operating-points-v2"),
        coefficient: property(id, "dynamic-power-coefficient"),
    };
    let nodes: Vec<CpuNode> = ids.iter().map(node).collect();
    let tables = tables(tree, &nodes);
    let of = |node: &CpuNode| {
        let table = tables.iter().find(|(handle, _)| Some(*handle) == node.table);
        let coefficient = node.shared_coefficient(&nodes);
        table.iter().flat_map(|(_, points)| points).filter_map(|point| point.power(coefficient)).collect()
    };
    nodes.iter().map(of).collect()
}

/// The tables that CPUs point to: their handles and points.
fn tables(tree: &Tree<'_>, nodes: &[CpuNode]) -> Vec<(u32, Vec<OppNode>)> {
    let mut tables = Vec::new();
    if nodes.iter().all(|node| node.table.is_none()) {
        return tables;
    }
    for parent in PARENTS {
        for name in tree.names(&format!("{BASE}{parent}")).into_iter().take(MOST) {
            let folder = format!("{BASE}{parent}/{name}");
            let handle = cell(tree, &format!("{folder}/phandle"));
            let handle = handle.filter(|handle| nodes.iter().any(|node| node.table == Some(*handle)));
            tables.extend(handle.map(|handle| (handle, points(tree, &folder))));
        }
    }
    tables
}

/// The points of a table that are not disabled.
fn points(tree: &Tree<'_>, folder: &str) -> Vec<OppNode> {
    let point = |name: &String| {
        let file = |property: &str| format!("{folder}/{name}/{property}");
        let status = tree.bytes(&file("status"));
        if status.is_some_and(|status| !status.starts_with(b"ok")) {
            return None;
        }
        let hz = tree.bytes(&file("opp-hz"))?;
        Some(OppNode {
            frequency: Hz(u64::from_be_bytes(*hz.first_chunk()?)),
            microvolts: cell(tree, &file("opp-microvolt")),
            microwatts: cell(tree, &file("opp-microwatt")),
        })
    };
    tree.names(folder).iter().take(MOST).filter_map(point).collect()
}

/// What a CPU's node says of its power.
#[derive(Clone, Copy)]
pub(crate) struct CpuNode {
    /// The handle of its table of operating points.
    pub table: Option<u32>,
    /// In uW/MHz/V^2.
    pub coefficient: Option<u32>,
}

impl CpuNode {
    /// Its coefficient, or that of another CPU with the same table: CPUs that share a clock need it only once, since Linux makes one Energy Model for
    /// them all.
    pub fn shared_coefficient(&self, all: &[CpuNode]) -> Option<u32> {
        let same = |other: &&CpuNode| self.table.is_some() && other.table == self.table;
        self.coefficient.or_else(|| all.iter().filter(same).find_map(|other| other.coefficient))
    }
}

/// The first cell of a property.
fn cell(tree: &Tree<'_>, file: &str) -> Option<u32> {
    tree.bytes(file)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
