public import HTTPKit
import HTTPTypes
import Hummingbird
import Records
public import Telemetry

/// A named condition that must hold for the service to do its work.
public struct HealthCheck: Sendable {
    /// The effect of a failed condition on `/readyz`. It answers 503 only if another replica would do better.
    public enum Consequence: Sendable {
        /// The service is not ready while the condition fails, because another replica would do better.
        case notReady
        /// The service is not ready until all conditions have held at once. Later only the body reports a failure.
        ///
        /// For conditions that all replicas share, such as the database: gateways then forward the service's own 503
        /// with `Retry-After`.
        case notReadyAtStart
        /// Only the body reports a failure.
        case reported
    }

    /// The name in the body of `/readyz`.
    public let name: String
    /// The effect of a failure.
    public let consequence: Consequence
    /// Returns the fault for clients, without host or data; nil while the condition holds.
    public let fault: @Sendable () async -> String?

    /// Creates a check.
    public init(
        _ name: String, _ consequence: Consequence = .notReady, _ fault: @escaping @Sendable () async -> String?
    ) {
        self.name = name
        self.consequence = consequence
        self.fault = fault
    }
}

extension RouteTable {
    /// Adds `/healthz`, `/readyz` and `/metrics`. They need no credential and make no query.
    ///
    /// `/readyz` answers 200, or 503 if another replica would do better. The body names each check.
    public mutating func addHealth(_ readiness: Readiness, metrics: Metrics) {
        add(
            .get, "/healthz", "Reports that the process is alive", .open, .example(#"{"status":"alive"}"#)
        ) { _ in Reply<JSON>(["status": "alive"]) }
        add(
            .get, "/readyz",
            "Reports whether this replica should get requests: 503 if another replica would do better. After the start,"
                + " a failing database appears only in the body",
            .open, .refuses([.notReady]),
            .example(#"{"checks":{"database":"ok","listener":"ok"},"status":"ready"}"#)
        ) { _ in
            let verdict = readiness.verdict
            guard verdict.isReady else { throw Problem.notReady.with(detail: verdict.reason, faults: verdict.faults) }
            return Reply(verdict.json)
        }
        let measurements = TextContent(
            "text/plain; version=0.0.4; charset=utf-8",
            example: "# TYPE dormouse_http_streams_open gauge\ndormouse_http_streams_open 3\n")
        add(.get, "/metrics", "Returns metrics in Prometheus text", .open, .text(measurements)) { _ in
            Response(text: metrics.text, type: measurements.type)
        }
    }
}

extension Problem {
    /// The faults name the failed checks.
    public static let notReady = Problem(.serviceUnavailable, "not_ready", "Service is not ready", retryAfter: 1)
}
