//! The cost of a message.

use collbench_stats::random::Random;

use super::super::delay::{Amount, Delay};

/// The network of a scenario, and the cost of a message in the MPI library.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    /// Time of a message on the network within a host.
    pub(crate) in_host_ns: u64,
    /// Time of a message on the network between hosts.
    pub(crate) across_hosts_ns: u64,
    /// Duration of the sending call.
    pub(crate) send_ns: u64,
    /// Time that the receiver needs for it.
    pub(crate) receive_ns: u64,
    /// Additional time of some messages on the network.
    pub(crate) jitter: Option<Delay>,
    /// Messages of at least this size are sent when the receiver is ready.
    pub(crate) rendezvous_bytes: u64,
    /// Exceptions; the last one that matches applies.
    pub(crate) links: Vec<Link>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            in_host_ns: 1_000,
            across_hosts_ns: 20_000,
            send_ns: 200,
            receive_ns: 100,
            jitter: None,
            rendezvous_bytes: u64::MAX,
            links: Vec::new(),
        }
    }
}

/// A path with its own time.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) ends: LinkEnds,
    pub(crate) ns: u64,
    /// Whether it applies from the first end to the second only.
    pub(crate) is_one_way: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkEnds {
    /// World ranks.
    Ranks([u32; 2]),
    /// Indexes of hosts.
    Hosts([usize; 2]),
}

impl Link {
    fn leads(&self, (from, to): (u32, u32), host_of: &[usize]) -> bool {
        let leads = |path: [u32; 2]| match self.ends {
            LinkEnds::Ranks(ranks) => ranks == path,
            LinkEnds::Hosts(hosts) => hosts == path.map(|rank| host_of[rank as usize]),
        };
        leads([from, to]) || (!self.is_one_way && leads([to, from]))
    }
}

impl Network {
    /// Time of a message on the network between two world ranks, without jitter.
    pub(crate) fn base_ns(&self, (from, to): (u32, u32), host_of: &[usize]) -> u64 {
        let mut links = self.links.iter().rev();
        match links.find(|link| link.leads((from, to), host_of)) {
            Some(link) => link.ns,
            None if host_of[from as usize] == host_of[to as usize] => self.in_host_ns,
            None => self.across_hosts_ns,
        }
    }

    /// Time of message number `number` of the instance on the network between two world ranks.
    pub(crate) fn network_ns(
        &self,
        (from, to): (u32, u32),
        host_of: &[usize],
        (seed, instance, number): (u64, u64, u64),
    ) -> u64 {
        let base = self.base_ns((from, to), host_of);
        let Some(jitter) = &self.jitter else {
            return base;
        };
        let is_meant = |rank: u32| {
            let ranks = jitter.ranks.as_ref();
            ranks.is_none_or(|named| named[rank as usize])
        };
        let path = (u64::from(from) << 32) | u64::from(to);
        let mut random = Random::of(&[seed, jitter.id, instance, path, number]);
        if !is_meant(from) || random.unit() >= jitter.share {
            return base;
        }
        let more = match &jitter.amount {
            Amount::Constant(ns) => *ns,
            Amount::Uniform(low, high) => random.uniform(*low, *high),
            Amount::Exponential(mean) => random.exponential(*mean),
            Amount::Normal(mean, sd) => random.normal(*mean, *sd),
            Amount::Each(list) => list[from as usize],
            // Refused when the scenario was read.
            Amount::Noise { .. } => 0,
        };
        base.saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_link_that_fits_holds_in_its_directions() {
        let link = |ends, ns, is_one_way| Link {
            ends,
            ns,
            is_one_way,
        };
        let network = Network {
            links: vec![
                link(LinkEnds::Hosts([0, 1]), 1_000_000, false),
                link(LinkEnds::Ranks([0, 2]), 500, true),
            ],
            ..Network::default()
        };
        let host_of = [0, 0, 1, 2];
        let path = |from, to| network.network_ns((from, to), &host_of, (1, 0, 0));
        assert_eq!([path(0, 1), path(1, 3)], [1_000, 20_000]);
        assert_eq!([path(1, 2), path(2, 1)], [1_000_000, 1_000_000]);
        assert_eq!([path(0, 2), path(2, 0)], [500, 1_000_000]);
    }
}
