//! Reads `analysis.json` and prints who arrives last most often, operation by operation.
//!
//! ```text
//! cargo run -p collbench-report --example last-to-come -- TRACE/report/analysis.json
//! ```

use std::error::Error;

use collbench_report::Document;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args()
        .nth(1)
        .ok_or("the path of an analysis.json expected")?;
    let document: Document<'static> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    for operation in &*document.operations {
        // Positions are those of the communicator's ranks.
        let members = (operation.communicator).map(|id| &document.communicators[id].ranks);
        let arrivals = operation.last_arrivals.iter().enumerate();
        let Some((position, times)) = arrivals.max_by_key(|(_, times)| **times) else {
            continue;
        };
        match members.and_then(|ranks| ranks.get(position).copied().flatten()) {
            Some(rank) if *times > 0 => println!(
                "{}: rank {rank} was last in {times} of {}",
                operation.operation, operation.instances
            ),
            _ => println!("{}: nobody is known to have been last", operation.operation),
        }
    }
    Ok(())
}
