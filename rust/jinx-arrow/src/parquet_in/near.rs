//! Which name was probably meant.

/// The message for a column that is not there.
pub(crate) fn no_such_column<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<(usize, &str)> = known.map(|known| (distance(name, known), known)).collect();
    known.sort_by_key(|(distance, _)| *distance);
    let listed = |names: &[(usize, &str)]| {
        names.iter().take(10).map(|(_, name)| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let bound = 2.max(name.chars().count() / 3);
    let near = known.partition_point(|(distance, _)| *distance <= bound);
    match known.get(..near) {
        Some(near) if !near.is_empty() => {
            format!("there is no column '{name}'; did you mean {}?", listed(&near[..near.len().min(3)]))
        }
        _ => format!("there is no column '{name}'; the file has {}", listed(&known)),
    }
}

/// Letters to insert, delete or replace, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut costs: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.to_lowercase().chars().enumerate() {
        let mut diagonal = row;
        costs[0] = row + 1;
        for (column, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *candidate);
            diagonal = costs[column + 1];
            costs[column + 1] = replaced.min(diagonal + 1).min(costs[column] + 1);
        }
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_first() {
        let columns = ["image", "messages", "id"];
        assert!(no_such_column("massages", columns.into_iter()).ends_with("did you mean 'messages'?"));
        assert!(no_such_column("Image", columns.into_iter()).ends_with("did you mean 'image'?"));
        assert!(no_such_column("embedding", columns.into_iter()).contains("the file has"));
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
