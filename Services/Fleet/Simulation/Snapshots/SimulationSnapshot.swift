import Contracts
import Crypto
import Foundation
import Records
import Scenarios
import Timeline

/// An error in a snapshot of a simulation.
public enum SnapshotError: Error, Sendable, CustomStringConvertible {
    /// The file is not a snapshot, or it is not complete.
    case malformed
    /// Another version of the program wrote it.
    case otherProgram
    /// It is a snapshot of another scenario, or with another seed, duration, number of devices or table of generations.
    case otherScenario
    /// It was written without checks, so they do not know what came before it.
    case withoutChecks

    public var description: String {
        switch self {
        case .malformed: "the snapshot is damaged, or the file is not a snapshot"
        case .otherProgram: "the snapshot was written by another version of fleet; simulate from the begin"
        case .otherScenario:
            "the snapshot is of another scenario, or of other values of --seed, --devices, --days or --profiles"
        case .withoutChecks: "the snapshot was written without --check; leave it out, or simulate from the begin"
        }
    }
}

/// The head of a snapshot.
struct SnapshotHead: Record {
    /// The SHA-256 of the schema of the stored devices. The rules of another program can store other states.
    var program = ""
    /// The features, limits and readings, as a SHA-256.
    var rules = ""
    /// The binary form of the scenario, as a SHA-256.
    var scenario = ""
    var seed = ""
    /// The first instant that was not simulated.
    var until = Instant.epoch

    init(_ plan: ScenarioPlan, _ generations: Generations, until: Instant) {
        program = Self.programDigest
        rules = Self.digest(Array(generations.text.utf8))
        scenario = Self.digest(plan.scenario.binary)
        seed = String(plan.seed)
        self.until = until
    }

    private static let programDigest = digest(StoredPartition.schema.jsonBytes)

    private static func digest(_ bytes: [UInt8]) -> String { Data(SHA256.hash(data: bytes)).base64EncodedString() }
}

extension Generations {
    /// All features, limits and readings as text.
    fileprivate var text: String {
        var lines = DisputedRule.allCases.map { "\($0.rawValue) \(self[$0].rawValue)" }
        for name in ProfileName.allCases {
            lines += Feature.allCases.map { "\(name.rawValue) \($0.rawValue) \(self[name].has($0))" }
            lines += TimeLimit.allCases.map {
                "\(name.rawValue) \($0.rawValue) \(self[name].limit(of: $0)?.milliseconds ?? -1)"
            }
        }
        return lines.joined(separator: "\n")
    }
}

/// The file of a snapshot: a mark, the head, the partitions, and the SHA-256 of all before it. Each part has its length
/// before it.
enum SnapshotFile {
    private static let mark = Array("dormouse simulation 1\n".utf8)
    private static let digestLength = 32

    /// Writes a snapshot. The file changes only when the snapshot is complete.
    static func write(_ head: SnapshotHead, _ partitions: [Partition], to url: URL) async throws {
        let parent = url.deletingLastPathComponent()
        let draft = parent.appending(path: ".\(url.lastPathComponent).\(UUID().uuidString)")
        guard FileManager.default.createFile(atPath: draft.path, contents: nil) else {
            throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: url.path])
        }
        do {
            let file = try FileHandle(forWritingTo: draft)
            var hash = SHA256()
            func append(_ bytes: [UInt8]) throws {
                hash.update(data: bytes)
                try file.write(contentsOf: bytes)
            }
            func append(part: [UInt8]) throws {
                try append((0..<8).map { UInt8(truncatingIfNeeded: part.count >> (8 * $0)) })
                try append(part)
            }
            try append(mark)
            try append(part: head.binary)
            for partition in partitions { try append(part: await partition.stored.binary) }
            try file.write(contentsOf: Array(hash.finalize()))
            try file.synchronize()
            try file.close()
            guard rename(draft.path, url.path) == 0 else {
                throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: url.path])
            }
        } catch {
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
    }

    /// Reads a snapshot.
    ///
    /// - Throws: ``SnapshotError``, and errors of the file.
    static func read(
        _ url: URL, of plan: ScenarioPlan, _ generations: Generations
    ) throws -> (until: Instant, partitions: [StoredPartition]) {
        let bytes = [UInt8](try Data(contentsOf: url))
        let end = bytes.count - digestLength
        guard end > mark.count, bytes.starts(with: mark),
            Array(SHA256.hash(data: bytes[..<end])) == Array(bytes[end...])
        else {
            throw SnapshotError.malformed
        }
        var parts: [[UInt8]] = []
        var position = mark.count
        while position < end {
            guard position + 8 <= end else { throw SnapshotError.malformed }
            let length = (0..<8).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
            guard length >= 0, length <= end - position - 8 else { throw SnapshotError.malformed }
            parts.append(Array(bytes[position + 8..<position + 8 + length]))
            position += 8 + length
        }
        guard let first = parts.first else { throw SnapshotError.malformed }
        let head: SnapshotHead = try record(first)
        let expected = SnapshotHead(plan, generations, until: head.until)
        guard head.program == expected.program else { throw SnapshotError.otherProgram }
        guard head.scenario == expected.scenario, head.seed == expected.seed, head.rules == expected.rules else {
            throw SnapshotError.otherScenario
        }
        return (head.until, try parts.dropFirst().map { try record($0) })
    }

    private static func record<R: Record>(_ bytes: [UInt8]) throws -> R {
        var reader = BinaryReader(bytes)
        let record = R.read(from: &reader)
        guard reader.isComplete else { throw SnapshotError.malformed }
        return record
    }
}
