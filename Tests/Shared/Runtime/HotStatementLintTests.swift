import EventLog
import Foundation
import MachineTesting
import Machines
import Testing

@testable import Postgres
@testable import Runtime

/// The rules by which Citus sends each hot statement to one shard. They need no Citus.
@Suite struct HotStatementLintTests {
    private let hot = HotStatements(partition: 0)

    @Test func `each table of a hot statement has a condition on the partition`() {
        for (name, query) in hot.all {
            #expect(Lint.unrestricted(query.statement.sql).isEmpty, "\(name): \(query.statement.sql)")
        }
    }

    @Test func `no hot statement that writes calls a volatile function`() {
        for (name, query) in hot.all {
            #expect(Lint.volatile(query.statement.sql) == nil, "\(name): \(query.statement.sql)")
        }
    }

    @Test(arguments: [
        "UPDATE bus.cursors SET served_at = clock_timestamp() WHERE partition = $1",
        "INSERT INTO bus.events (id) SELECT gen_random_uuid() FROM bus.partitions WHERE partition = $1",
        "WITH a AS (SELECT 1) DELETE FROM bus.events WHERE partition = $1 AND random() < 0.5",
    ])
    func `a volatile function in a write is found`(_ sql: String) { #expect(Lint.volatile(sql) != nil) }

    @Test func `a CTE may call volatile functions before the write, and so may a read`() {
        #expect(
            Lint.volatile(
                """
                WITH t AS MATERIALIZED (SELECT clock_timestamp() AS now)
                UPDATE bus.cursors AS c SET served_at = t.now FROM t WHERE c.partition = $1
                """) == nil)
        #expect(Lint.volatile("SELECT clock_timestamp() FROM bus.clock") == nil)
    }

    @Test(arguments: [
        ("SELECT head FROM bus.partitions", 1),
        ("SELECT head FROM bus.partitions WHERE partition = ANY($1)", 0),
        ("SELECT * FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition) WHERE c.partition = $1", 1),
        (
            "SELECT * FROM bus.cursors AS c JOIN bus.partitions AS p USING (partition) WHERE c.partition = $1 AND p.partition = $1",
            0
        ),
        ("SELECT key FROM \"naps\".states AS s WHERE s.key = $1", 1),
        ("UPDATE bus.cursors SET parked = 0 WHERE consumer = $1", 1),
        ("INSERT INTO bus.events (partition) VALUES ($1)", 0),
        ("SELECT 1 FROM bus.members", 0),
    ])
    func `a table without a condition is found`(_ sql: String, _ count: Int) {
        #expect(Lint.unrestricted(sql).count == count)
    }

    /// The files with statements that no batch, no read of the log and no round of leases executes.
    private static let cold: Set<String> = [
        "AuditEntry", "BlockerWatch", "ClockControl", "ClockControl+Advance", "EventHistory",
        "FleetRevocations", "LeaseKeeper+Changes", "LogDistribution", "LogErasure", "LogIncarnation", "LogMaintenance",
        "LogMaintenance+Days", "LogPlacement", "LogQueries", "LogQueries+Events", "LogQueries+Health", "LogSchema",
        "OrderStreamStore", "RevocationLog", "RuntimeSchema", "SharedClock", "StateSweeper", "StoredStates",
        "TimeTravel", "TokenKeys",
    ]

    @Test func `the list of a condition has each partition once`() {
        guard case .bytes(let list) = Statements.list([3, 1, 3, 1]).value,
            case .bytes(let same) = Parameter.int4s([1, 3]).value
        else { return #expect(Bool(false)) }
        #expect(list == same)
    }

    /// A new statement must be in one of the lists of ``HotStatements``, or in a cold file.
    @Test func `every statement is checked, or known to read all partitions`() throws {
        var names: [String] = []
        for (file, source) in try sources() where !Self.cold.contains(file) {
            for line in source.matches(of: /(?:let|var|func) (\w+)(?:\([^\n]*\))?(?: = |: | -> )Statement\b/) {
                let name = String(line.1)
                guard !HotStatements.others.contains(name), !HotStatements.others.contains("\(name) of \(file)") else {
                    continue
                }
                names.append(name)
                #expect(hot.all.contains { $0.name == name }, "\(name) of \(file)")
            }
        }
        #expect(Set(names).count == names.count && names.count > 40, "\(names.sorted())")
    }

    @Test func `each cold file has a statement`() throws {
        let sources = try sources()
        for file in Self.cold { #expect(sources[file]?.contains(/\bStatement\(/) == true, "\(file)") }
    }

    /// The source of each file of the runtime and of the log, by its name.
    private func sources() throws -> [String: String] {
        var sources: [String: String] = [:]
        for module in ["Runtime", "EventLog"] {
            let folder = Repository.root.appending(path: "Shared/\(module)")
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
                guard file.pathExtension == "swift" else { continue }
                sources[file.deletingPathExtension().lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
            }
        }
        return sources
    }
}

/// The checks of the text of a statement.
private enum Lint {
    /// Functions that Citus refuses in a write of a distributed table.
    private static var volatileCall: Regex<Substring> {
        /\b(?:clock_timestamp|gen_random_uuid|random|nextval|timeofday|bus\.real_now|bus\.living_since)\s*\(/
    }

    /// Returns the call of a volatile function in a statement that writes; nil without one. A CTE that ends before the
    /// write is evaluated first.
    static func volatile(_ sql: String) -> String? {
        guard let write = sql.firstMatch(of: /\b(?:INSERT INTO|UPDATE|DELETE FROM) (?!SKIP)/) else { return nil }
        return sql[write.range.lowerBound...].firstMatch(of: volatileCall).map { String($0.0) }
    }

    /// Returns the distributed tables of a statement that no condition restricts to partitions of a parameter.
    static func unrestricted(_ sql: String) -> [String] {
        var bare = sql.matches(of: /(?:^|[^\w.])partition = (?:ANY\()?\$\d/).count
        let tables = sql.matches(of: /(?:FROM|JOIN|UPDATE|,)\s+((?:bus|"\w+")\.\w+)(?: AS (\w+))?/)
        return tables.compactMap { match -> String? in
            let table = String(match.1)
            let isOfService = table.hasSuffix(".states") || table.hasSuffix(".slot_pages")
            guard isOfService || LogDistribution.tables.contains(table) else { return nil }
            guard let alias = match.2 else {
                bare -= 1
                return bare < 0 ? table : nil
            }
            let isRestricted = ["$", "ANY($"].contains { sql.contains("\(alias).partition = \($0)") }
            return isRestricted ? nil : "\(table) AS \(alias)"
        }
    }
}
