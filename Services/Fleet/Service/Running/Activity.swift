public import Timeline

/// Something that goes on for a while and is counted.
public protocol Activity: Sendable {
    var options: FleetOptions { get }
    var ledger: Ledger { get }
    /// How long it has gone on.
    var elapsed: Interval { get }

    /// How many apps are in each state; empty where nobody knows.
    func states() async -> [String: Int]
    /// Goes on for its time, or until `stop` returns.
    func live(until stop: @escaping @Sendable () async -> Void) async
}
