//! Which threads waited for which, as a graph: threads stand in a circle, and an arrow leads from one to the one that it waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

use evenkeel_model::Ns;
use maud::{Markup, PreEscaped, html};

use super::groups::{Groups, kind, unnumbered};
use super::svg::{Drawing, NARROW, at, shortened, width_of};

const HEIGHT: f64 = 300.0;
const CENTRE: (f64, f64) = (170.0, 150.0);
const RADII: (f64, f64) = (88.0, 118.0);
/// More nodes than this are not told apart: threads with the same name but for its numbers are one then.
const NODES: usize = 14;
/// Not more arrows than this, the longest waits first.
const ARROWS: usize = 40;
/// How wide the arrow of the longest waits is.
const WIDEST: f64 = 7.0;
/// The widest that a label may be.
const LABEL: f64 = 80.0;

/// A thread that may have waited.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// Its program.
    pub program: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// What a thread waited for another, all times together. Both are positions in the list of threads.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// The thread that waited.
    pub waiter: usize,
    /// The one that ended that.
    pub waker: usize,
    /// For how long.
    pub total: Ns,
    /// How many times.
    pub times: u64,
}

/// A thread, or several of a kind.
struct Node {
    name: String,
    group: usize,
    threads: usize,
    /// For how long others waited for it.
    blame: Ns,
}

/// What the figure shows.
struct Graph {
    nodes: Vec<Node>,
    arrows: Vec<Waited>,
    left_out: usize,
}

/// The figure; nothing if no thread waited for another. `id` is its own on the page. Threads have the colours that they have in the timeline
/// of the same threads, whose programs have these ([`Drawn::colours`](super::Drawn::colours)).
pub fn graph(id: &str, threads: &[Thread<'_>], waits: &[Waited], colours: &[usize]) -> Markup {
    let Graph { nodes, arrows, left_out } = Graph::of(threads, waits);
    let Some(longest) = arrows.first().map(|arrow| arrow.total.0.max(1)) else { return html! {} };
    let most = nodes.iter().map(|node| node.blame.0).max().unwrap_or(1).max(1);
    let colour = |node: &Node| colours.get(node.group % colours.len().max(1)).copied().unwrap_or(0);
    let content = html! {
        @for arrow in arrows.iter().rev() {
            @let width = WIDEST * libm::sqrt(arrow.total.0 as f64 / longest as f64);
            @let colour = colour(&nodes[arrow.waker]);
            path class={ "wait s" (colour) } data-waiter=(arrow.waiter) data-waker=(arrow.waker)
                d=(PreEscaped(curve(arrow, nodes.len()))) stroke-width=(at(width.max(0.6))) {
                title { (sentence(&nodes, arrow)) }
            }
            path class={ "tip f" (colour) } data-waiter=(arrow.waiter) data-waker=(arrow.waker)
                d=(PreEscaped(tip(arrow, nodes.len(), width))) {}
        }
        @for (index, node) in nodes.iter().enumerate() {
            @let (x, y) = place(index, nodes.len(), 1.0);
            @let (tx, ty) = place(index, nodes.len(), 1.16);
            @let radius = 3.0 + 7.0 * libm::sqrt(node.blame.0 as f64 / most as f64);
            g tabindex="0" role="img" data-node=(index) aria-label=(described(node)) {
                circle class={ "f" (colour(node)) } cx=(at(x)) cy=(at(y)) r=(at(radius)) {}
                text text-anchor=(side(tx)) x=(at(tx)) y=(at(ty + 4.0)) { (label(node, tx)) }
                title { (described(node)) }
            }
        }
    };
    let caption = html! {
        "An arrow leads from who waited to whom it waited for, the wider the longer; a dot is the larger, the longer others waited for it. "
        "Point at one to see its own arrows."
        @if left_out > 0 { " " (left_out) " more arrows, of shorter waits, are left out." }
    };
    let spoken = "Which threads waited for which";
    html! {
        (Drawing { id, width: NARROW, height: HEIGHT, spoken, caption, content }.of_parts())
        (numbers(&nodes, &arrows))
    }
}

/// What the arrows say, to be read.
fn numbers(nodes: &[Node], arrows: &[Waited]) -> Markup {
    html! {
        details {
            summary { "Waits in numbers" }
            div.scroll {
                table.rows {
                    tr { th { "waited" } th { "for" } th.n { "in all" } th.n { "times" } }
                    @for arrow in arrows {
                        tr {
                            td { (nodes[arrow.waiter].name) } td { (nodes[arrow.waker].name) }
                            td.n { (arrow.total) } td.n { (arrow.times) }
                        }
                    }
                }
            }
        }
    }
}

impl Graph {
    fn of(threads: &[Thread<'_>], waits: &[Waited]) -> Self {
        let groups = Groups::of(threads.iter().map(|thread| (thread.program, thread.name))).of;
        let shown: BTreeSet<usize> = waits.iter().flat_map(|wait| [wait.waiter, wait.waker]).collect();
        let by_kind = shown.len() > NODES;
        let mut known: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut nodes: Vec<Node> = Vec::new();
        let mut node_of: BTreeMap<usize, usize> = BTreeMap::new();
        for index in shown {
            let (name, group, new) = (threads[index].name, groups[index], nodes.len());
            let at = if by_kind { *known.entry((group, kind(name))).or_insert(new) } else { new };
            let called = if by_kind { unnumbered(name) } else { name };
            if at == new {
                nodes.push(Node { name: called.to_owned(), group, threads: 0, blame: Ns::ZERO });
            } else if nodes[at].name != called {
                nodes[at].name = kind(name).to_owned();
            }
            nodes[at].threads += 1;
            node_of.insert(index, at);
        }
        let mut weight = vec![Ns::ZERO; nodes.len()];
        for wait in waits {
            weight[node_of[&wait.waiter]] += wait.total;
            weight[node_of[&wait.waker]] += wait.total;
        }
        let place = few(&mut nodes, &weight);
        let mut sums: BTreeMap<(usize, usize), (Ns, u64)> = BTreeMap::new();
        for wait in waits {
            let (waiter, waker) = (place[node_of[&wait.waiter]], place[node_of[&wait.waker]]);
            nodes[waker].blame += wait.total;
            let sum = sums.entry((waiter, waker)).or_default();
            *sum = (sum.0 + wait.total, sum.1 + wait.times);
        }
        let mut arrows: Vec<Waited> =
            sums.into_iter().map(|((waiter, waker), (total, times))| Waited { waiter, waker, total, times }).collect();
        arrows.sort_by_key(|arrow| (std::cmp::Reverse(arrow.total), arrow.waiter, arrow.waker));
        let left_out = arrows.len().saturating_sub(ARROWS);
        arrows.truncate(ARROWS);
        Self { nodes, arrows, left_out }
    }
}

/// Leaves those that matter most, and one for all others. Returns where each is now.
fn few(nodes: &mut Vec<Node>, weight: &[Ns]) -> Vec<usize> {
    if nodes.len() <= NODES {
        return (0..nodes.len()).collect();
    }
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|node| (std::cmp::Reverse(weight[*node]), *node));
    let mut kept = order[..NODES - 1].to_vec();
    kept.sort_unstable();
    let place = (0..nodes.len()).map(|node| kept.binary_search(&node).unwrap_or(kept.len())).collect();
    let mut others = Node { name: "others".into(), group: 0, threads: 0, blame: Ns::ZERO };
    let mut at = 0;
    nodes.retain(|node| {
        let keep = kept.binary_search(&at).is_ok();
        others.threads += if keep { 0 } else { node.threads };
        at += 1;
        keep
    });
    nodes.push(others);
    place
}

/// What stands at a place beside a node, and does not leave the drawing.
fn label(node: &Node, x: f64) -> String {
    let room = match side(x) {
        "start" => NARROW - x,
        "end" => x,
        _ => 2.0 * x.min(NARROW - x),
    };
    let count = if node.threads > 1 { format!(" ×{}", node.threads) } else { String::new() };
    format!("{}{count}", shortened(&node.name, room.min(LABEL) - width_of(&count)))
}

fn described(node: &Node) -> String {
    let threads = if node.threads > 1 { format!(" ({} threads)", node.threads) } else { String::new() };
    format!("{}{threads}: others waited {} for it", node.name, node.blame)
}

fn sentence(nodes: &[Node], arrow: &Waited) -> String {
    let (waiter, waker) = (&nodes[arrow.waiter].name, &nodes[arrow.waker].name);
    format!("{waiter} waited {} for {waker}, {} times", arrow.total, arrow.times)
}

/// Where a node stands, or something so many times as far from the centre.
fn place(index: usize, nodes: usize, out: f64) -> (f64, f64) {
    let angle = TAU * index as f64 / nodes as f64 - TAU / 4.0;
    (CENTRE.0 + out * RADII.0 * libm::cos(angle), CENTRE.1 + out * RADII.1 * libm::sin(angle))
}

/// On which side of a place its label stands.
fn side(x: f64) -> &'static str {
    match x - CENTRE.0 {
        off if off.abs() < 8.0 => "middle",
        off if off < 0.0 => "end",
        _ => "start",
    }
}

/// The two points that bend an arrow, and its ends.
fn corners(arrow: &Waited, nodes: usize) -> [(f64, f64); 3] {
    let (from, to) = (place(arrow.waiter, nodes, 0.93), place(arrow.waker, nodes, 0.88));
    // Arrows in both directions between two nodes keep apart.
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let middle = ((from.0 + to.0 + CENTRE.0) / 3.0 - 0.12 * dy, (from.1 + to.1 + CENTRE.1) / 3.0 + 0.12 * dx);
    [from, middle, to]
}

fn curve(arrow: &Waited, nodes: usize) -> String {
    if arrow.waiter == arrow.waker {
        let step = 0.35 / nodes as f64 * 3.0;
        let bend = |index: f64, out: f64| {
            let angle = TAU * (arrow.waiter as f64 / nodes as f64) - TAU / 4.0 + index * step.min(0.25);
            (CENTRE.0 + out * RADII.0 * libm::cos(angle), CENTRE.1 + out * RADII.1 * libm::sin(angle))
        };
        let (from, one, other, to) = (bend(-0.6, 0.93), bend(-1.6, 0.6), bend(1.6, 0.6), bend(0.6, 0.93));
        let [from, one, other, to] = [from, one, other, to].map(|(x, y)| format!("{} {}", at(x), at(y)));
        return format!("M{from}C{one} {other} {to}");
    }
    let [from, middle, to] = corners(arrow, nodes).map(|(x, y)| format!("{} {}", at(x), at(y)));
    format!("M{from}Q{middle} {to}")
}

/// The tip of an arrow, as wide as it needs to be seen.
fn tip(arrow: &Waited, nodes: usize, width: f64) -> String {
    if arrow.waiter == arrow.waker {
        return String::new();
    }
    let [_, middle, to] = corners(arrow, nodes);
    let (dx, dy) = (to.0 - middle.0, to.1 - middle.1);
    let length = libm::hypot(dx, dy).max(1e-9);
    let (dx, dy) = (dx / length, dy / length);
    let (long, wide) = (5.0 + width, 2.5 + 0.6 * width);
    let end = (to.0 + dx * 2.0, to.1 + dy * 2.0);
    let back = (end.0 - dx * long, end.1 - dy * long);
    let [end, left, right] = [end, (back.0 - dy * wide, back.1 + dx * wide), (back.0 + dy * wide, back.1 - dx * wide)]
        .map(|(x, y)| format!("{} {}", at(x), at(y)));
    format!("M{end}L{left}L{right}z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_of_a_kind_are_one_node() {
        // Simulated threads, and real ones, which have a number of their own.
        for number in ["", " 4711"] {
            let names = (0..40).map(|index| format!("worker-{index}{number}")).chain([format!("python3{number}")]);
            let names: Vec<String> = names.collect();
            let threads: Vec<Thread<'_>> = names.iter().map(|name| Thread { program: "app", name }).collect();
            let wait = |waiter: usize, waker: usize| Waited { waiter, waker, total: Ns::from_ms(2), times: 3 };
            let waits: Vec<Waited> = (0..40).map(|worker| wait(40, worker)).chain([wait(1, 2)]).collect();
            let graph = Graph::of(&threads, &waits);
            let nodes: Vec<(&str, usize)> = graph.nodes.iter().map(|node| (node.name.as_str(), node.threads)).collect();
            assert_eq!(nodes, [("worker", 40), ("python3", 1)]);
            let arrows: Vec<(usize, usize, u64)> =
                graph.arrows.iter().map(|a| (a.waiter, a.waker, a.total.0)).collect();
            assert_eq!(arrows, [(1, 0, 80_000_000), (0, 0, 2_000_000)]);
        }
    }

    #[test]
    fn of_many_kinds_those_that_matter_stay() {
        let names: Vec<String> = (0..26u8).map(|index| char::from(b'a' + index).to_string()).collect();
        let threads: Vec<Thread<'_>> = names.iter().map(|name| Thread { program: "app", name }).collect();
        let waits: Vec<Waited> =
            (1..26).map(|waiter| Waited { waiter, waker: 0, total: Ns::from_ms(waiter as u64), times: 1 }).collect();
        let graph = Graph::of(&threads, &waits);
        let nodes: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(nodes, ["a", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "others"]);
        assert_eq!((graph.nodes[0].blame, graph.nodes[13].threads), (Ns::from_ms(25 * 26 / 2), 13));
        assert_eq!(graph.arrows[0].total, Ns::from_ms(13 * 14 / 2), "all others together");
    }

    #[test]
    fn threads_have_the_colours_of_the_timeline() {
        let waits = [Waited { waiter: 1, waker: 2, total: Ns::from_ms(1), times: 1 }];
        let drawn = |programs: [&str; 3], colours: &[usize]| {
            let threads = programs.iter().zip(["a", "b", "c"]).map(|(program, name)| Thread { program, name });
            let figure = graph("waits", &threads.collect::<Vec<_>>(), &waits, colours).into_string();
            let circles = figure.split("<circle class=\"f").skip(1);
            circles.filter_map(|circle| circle.chars().next()).collect::<String>()
        };
        // Its first program is there, though none of its threads waited.
        assert_eq!(drawn(["one", "other", "other"], &[2, 3]), "33");
        assert_eq!(drawn(["one", "one", "one"], &[7, 4, 6]), "46", "threads of one program, as there");
    }

    #[test]
    fn names_do_not_leave_the_drawing() {
        let kinds = ["north", "east", "south", "west"];
        let names: Vec<String> =
            (0..64).map(|index| format!("a-long-name-in-the-{}-{index}", kinds[index % 4])).collect();
        let threads: Vec<Thread<'_>> = names.iter().map(|name| Thread { program: "app", name }).collect();
        for (count, suffix) in [(4, "-0"), (64, " ×16")] {
            let wait = |waiter: usize| Waited { waiter, waker: (waiter + 1) % count, total: Ns::from_ms(1), times: 1 };
            let waits: Vec<Waited> = (0..count).map(wait).collect();
            let figure = graph("waits", &threads, &waits, &[0]).into_string();
            let labels: Vec<&str> = figure.split("<text ").skip(1).collect();
            assert_eq!(labels.len(), 4, "{figure}");
            assert!(figure.contains(&format!("{suffix}</text>")), "{figure}");
            for text in labels {
                let [_, side, _, x, _, _, rest, ..] = text.split('"').collect::<Vec<_>>()[..] else { panic!("{text}") };
                let label = rest.trim_start_matches('>').split('<').next().unwrap();
                let (x, width): (f64, f64) = (x.parse().unwrap(), width_of(label));
                let from = match side {
                    "start" => x,
                    "end" => x - width,
                    _ => x - width / 2.0,
                };
                // But for the decimals that the file leaves out.
                assert!(from > -0.1 && from + width < NARROW + 0.1, "{label:?} from {from} on, {width} wide");
            }
        }
    }

    #[test]
    fn without_waits_nothing_is_drawn() {
        assert!(graph("waits", &[Thread { program: "app", name: "main" }], &[], &[0]).into_string().is_empty());
    }
}
