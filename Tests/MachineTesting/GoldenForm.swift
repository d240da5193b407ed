public import Foundation
import OrderedCollections
public import Records
public import Testing

/// The records of one module.
public struct RecordModule: Sendable, CustomTestStringConvertible {
    let name: String
    let records: [any Record.Type]

    public var testDescription: String { name }

    public init(name: String, records: [any Record.Type]) {
        self.name = name
        self.records = records
    }

    /// Compares the forms of all records with the file `<name>.txt` in a folder, byte for byte.
    ///
    /// The environment variable `STORE_GOLDEN` names a folder of the source, in which the forms are stored first.
    public func compare(with folder: URL) throws {
        let forms = try records.map { try GoldenForm.text(of: $0) }.joined()
        if let source = ProcessInfo.processInfo.environment["STORE_GOLDEN"] {
            try Data(forms.utf8).write(to: URL(fileURLWithPath: source).appendingPathComponent("\(name).txt"))
        }
        let stored = try String(contentsOf: folder.appendingPathComponent("\(name).txt"), encoding: .utf8)
        for (line, expected) in zip(forms.split(separator: "\n"), stored.split(separator: "\n")) {
            #expect(line == expected)
        }
        #expect(forms.count == stored.count)
    }
}

/// The forms of one record as text: a full value, a value without optional parts, the placeholder, and the schema.
enum GoldenForm {
    static func text<R: Record>(of type: R.Type) throws -> String {
        var lines = [String(reflecting: type)]
        for isFull in [true, false] {
            var sampler = Sampler(isFull: isFull)
            let sample = sampler.record(R.self)
            let hexadecimal = sample.binary.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            lines.append("    \(isFull ? "full" : "sparse") json \(String(decoding: sample.jsonBytes, as: UTF8.self))")
            lines.append("    \(isFull ? "full" : "sparse") binary \(hexadecimal)")
            guard R(binary: sample.binary)?.binary == sample.binary else { throw GoldenFault(type: lines[0]) }
        }
        lines.append("    placeholder json \(String(decoding: R.placeholder.jsonBytes, as: UTF8.self))")
        lines.append("    schema \(String(decoding: R.schema.bytes, as: UTF8.self))")
        return lines.joined(separator: "\n") + "\n"
    }
}

/// A record whose binary form does not read back as the same value.
struct GoldenFault: Error {
    let type: String
}

/// Fills records with values that depend only on the order and types of their fields.
struct Sampler: FieldVisitor {
    static var readsConstraints: Bool { false }
    let isFull: Bool
    private var count = 0

    init(isFull: Bool) { self.isFull = isFull }

    mutating func visit<T: Value>(_ name: String, _ value: inout T, _ presence: Presence, _ rule: Constraint<T>?) {
        value = sample(T.self)
    }

    mutating func record<R: Record>(_ type: R.Type) -> R {
        var record = R.placeholder
        record.visit(&self)
        return record
    }

    mutating func sample<T: Value>(_ type: T.Type) -> T {
        if let container = type as? any SampledContainer.Type { return container.sample(&self) as? T ?? .placeholder }
        if let record = type as? any Record.Type { return self.record(record) as? T ?? .placeholder }
        count += 1
        return (try? T(json: leaf(T.schema))) ?? .placeholder
    }

    /// Returns a document that conforms to the schema of a value without fields.
    private func leaf(_ schema: JSON) -> JSON {
        if let words = schema["enum"]?.items { return words[count % words.count] }
        if let alternative = (schema["anyOf"] ?? schema["oneOf"])?.items?.first { return leaf(alternative) }
        switch schema["type"]?.string {
        case "boolean": return .bool(count.isMultiple(of: 2))
        case "integer": return .int(count)
        case "number": return .double(Double(count) + 0.5)
        // A usage profile has one weight for each hour of the week.
        case "array": return .array((0..<168).map { .int($0) })
        case "string" where schema["format"]?.string == "date-time":
            return .string("2026-01-\(10 + count % 20)T12:30:00.250Z")
        case "string": return .string("text-\(count)")
        default: return ["member": .int(count)]
        }
    }
}

/// A value that contains others.
private protocol SampledContainer: Value {
    static func sample(_ sampler: inout Sampler) -> Self
}

extension Optional: SampledContainer where Wrapped: Value {
    static func sample(_ sampler: inout Sampler) -> Wrapped? { sampler.isFull ? sampler.sample(Wrapped.self) : nil }
}

extension Array: SampledContainer where Element: Value {
    static func sample(_ sampler: inout Sampler) -> [Element] {
        sampler.isFull ? [sampler.sample(Element.self), sampler.sample(Element.self)] : []
    }
}

extension OrderedDictionary: SampledContainer where Key == String, Value: Records.Value {
    static func sample(_ sampler: inout Sampler) -> Self {
        sampler.isFull ? ["one": sampler.sample(Value.self), "two": sampler.sample(Value.self)] : [:]
    }
}
