//! What a worker's log tells of its troubles.

/// Lines for an operator to look at.
pub(crate) fn warnings(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR "))
}

/// How often this phase had failed when it worked again.
pub(crate) fn failures(log: &str, phase: &str) -> u32 {
    let works = format!("the store works again phase=\"{phase}\" failures=");
    let counts = log.lines().filter_map(|line| line.split_once(&works));
    counts.map(|(_, count)| count.trim().parse::<u32>().unwrap()).sum()
}
