//! The parameters of a simulated network from the command line.

use super::messages::Parameters;

/// Most processes that are simulated.
const MOST_PROCESSES: usize = 64;

/// Parameters from text such as `o_s=1400,o_r=2200,g=7600,L=6300`; what is not named has a value of
/// its own.
///
/// # Errors
/// Names the part that is not understood.
pub(super) fn parse(text: &str) -> Result<Parameters, String> {
    let mut parameters = Parameters {
        send_overhead_ns: 1_000.0,
        receive_overhead_ns: 1_000.0,
        overhead_per_byte_ns: 0.0,
        gap_ns: 4_000.0,
        gap_per_byte_ns: 0.1,
        latency_ns: 10_000.0,
        capacity: 4096,
        rendezvous_bytes: None,
        positions_ns: vec![0.0; 4],
    };
    for part in text.split(',') {
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("{part}: expected NAME=VALUE"))?;
        let time = || match value.parse() {
            Ok(ns) if (0.0..=1e9).contains(&ns) => Ok(ns),
            _ => Err(format!("{part}: expected ns, from 0 to 1000000000")),
        };
        let count = |least: usize, most: usize| match value.parse() {
            Ok(n) if (least..=most).contains(&n) => Ok(n),
            _ => Err(format!("{part}: expected a number, from {least} to {most}")),
        };
        match name {
            "o_s" => parameters.send_overhead_ns = time()?,
            "o_r" => parameters.receive_overhead_ns = time()?,
            "O" => parameters.overhead_per_byte_ns = time()?,
            "g" => parameters.gap_ns = time()?,
            "G" => parameters.gap_per_byte_ns = time()?,
            "L" => parameters.latency_ns = time()?,
            "capacity" => parameters.capacity = count(1, 1 << 20)?,
            "rendezvous" => parameters.rendezvous_bytes = Some(count(1, 1 << 30)?),
            "processes" => parameters.positions_ns = vec![0.0; count(2, MOST_PROCESSES)?],
            _ => {
                return Err(format!(
                    "{part}: expected o_s, o_r, O, g, G, L, capacity, rendezvous or processes"
                ));
            }
        }
    }
    if parameters.send_overhead_ns == 0.0 && parameters.gap_ns == 0.0 {
        return Err("o_s=0 and g=0: then requests take no time".to_owned());
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_named_and_others_refused() {
        let found = parse("o_s=1.5,g=7,L=9,capacity=3,processes=5,rendezvous=64").unwrap();
        assert_eq!((found.send_overhead_ns, found.gap_ns), (1.5, 7.0));
        assert_eq!((found.latency_ns, found.capacity), (9.0, 3));
        assert_eq!(found.positions_ns.len(), 5);
        assert_eq!(found.rendezvous_bytes, Some(64));
        for refused in [
            "",
            "o_s",
            "o_s=fast",
            "g=-1",
            "o=3",
            "processes=1",
            "o_s=0,g=0",
        ] {
            parse(refused).unwrap_err();
        }
    }
}
