//! Looks for the phenomena that Adya's levels exclude ("Weak Consistency", 1999) in the graph of dependencies.
//!
//! Nodes are committed transactions. Edges: *ww*, one wrote the version after that of the other; *wr*, one read what
//! the other wrote; *rw*, the other wrote the version after the one that was read (an anti-dependency); and the order
//! within a session. The order of a list's versions is the list itself; that of registers is taken from the times of
//! the commits.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use super::{History, Object, Op, Table, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// A read that no order of the writes explains, or that misses one's own write.
    Incoherent,
    /// A cycle of ww.
    G0,
    /// What was read was rolled back.
    G1a,
    /// What was read was overwritten by its own writer.
    G1b,
    /// A cycle of ww and wr.
    G1c,
    /// A cycle with one rw.
    GSingle,
    /// A cycle with several rw.
    G2,
}

#[derive(Clone, Debug)]
pub(crate) struct Anomaly {
    pub(crate) kind: Kind,
    pub(crate) what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    Ww,
    Wr,
    Rw,
    Session,
}

struct Graph<'a> {
    history: &'a History,
    edges: Vec<Vec<(usize, Edge)>>,
    /// Who wrote an item or value, of all transactions.
    writers: HashMap<u32, usize>,
    found: Vec<Anomaly>,
}

/// All phenomena; of cycles one for each group of transactions that depend on each other.
pub(crate) fn anomalies(history: &History) -> Vec<Anomaly> {
    let mut graph =
        Graph { history, edges: vec![Vec::new(); history.records.len()], writers: HashMap::new(), found: Vec::new() };
    graph.note_writers();
    let reads = graph.external_reads();
    let orders = graph.version_orders(&reads);
    graph.connect(&reads, &orders);
    graph.connect_sessions();
    graph.find_cycles();
    graph.found
}

/// A read by a committed transaction of what others wrote.
struct ExternalRead {
    reader: usize,
    object: Object,
    value: Value,
}

impl Graph<'_> {
    fn report(&mut self, kind: Kind, what: String) {
        self.found.push(Anomaly { kind, what });
    }

    fn note_writers(&mut self) {
        for (at, record) in self.history.records.iter().enumerate() {
            for op in &record.ops {
                if let Op::Append(_, item) | Op::Write(_, item) = op {
                    assert!(self.writers.insert(*item, at).is_none(), "{item} is written twice");
                }
            }
        }
    }

    /// What remains of each read when one's own writes are taken away, which are checked here.
    fn external_reads(&mut self) -> Vec<ExternalRead> {
        let mut reads = Vec::new();
        for (reader, record) in self.history.records.iter().enumerate() {
            if record.committed().is_none() {
                continue;
            }
            let mut own: HashMap<Object, Vec<&Op>> = HashMap::new();
            for op in &record.ops {
                for (object, mut value) in op.reads() {
                    let writes = own.get(&object).map_or(&[][..], Vec::as_slice);
                    let mut expected = Value::default();
                    for write in writes {
                        write.apply(&mut expected);
                    }
                    let is_own = if object.table == Table::Lists {
                        value.0.ends_with(&expected.0)
                    } else {
                        writes.is_empty() || value == expected
                    };
                    if !is_own {
                        self.report(
                            Kind::Incoherent,
                            format!("{reader} wrote {expected:?} to {object:?} and read {value:?}"),
                        );
                        continue;
                    }
                    if object.table == Table::Lists {
                        value.0.truncate(value.0.len() - expected.0.len());
                    } else if !writes.is_empty() {
                        continue;
                    }
                    reads.push(ExternalRead { reader, object, value });
                }
                if let Some(object) = op.writes() {
                    own.entry(object).or_default().push(op);
                }
            }
        }
        reads
    }

    /// The versions of every object in order, as the item or value that makes each; none where it was deleted.
    fn version_orders(&mut self, reads: &[ExternalRead]) -> BTreeMap<Object, Vec<(usize, Option<u32>)>> {
        let mut longest: BTreeMap<Object, &[u32]> = BTreeMap::new();
        for read in reads.iter().filter(|read| read.object.table == Table::Lists) {
            let known = longest.entry(read.object).or_default();
            if read.value.0.len() > known.len() {
                *known = &read.value.0;
            }
        }
        let mut orders: BTreeMap<Object, Vec<(usize, Option<u32>)>> = BTreeMap::new();
        for (object, items) in longest {
            let mut order = Vec::new();
            for item in items {
                match self.writers.get(item) {
                    Some(&writer) => order.push((writer, Some(*item))),
                    None => self.report(Kind::Incoherent, format!("nobody wrote {item} in {object:?}")),
                }
            }
            orders.insert(object, order);
        }
        let mut commits: Vec<(u64, usize)> = self
            .history
            .records
            .iter()
            .enumerate()
            .filter_map(|(at, record)| Some((record.committed()?, at)))
            .collect();
        commits.sort_unstable();
        for (_, at) in commits {
            let mut last: BTreeMap<Object, Option<u32>> = BTreeMap::new();
            for op in &self.history.records[at].ops {
                match op {
                    Op::Write(object, value) => drop(last.insert(*object, Some(*value))),
                    Op::Delete(object) => drop(last.insert(*object, None)),
                    _ => {}
                }
            }
            for (object, value) in last {
                let order = orders.entry(object).or_default();
                // What was not there, and came and went, was not written.
                if value.is_some() || order.last().is_some_and(|(_, before)| before.is_some()) {
                    order.push((at, value));
                }
            }
        }
        orders
    }

    fn connect(&mut self, reads: &[ExternalRead], orders: &BTreeMap<Object, Vec<(usize, Option<u32>)>>) {
        for order in orders.values() {
            for pair in order.windows(2) {
                self.connect_two(pair[0].0, pair[1].0, Edge::Ww);
            }
        }
        // Where an item or value stands in its order.
        let mut places: HashMap<u32, usize> = HashMap::new();
        for order in orders.values() {
            places.extend(order.iter().enumerate().filter_map(|(at, (_, item))| Some(((*item)?, at))));
        }
        for read in reads {
            let order = orders.get(&read.object).map_or(&[][..], Vec::as_slice);
            self.connect_read(read, order, &places);
        }
    }

    fn connect_read(&mut self, read: &ExternalRead, order: &[(usize, Option<u32>)], places: &HashMap<u32, usize>) {
        let &ExternalRead { reader, object, ref value } = read;
        for item in &value.0 {
            match self.writers.get(item) {
                None => return self.report(Kind::Incoherent, format!("{reader} read {item} that nobody wrote")),
                Some(&writer) if self.history.records[writer].committed().is_none() => {
                    return self.report(Kind::G1a, format!("{reader} read {item} of {writer}, which was rolled back"));
                }
                Some(_) => {}
            }
        }
        if object.table == Table::Lists
            && !order.iter().map(|(_, item)| *item).take(value.0.len()).eq(value.0.iter().map(|&item| Some(item)))
        {
            return self.report(Kind::Incoherent, format!("{reader} read {value:?} in {object:?}, others {order:?}"));
        }
        let Some(last) = value.0.last() else {
            // Which of several times that the object was not there is meant, only a replay can tell.
            let is_unborn = order.iter().all(|(_, item)| item.is_some());
            if let (true, Some((writer, _))) = (is_unborn, order.first()) {
                self.connect_two(reader, *writer, Edge::Rw);
            }
            return;
        };
        let writer = self.writers[last];
        let Some(&place) = places.get(last) else {
            return self
                .report(Kind::G1b, format!("{reader} read {last} in {object:?}, which {writer} itself overwrote"));
        };
        self.connect_two(writer, reader, Edge::Wr);
        if let Some(&(next, _)) = order.get(place + 1) {
            if next == writer && next != reader {
                return self.report(
                    Kind::G1b,
                    format!("{reader} read {last} in {object:?}, to which {writer} itself appended"),
                );
            }
            self.connect_two(reader, next, Edge::Rw);
        }
    }

    fn connect_two(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            self.edges[from].push((to, edge));
        }
    }

    fn connect_sessions(&mut self) {
        let mut last: HashMap<usize, usize> = HashMap::new();
        for (at, record) in self.history.records.iter().enumerate() {
            if record.committed().is_some()
                && let Some(before) = last.insert(record.session, at)
            {
                self.connect_two(before, at, Edge::Session);
            }
        }
    }

    fn find_cycles(&mut self) {
        let levels: [(Kind, &[Edge]); 3] = [
            (Kind::G0, &[Edge::Ww]),
            (Kind::G1c, &[Edge::Ww, Edge::Wr]),
            (Kind::G2, &[Edge::Ww, Edge::Wr, Edge::Rw, Edge::Session]),
        ];
        for (kind, edges) in levels {
            for group in self.groups(edges) {
                let cycle = self.cycle(&group, edges);
                let rw = cycle.iter().filter(|(_, edge)| *edge == Edge::Rw).count();
                let kind = if kind == Kind::G2 && rw == 1 { Kind::GSingle } else { kind };
                let steps: Vec<String> = cycle.iter().map(|(at, edge)| format!("{at} -{edge:?}->")).collect();
                let what = format!("{} {} (of {} transactions in cycles)", steps.join(" "), cycle[0].0, group.len());
                self.report(kind, what);
            }
        }
    }

    /// A shortest cycle in a strongly connected group, as nodes with the edges that leave them.
    fn cycle(&self, group: &[usize], edges: &[Edge]) -> Vec<(usize, Edge)> {
        let mut best: Vec<(usize, Edge)> = Vec::new();
        // Any node lies on a cycle; a few are enough to find a short one.
        for &start in group.iter().take(20) {
            let mut from: HashMap<usize, (usize, Edge)> = HashMap::new();
            let mut queue = VecDeque::from([start]);
            'search: while let Some(at) = queue.pop_front() {
                for &(to, edge) in self.edges[at].iter().filter(|(_, edge)| edges.contains(edge)) {
                    if let Entry::Vacant(vacant) = from.entry(to) {
                        vacant.insert((at, edge));
                        if to == start {
                            break 'search;
                        }
                        queue.push_back(to);
                    }
                }
            }
            let mut cycle = Vec::new();
            let mut at = start;
            while let Some(&(before, edge)) = from.get(&at) {
                cycle.push((before, edge));
                at = before;
                if at == start {
                    break;
                }
            }
            cycle.reverse();
            if best.is_empty() || cycle.len() < best.len() {
                best = cycle;
            }
        }
        best
    }

    /// Strongly connected groups of more than one node, by the edges of some kinds (Tarjan's, without recursion).
    fn groups(&self, edges: &[Edge]) -> Vec<Vec<usize>> {
        const NONE: usize = usize::MAX;
        let count = self.edges.len();
        let (mut index, mut low, mut on_stack) = (vec![NONE; count], vec![0; count], vec![false; count]);
        let (mut stack, mut groups, mut next) = (Vec::new(), Vec::new(), 0);
        for root in 0..count {
            if index[root] != NONE {
                continue;
            }
            let mut work = vec![(root, 0)];
            while let Some((at, edge)) = work.pop() {
                if edge == 0 {
                    (index[at], low[at], on_stack[at]) = (next, next, true);
                    next += 1;
                    stack.push(at);
                }
                let mut descended = false;
                for (nth, &(to, _)) in
                    self.edges[at].iter().enumerate().skip(edge).filter(|(_, (_, edge))| edges.contains(edge))
                {
                    if index[to] == NONE {
                        work.push((at, nth + 1));
                        work.push((to, 0));
                        descended = true;
                        break;
                    }
                    if on_stack[to] {
                        low[at] = low[at].min(index[to]);
                    }
                }
                if descended {
                    continue;
                }
                if let Some(&(parent, _)) = work.last() {
                    low[parent] = low[parent].min(low[at]);
                }
                if low[at] == index[at] {
                    let first = stack.iter().rposition(|&node| node == at).expect("it is on the stack");
                    let group = stack.split_off(first);
                    for &node in &group {
                        on_stack[node] = false;
                    }
                    if group.len() > 1 {
                        groups.push(group);
                    }
                }
            }
        }
        groups
    }
}
