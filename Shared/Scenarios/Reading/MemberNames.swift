import Records

/// The names of members that a schema knows, and the nearest of them.
enum MemberNames {
    /// Returns the names of the members that the object at a path may have.
    static func known(at path: [String], in schema: JSON) -> [String] {
        var candidates = alternatives(of: schema)
        for step in path {
            candidates = candidates.flatMap { candidate -> [JSON] in
                let next =
                    candidate["properties"]?[step]
                    ?? (Int(step) != nil ? candidate["items"] : nil) ?? candidate["additionalProperties"]
                return next.map(alternatives) ?? []
            }
        }
        return candidates.flatMap { $0["properties"]?.members?.map(\.name) ?? [] }
    }

    private static func alternatives(of schema: JSON) -> [JSON] {
        schema["anyOf"]?.items?.flatMap(alternatives) ?? [schema]
    }

    /// Returns the end of a message about an unknown name: the nearest known name, or all known names.
    static func hint(for name: String, _ known: [String]) -> String {
        guard !known.isEmpty else { return "" }
        let distances = known.map { (name: $0, distance: distance(name, $0)) }
        if let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= max(1, name.count / 3) {
            return ": did you mean \(nearest.name)?"
        }
        return ": known are " + known.sorted().joined(separator: ", ")
    }

    /// The number of insertions, removals, replacements and exchanges of neighbours, without regard to case.
    private static func distance(_ one: String, _ other: String) -> Int {
        let (left, right) = (
            Array(one.lowercased().unicodeScalars.prefix(64)), Array(other.lowercased().unicodeScalars)
        )
        var rows = [Array(0...right.count)]
        for row in 0..<left.count {
            var next = [row + 1]
            for column in 0..<right.count {
                let isEqual = left[row] == right[column]
                var least = min(next[column], rows[row][column + 1]) + 1
                least = min(least, rows[row][column] + (isEqual ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[left.count][right.count]
    }
}
