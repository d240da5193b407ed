import Contracts
import EventLog
import Foundation
import Postgres

/// All SQL of the service: its own tables, and its searches of the log. Leases use the database's clock.
struct PushStore: Sendable {
    let pool: ConnectionPool
    let partitions: Int
    /// The duration of a process's lease on its connections, in seconds. Short, because a device stays connected until
    /// the lease of its dead process expires.
    var lease = 10.0
    /// The id of this process as the owner of relays.
    let owner = UUID.random()

    static func migrations() throws -> [Migration] {
        [try Migration(fileName: "0002_push.sql", utf8: PackageResources._002_push_sql)]
    }

    /// Returns the parameters of a key: its partition and its text.
    func parameters(of key: AggregateKey) -> [Parameter] { [.partition(key.partition(of: partitions)), .key(key)] }

    /// Returns the statement that finds the partitions with events after the position in a table.
    static func partitions(behind positions: String) -> Statement {
        Statement(
            """
            SELECT c.partition::int8 FROM push.\(positions) AS c JOIN bus.partitions AS p USING (partition)
            WHERE p.head > c.log_offset ORDER BY c.partition
            """)
    }
}
