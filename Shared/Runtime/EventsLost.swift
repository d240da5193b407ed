/// The log ends before an event that this process has read or written. For example, a standby that was not synchronous has
/// become the primary.
public struct EventsLost: Sendable, Equatable, CustomStringConvertible {
    /// The partition.
    public let partition: Int
    /// The offset of the last event in the log.
    public let head: Int
    /// The last offset that this process knows.
    public let knownHead: Int

    public var description: String {
        """
        the database has lost events: partition \(partition) of the log ends at \(head), and this process knows event \
        \(knownHead). Run "ops begin-incarnation": see deploy/backup.md
        """
    }
}
