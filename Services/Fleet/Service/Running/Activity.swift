public import Timeline

/// A run of limited duration with statistics.
public protocol Activity: Sendable {
    var options: FleetOptions { get }
    var statistics: RunStatistics { get }
    /// The real time since the start.
    var elapsed: Interval { get }

    /// Returns the number of apps in each state; empty if unknown.
    func states() async -> [String: Int]
    /// Runs for the duration of the options, or until `stop` returns.
    func live(until stop: @escaping @Sendable () async -> Void) async
}
