import Hummingbird
import Records

/// The query parameters that a route has. Any other is refused, so that a slip of the pen is not answered with too much.
struct QueryRule: Sendable {
    let names: [String]

    /// - Throws: `invalid_query`, naming each parameter that is unknown or given twice, and those that there are.
    func check(_ request: Request) throws(Problem) {
        // Most requests have none.
        guard let query = request.uri.query, !query.isEmpty else { return }
        var seen: Set<String> = []
        var faults: [Fault] = []
        for (key, _) in request.uri.queryParameters {
            let name = String(key)
            // What is no name of a parameter is not repeated back.
            let pointer = isIdentifier(name) ? "/\(name)" : ""
            if !names.contains(name) {
                let known = names.isEmpty ? "there are none" : "there are \(names.joined(separator: ", "))"
                faults.append(Fault(pointer: pointer, detail: "is no parameter here; \(known)"))
            } else if !seen.insert(name).inserted {
                faults.append(Fault(pointer: pointer, detail: "is given twice"))
            }
        }
        guard faults.isEmpty else { throw .invalidQuery.because(faults) }
    }
}

extension Route {
    /// Nil where the errors are another's protocol, and where the route has it otherwise.
    var queryRule: QueryRule? {
        guard reasons.isEmpty, unknownQuery == .refused else { return nil }
        return QueryRule(names: parameters.filter { $0.place == .query }.map(\.name))
    }
}
