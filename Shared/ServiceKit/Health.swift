import HTTPTypes
import Hummingbird
import Records

/// A named condition that must hold for the service to do its work.
public struct HealthCheck: Sendable {
    public let name: String
    /// Nil while all is well, else what is wrong, in words that are safe to show.
    public let fault: @Sendable () async -> String?

    public init(_ name: String, _ fault: @escaping @Sendable () async -> String?) {
        self.name = name
        self.fault = fault
    }
}

extension RouteTable {
    /// Adds `/healthz` (the process lives), `/readyz` (every check holds; else 503, naming those that don't) and `/metrics`
    /// (Prometheus text). They need no credential.
    public mutating func addHealth(_ checks: [HealthCheck], metrics: Metrics) {
        add(
            .get, "/healthz", "Whether the process is alive", access: .open, response: JSON.self,
            example: #"{"status":"alive"}"#
        ) { _, _ in Response(json: JSON.object(["status": "alive"]).bytes) }
        add(
            .get, "/readyz", "Whether the service can do its work", access: .open, response: JSON.self,
            problems: [.notReady], example: #"{"checks":{"database":"ok","listener":"ok"},"status":"ready"}"#
        ) { _, _ in
            var results: [JSON.Member] = []
            var faults: [Fault] = []
            for check in checks {
                let fault = await check.fault()
                results.append(JSON.Member(check.name, .string(fault ?? "ok")))
                if let fault { faults.append(Fault(pointer: "/\(check.name)", detail: fault)) }
            }
            guard faults.isEmpty else { throw Problem.notReady.because("not ready", faults: faults) }
            return Response(json: JSON.object(["status": "ready", "checks": .object(results)]).bytes)
        }
        let measurements = TextContent(
            "text/plain; version=0.0.4; charset=utf-8",
            example: "# TYPE dormouse_http_streams_open gauge\ndormouse_http_streams_open 3\n")
        add(.get, "/metrics", "Measurements in Prometheus text", access: .open, text: measurements) { _, _ in
            Response(text: metrics.text, type: measurements.type)
        }
    }
}

extension Problem {
    /// The faults name the checks that do not hold.
    public static let notReady = Problem(.serviceUnavailable, "not_ready", "The service is not ready", retryAfter: 1)
}
