/// The prepared statements of a connection. The same text with other parameter types is another statement.
struct PreparedStatements {
    /// The limit of prepared statements, which bounds the server's memory. Further statements, for example built at run
    /// time, run unprepared.
    static let limit = 512

    private struct Entry {
        let sql: String
        let types: [UInt32]
        let name: String

        func matches(_ query: Query) -> Bool {
            // Equal literals share storage, so this usually compares only pointers.
            types.count == query.parameters.count
                && zip(types, query.parameters).allSatisfy { $0 == $1.type } && sql == query.statement.sql
        }
    }

    private var entries: [UInt64: [Entry]] = [:]
    private var count = 0
    private var named = 0

    var isFull: Bool { count >= Self.limit }

    func name(of query: Query) -> String? {
        entries[query.statement.fingerprint]?.first { $0.matches(query) }?.name
    }

    /// Returns a name that this connection has never used, so that no failed or removed PREPARE can conflict.
    mutating func freshName() -> String {
        named += 1
        return "s\(named)"
    }

    mutating func insert(_ query: Query, name: String) {
        let entry = Entry(sql: query.statement.sql, types: query.parameters.map(\.type), name: name)
        entries[query.statement.fingerprint, default: []].append(entry)
        count += 1
    }

    mutating func remove(_ query: Query) {
        guard var same = entries[query.statement.fingerprint], let index = same.firstIndex(where: { $0.matches(query) })
        else { return }
        same.remove(at: index)
        entries[query.statement.fingerprint] = same.isEmpty ? nil : same
        count -= 1
    }
}
