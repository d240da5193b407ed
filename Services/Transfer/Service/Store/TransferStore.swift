import Postgres

/// All SQL of the service: its own tables, and its searches of states and of the log.
struct TransferStore: Sendable {
    let pool: ConnectionPool
    let partitions: Int

    static func migrations() throws -> [Migration] {
        let files: [(name: String, bytes: [UInt8])] = [
            ("0002_transfer.sql", PackageResources._002_transfer_sql)
        ]
        return try files.map { try Migration(fileName: $0.name, sql: String(decoding: $0.bytes, as: UTF8.self)) }
    }
}
