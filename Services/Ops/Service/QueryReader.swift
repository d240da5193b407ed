import Contracts
import HTTPKit
import Hummingbird
import Records
import ServiceKit
import Timeline

/// Reads the query of a call. It reports all invalid parameters, not only the first.
struct QueryReader {
    private let route: Route
    private let items: [(name: String, text: String)]
    private var faults: [FieldError] = []

    init(_ call: Call) {
        route = call.route
        let names = route.parameters.filter { $0.place == .query }.map(\.name)
        items = call.request.uri.queryParameters.map { (String($0.key), String($0.value)) }
        for item in items where !names.contains(item.name) {
            refuse(item.name, "is not a parameter of this route; the parameters are \(names.joined(separator: ", "))")
        }
    }

    /// Refuses parameters that the query has more than once.
    mutating func refuseRepeats() {
        let names = route.parameters.map(\.name)
        for (index, item) in items.enumerated()
        where names.contains(item.name) && items[..<index].contains(where: { $0.name == item.name }) {
            refuse(item.name, "must not be repeated")
        }
    }

    /// Returns the text of a parameter; nil if the query or the route does not have it.
    func text(_ name: String) -> String? {
        guard route.parameters.contains(where: { $0.name == name }) else { return nil }
        return items.last { $0.name == name }?.text
    }

    /// Returns the value of a parameter; nil if the query does not have it, or if it is invalid.
    mutating func value<Value>(_ name: String, _ fault: String, _ parse: (String) -> Value?) -> Value? {
        guard let text = text(name) else { return nil }
        let value = parse(text)
        if value == nil { refuse(name, fault) }
        return value
    }

    mutating func identifier(_ name: String) -> String? {
        value(name, "must be an identifier: 1 to 128 of A-Z a-z 0-9 . _ : -") { isIdentifier($0) ? $0 : nil }
    }

    /// Returns a whole number. The route has its range.
    mutating func number(_ name: String) -> Int? {
        let range = route.range(of: name)
        return value(name, "must be from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Adds a fault. The response must not echo arbitrary text of the request.
    mutating func refuse(_ name: String, _ detail: String) {
        faults.append(FieldError(pointer: isIdentifier(name) ? "/\(name)" : "", detail: detail))
    }

    /// `invalid_query` with all faults, in the order of the query.
    var problem: Problem {
        let pointers = items.map { "/" + $0.name }
        func place(_ fault: FieldError) -> Int { pointers.firstIndex(of: fault.pointer) ?? pointers.count }
        return .query(faults.sorted { place($0) < place($1) })
    }

    /// Throws ``problem`` if there is a fault.
    func finish() throws(Problem) {
        if !faults.isEmpty { throw problem }
    }
}
