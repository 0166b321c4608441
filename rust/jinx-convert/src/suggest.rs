//! Suggestions for mistyped names.

/// The names most similar to `wanted`, best first; at most three, and only if they are similar.
pub(crate) fn near<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = wanted.to_lowercase();
    let max_distance = (wanted.chars().count() / 3).max(1) + 1;
    let mut matches: Vec<(usize, &str)> = candidates
        .map(|name| {
            let name_folded = name.to_lowercase();
            let contains =
                !folded.is_empty() && (name_folded.contains(&folded) || folded.contains(&name_folded));
            (if contains && !name.is_empty() { 1 } else { distance(&folded, &name_folded) }, name)
        })
        .filter(|(distance, _)| *distance <= max_distance)
        .collect();
    matches.sort();
    matches.into_iter().take(3).map(|(_, name)| name).collect()
}

/// The message for a missing column: the most similar names, or all of them.
pub(crate) fn no_such_column<'a>(name: &str, columns: impl Iterator<Item = &'a str> + Clone) -> String {
    format!("there is no column '{name}'; {}", suggestion(name, columns, "the file has"))
}

/// Like [`no_such_column`], for a column of rows that were written.
pub(crate) fn no_written_column<'a>(name: &str, columns: impl Iterator<Item = &'a str> + Clone) -> String {
    format!("no sample that was written has the column '{name}'; {}", suggestion(name, columns, "there are"))
}

fn suggestion<'a>(name: &str, columns: impl Iterator<Item = &'a str> + Clone, all: &str) -> String {
    let listed =
        |names: Vec<&str>| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let matches = near(name, columns.clone());
    if matches.is_empty() {
        format!("{all} {}", listed(columns.take(10).collect()))
    } else {
        format!("did you mean {}?", listed(matches))
    }
}

/// The number of letters to insert, remove or replace to turn one string into the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_first_and_far_ones_not() {
        let columns = ["image", "images", "caption", "id", ""];
        assert_eq!(near("imgae", columns.into_iter()), ["image"]);
        assert_eq!(near("Image", columns.into_iter()), ["image", "images"]);
        assert!(near("score", columns.into_iter()).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_missing_column_is_explained() {
        let columns = ["image", "messages", "id"];
        assert!(no_such_column("massages", columns.into_iter()).ends_with("did you mean 'messages'?"));
        assert!(no_such_column("Image", columns.into_iter()).ends_with("did you mean 'image'?"));
        assert!(
            no_such_column("embedding", columns.into_iter())
                .ends_with("the file has 'image', 'messages', 'id'")
        );
    }
}
