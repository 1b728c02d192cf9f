//! As many messages into a request as it may carry.

/// Most messages in one request.
pub(crate) const MOST: usize = 10;

/// Distributes messages of these sizes over few requests of at most `limit` bytes and ten messages.
///
/// Large ones are placed first, each into the first request with room for it. Each request lists
/// the places of its messages in ascending order. A message above the limit gets a request of its
/// own.
pub fn pack(sizes: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut largest_first: Vec<usize> = (0..sizes.len()).collect();
    // A stable sort: messages of one size stay in order and share requests with their neighbours.
    largest_first.sort_by_key(|&place| std::cmp::Reverse(sizes[place]));

    let mut requests: Vec<(usize, Vec<usize>)> = Vec::new();
    for place in largest_first {
        let size = sizes[place];
        let room = requests
            .iter_mut()
            .find(|(bytes, places)| places.len() < MOST && bytes.saturating_add(size) <= limit);
        match room {
            Some((bytes, places)) => {
                *bytes += size;
                places.push(place);
            }
            None => requests.push((size, vec![place])),
        }
    }

    let mut requests: Vec<Vec<usize>> = requests.into_iter().map(|(_, places)| places).collect();
    for places in &mut requests {
        places.sort_unstable();
    }
    requests.sort_unstable();
    requests
}
