import EventLog
import ServiceLifecycle
import Telemetry
import Timeline

/// Updates the gauges of the log: each consumer's lag in events and in seconds, by which deployments scale, the days that
/// should have been dropped, and the erasures that wait.
struct LagGauge: Service {
    let queries: LogQueries
    let metrics: Metrics
    /// The whole days before today to keep.
    let retentionDays: Int
    /// Real time.
    var clock: any SuiteClock = RealClock()

    /// Runs until graceful shutdown or cancellation.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            var named: Set<String> = []
            repeat { await note(&named) } while (try? await Task.sleep(for: .seconds(5))) != nil
        }
    }

    /// - Parameter named: the consumers that the gauges have.
    func note(_ named: inout Set<String>) async {
        // The gauges keep their values while the database is unavailable.
        guard let consumers = try? await queries.consumers() else { return }
        if let age = try? await queries.ageOfOldestDay() {
            metrics.set(.logOverdue, to: Double(max(0, age - retentionDays) * 86_400))
        }
        if let age = try? await queries.ageOfOldestErasure() { metrics.set(.erasureAge, to: max(0, age)) }
        // A removed consumer has no lag.
        for name in named.subtracting(consumers.map(\.name)) {
            metrics.set(.consumerLag, to: 0, ["consumer": name])
            metrics.set(.consumerAge, to: 0, ["consumer": name])
        }
        named.formUnion(consumers.map(\.name))
        for (name, positions) in consumers {
            metrics.set(.consumerLag, to: Double(positions.reduce(0) { $0 + $1.lag }), ["consumer": name])
            let since = positions.compactMap(\.waitingSince).min().map { Instant(milliseconds: $0) }
            let age = since.map { max(.zero, clock.now - $0) } ?? .zero
            metrics.set(.consumerAge, to: age.seconds, ["consumer": name])
        }
    }
}
