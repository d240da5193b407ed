import OrderedCollections
public import Records

/// The stored form of a record in words. It lists the fields in order, with their types down to the leaves, and the
/// words of enumerations in order. Two programs with the same text read each other's records.
public enum StoredForm {
    /// A line for each field.
    public static func text<T: Value>(of type: T.Type) -> String { lines(of: type, "").joined(separator: "\n") + "\n" }

    static func lines<T: Value>(of type: T.Type, _ place: String) -> [String] {
        if let record = type as? any Record.Type { return fields(of: record, place) }
        if let composite = type as? any Composite.Type { return composite.lines(place) }
        if let words = type as? any WireEnum.Type { return ["\(place): \(list(words))"] }
        return ["\(place): \(type)"]
    }

    private static func list<W: WireEnum>(_ words: W.Type) -> String {
        words.allCases.map(\.rawValue).joined(separator: " | ")
    }

    private static func fields<R: Record>(of record: R.Type, _ place: String) -> [String] {
        var fields = Fields(place: place)
        var value = record.placeholder
        value.visit(&fields)
        return fields.lines
    }

    private struct Fields: FieldVisitor {
        static let readsConstraints = false
        let place: String
        var lines: [String] = []

        mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?) {
            lines += StoredForm.lines(of: T.self, place.isEmpty ? name : "\(place).\(name)")
        }
    }
}

/// A type that contains values of another type.
protocol Composite { static func lines(_ place: String) -> [String] }

extension Optional: Composite where Wrapped: Value {
    static func lines(_ place: String) -> [String] { StoredForm.lines(of: Wrapped.self, place + "?") }
}

extension Array: Composite where Element: Value {
    static func lines(_ place: String) -> [String] { StoredForm.lines(of: Element.self, place + "[]") }
}

extension OrderedDictionary: Composite where Key == String, Value: Records.Value {
    static func lines(_ place: String) -> [String] {
        StoredForm.lines(of: Key.self, place + "[key]") + StoredForm.lines(of: Value.self, place + "[:]")
    }
}
