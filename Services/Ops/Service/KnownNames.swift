import Contracts

/// The names that events have by the catalogues: what a filter may ask for.
enum KnownNames {
    static let services = [LifecycleEvent.source, FetchEvent.source, PushEvent.source, TransferEvent.source]

    /// What each type of event means.
    static let summaries: [String: String] = {
        func kinds<F: EventFamily>(_ family: F.Type) -> [(String, String)] { F.catalogue.map { ($0.type, $0.summary) } }
        let all =
            kinds(LifecycleEvent.self) + kinds(FetchEvent.self) + kinds(PushEvent.self) + kinds(TransferEvent.self)
        return Dictionary(all) { first, _ in first }
    }()

    /// What is wrong with the first type that the catalogues do not have; nil where they have all of them.
    static func fault(ofTypes types: [String]) -> String? {
        guard let type = types.first(where: { summaries[$0] == nil }) else { return nil }
        return "\(type) is not an event type; the nearest are \(nearest(to: type).joined(separator: ", "))"
    }

    /// What is wrong with names of services; nil where there are all of them.
    static func fault(ofServices names: [String]) -> String? {
        let unknown = names.filter { !services.contains($0) }
        guard !unknown.isEmpty else { return nil }
        return "\(unknown.joined(separator: ", ")): no such service; there are \(services.joined(separator: ", "))"
    }

    /// The three types that a wrong one is most like; first those that it is a part of.
    static func nearest(to type: String) -> [String] {
        let wrong = type.lowercased()
        let all = summaries.keys.map { name in
            (isOther: !name.contains(wrong), distance: distance(Array(wrong.utf8), Array(name.utf8)), name: name)
        }
        return all.sorted { one, other in
            (one.isOther ? 1 : 0, one.distance, one.name) < (other.isOther ? 1 : 0, other.distance, other.name)
        }.prefix(3).map(\.name)
    }

    /// How many bytes to insert, delete or replace make one text the other (Levenshtein).
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (i, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in other.indices {
                let replaced = diagonal + (byte == other[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, diagonal + 1, row[j] + 1)
            }
        }
        return row[other.count]
    }
}
