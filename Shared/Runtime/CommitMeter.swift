import Telemetry

/// Measures the commits of a process.
struct CommitMeter: Sendable {
    private let seconds: MetricSeries
    private let failures: MetricSeries
    private let events: MetricSeries
    private let assumed: MetricSeries

    init(_ metrics: Metrics) {
        seconds = metrics.series(of: .commitSeconds)
        failures = metrics.series(of: .commitsFailed)
        events = metrics.series(of: .eventsWritten)
        assumed = metrics.series(of: .commitsAssumed)
    }

    func committed(_ count: Int, in duration: Duration, isAssumed: Bool) {
        seconds.observe(duration / .seconds(1))
        events.add(Double(count))
        if isAssumed { assumed.add() }
    }

    func failed() { failures.add() }
}
