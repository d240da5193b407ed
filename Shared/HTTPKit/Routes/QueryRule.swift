import Hummingbird
import Records

/// The query parameters of a route. It refuses all others, so that a typo does not return too much.
struct QueryRule: Sendable {
    let names: [String]

    /// - Throws: `invalid_query`, which names each unknown or repeated parameter, and the known ones.
    func check(_ request: Request) throws(Problem) {
        // Most requests have no query.
        guard let query = request.uri.query, !query.isEmpty else { return }
        var seen: Set<String> = []
        var faults: [FieldError] = []
        for (key, _) in request.uri.queryParameters {
            let name = String(key)
            // An invalid name is not echoed.
            let pointer = isIdentifier(name) ? "/\(name)" : ""
            if !names.contains(name) {
                let known = names.isEmpty ? "it has none" : "the parameters are \(names.joined(separator: ", "))"
                faults.append(FieldError(pointer: pointer, detail: "is not a parameter of this route; \(known)"))
            } else if !seen.insert(name).inserted {
                faults.append(FieldError(pointer: pointer, detail: "is given twice"))
            }
        }
        guard faults.isEmpty else { throw .invalidQuery.with(fieldErrors: faults) }
    }
}

extension Route {
    /// Nil if another protocol defines the errors, or if the route allows other parameters.
    var queryRule: QueryRule? {
        guard reasons.isEmpty, unknownQuery == .refused else { return nil }
        return QueryRule(names: parameters.filter { $0.place == .query }.map(\.name))
    }
}
