public import Contracts
public import Foundation
public import Machines
import Records
public import Timeline

/// States as programs have stored them. For each version of a machine's stored form, the file `<version>.json` has some
/// states and the events that they are the fold of. For the newest version, `<version>.form` has its fields.
///
/// The test that reads both files writes them if `STORE_STATES` names the folder of the source. The file of a released
/// version never changes.
public struct StateFixtures<M: Machine>: Sendable {
    public struct Fixture: Sendable {
        public let name: String
        public let history: [(event: M.OwnEvent, time: Instant)]
        public let binary: [UInt8]

        /// The fold of the events by this program.
        public var folded: M {
            history.reduce(into: M()) { $0.apply($1.event, at: $1.time) }
        }
    }

    private let folder: URL

    /// - Parameter folder: the folder with the files of all versions.
    public init(_ folder: URL) { self.folder = folder }

    /// The stored states of a version.
    ///
    /// - Throws: an error if there are none.
    public func states(_ version: Int) throws -> [Fixture] {
        let json = try JSON(parsing: Array(try Data(contentsOf: folder.appendingPathComponent("\(version).json"))))
        return try (json.items ?? []).map { item in
            Fixture(
                name: item["name"]?.string ?? "",
                history: try (item["history"]?.items ?? []).map { event in
                    let own = try M.OwnEvent(
                        type: event["type"]?.string ?? "", version: event["version"]?.int ?? 0,
                        data: event["data"]?.bytes ?? [])
                    return (own, Instant(milliseconds: Int64(event["time"]?.int ?? 0)))
                }, binary: bytes(item["state"]?.string ?? ""))
        }
    }

    /// The fields of the stored form of a version.
    public func form(_ version: Int) throws -> String {
        try String(contentsOf: folder.appendingPathComponent("\(version).form"), encoding: .utf8)
    }

    /// Returns what this program can't read of the forms before a version, one line for each fault.
    public func faults(before version: Int) -> [String] {
        (1..<version).flatMap { older in
            guard let states = try? states(older), !states.isEmpty else { return ["version \(older) has no fixtures"] }
            return states.compactMap { fixture in
                switch M.upgraded(fixture.binary, from: older) {
                case nil: "\(fixture.name) of version \(older) can't be read"
                case .exact(let state) where state.binary != fixture.folded.binary:
                    "\(fixture.name) of version \(older) differs from the fold of its history"
                case .exact, .partial: nil
                }
            }
        }
    }

    private func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension StateFixtures {
    /// Writes the files of this program's version from histories. It writes the largest states, and those with event
    /// types that the others lack.
    public static func store(_ histories: [(name: String, events: [Event])], in folder: URL) throws {
        var found: [(name: String, events: [Event], binary: [UInt8])] = []
        for (name, events) in histories {
            var state = M()
            var largest = (count: 0, binary: state.binary)
            let own = events.filter { $0.source == M.name }
            for (index, event) in own.enumerated() {
                state.apply(try M.OwnEvent(type: event.type, version: event.version, data: event.data), at: event.time)
                if state.binary.count >= largest.binary.count { largest = (index + 1, state.binary) }
            }
            if largest.binary.count < 2500 { found.append((name, Array(own.prefix(largest.count)), largest.binary)) }
        }
        found.sort { ($0.binary.count, $1.name) > ($1.binary.count, $0.name) }
        var types: Set<String> = []
        var lines: [String] = []
        for (index, one) in found.enumerated() where index < 3 || !types.isSuperset(of: one.events.map(\.type)) {
            types.formUnion(one.events.map(\.type))
            let history = try one.events.map { event in
                JSON.object([
                    "data": try JSON(parsing: event.data), "time": .int(Int(event.time.milliseconds)),
                    "type": .string(event.type), "version": .int(event.version),
                ])
            }
            let digits = one.binary.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            let line: JSON = ["history": .array(history), "name": .string(one.name), "state": .string(digits)]
            lines.append(String(decoding: line.bytes, as: UTF8.self))
        }
        try Data("[\n\(lines.joined(separator: ",\n"))\n]\n".utf8)
            .write(to: folder.appendingPathComponent("\(M.version).json"))
        try Data(StoredForm.text(of: M.self).utf8).write(to: folder.appendingPathComponent("\(M.version).form"))
    }
}
