import Contracts

/// The names that the catalogues define, which a filter may contain.
enum KnownNames {
    static let services = [LifecycleEvent.source, FetchEvent.source, PushEvent.source, TransferEvent.source]

    /// The meaning of each event type.
    static let summaries: [String: String] = {
        func kinds<F: EventFamily>(_ family: F.Type) -> [(String, String)] { F.catalogue.map { ($0.type, $0.summary) } }
        let all =
            kinds(LifecycleEvent.self) + kinds(FetchEvent.self) + kinds(PushEvent.self) + kinds(TransferEvent.self)
        return Dictionary(all) { first, _ in first }
    }()

    /// Returns the fault of the first type that no catalogue has; nil if all are known.
    static func fault(ofTypes types: [String]) -> String? {
        guard let type = types.first(where: { summaries[$0] == nil }) else { return nil }
        return "\(type) is not an event type; the nearest are \(nearest(to: type).joined(separator: ", "))"
    }

    /// Returns the fault of unknown service names; nil if all are known.
    static func fault(ofServices names: [String]) -> String? {
        let unknown = names.filter { !services.contains($0) }
        guard !unknown.isEmpty else { return nil }
        return
            "unknown service: \(unknown.joined(separator: ", ")); the services are \(services.joined(separator: ", "))"
    }

    /// Returns the three types nearest to a wrong one. Types that contain it come first.
    static func nearest(to type: String) -> [String] {
        let wrong = type.lowercased()
        let all = summaries.keys.map { name in
            (isOther: !name.contains(wrong), distance: distance(Array(wrong.utf8), Array(name.utf8)), name: name)
        }
        return all.sorted { one, other in
            (one.isOther ? 1 : 0, one.distance, one.name) < (other.isOther ? 1 : 0, other.distance, other.name)
        }.prefix(3).map(\.name)
    }

    /// Returns the Levenshtein distance: the fewest bytes to insert, delete or replace.
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
