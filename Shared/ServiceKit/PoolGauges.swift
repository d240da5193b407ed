import Logging
import Postgres
import Telemetry

extension ConnectionPool {
    /// Creates a pool whose numbers are metrics.
    convenience init(_ options: ConnectionOptions, size: Int, metrics: Telemetry.Metrics, logger: Logger) {
        let waits = metrics.series(of: .databaseWaitSeconds)
        self.init(options, size: size, waited: { waits.observe($0 / .seconds(1)) }, logger: logger)
        metrics.beforeOutput { [weak self] metrics in
            guard let numbers = self?.metrics else { return }
            metrics.set(.databaseConnections, to: Double(numbers.idle), ["state": "idle"])
            metrics.set(.databaseConnections, to: Double(numbers.open - numbers.idle), ["state": "used"])
            metrics.set(.databaseConnectionsLimit, to: Double(numbers.size))
            metrics.set(.databaseWaiting, to: Double(numbers.waiting))
        }
    }
}
