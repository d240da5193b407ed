public import EventLog
import Records
import Synchronization

/// Counts the refused credentials of each address, for the audit trail. It keeps no credential.
public final class RefusedCredentials: Sendable {
    /// The reason of a refusal.
    enum Reason: String {
        /// The credential is unknown, expired or revoked.
        case invalid
        /// The address has sent too many invalid ones.
        case limited
    }

    private struct Source: Hashable {
        var address: String
        let reason: String
    }

    /// The most addresses and reasons that it distinguishes between two writes.
    static let mostSources = 100
    /// The address of all further sources.
    static let others = "other"

    private let counts = Mutex<[Source: Int]>([:])

    public init() {}

    /// Counts a refusal.
    func count(_ reason: Reason, from address: String?) {
        add(1, to: Source(address: address ?? "local", reason: reason.rawValue))
    }

    private func add(_ number: Int, to source: Source) {
        var source = source
        counts.withLock { counts in
            if counts[source] == nil, counts.count >= Self.mostSources { source.address = Self.others }
            counts[source, default: 0] += number
        }
    }

    /// Returns an entry for each address and reason, and begins at zero.
    public func take() -> [AuditEntry] {
        let taken = counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
        return taken.sorted { ($0.key.address, $0.key.reason) < ($1.key.address, $1.key.reason) }.map {
            source, number in
            AuditEntry(
                .credentialRefused, by: AuditActor(.anonymous), from: source.address, count: number,
                details: ["reason": .string(source.reason)])
        }
    }

    /// Adds the counts of entries that could not be written.
    public func putBack(_ entries: [AuditEntry]) {
        for entry in entries {
            add(entry.count, to: Source(address: entry.address ?? "", reason: entry.details["reason"]?.string ?? ""))
        }
    }
}
