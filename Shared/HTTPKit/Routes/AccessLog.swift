import EventLog
import Hummingbird
import Identity
public import Logging
import Synchronization
import Telemetry

/// The log of requests.
public struct AccessLog: Sendable {
    let logger: Logger
    let level: Logger.Level

    /// - Parameter level: the level of its lines. There is none while the logger has a more severe level.
    public init(_ logger: Logger, at level: Logger.Level) { (self.logger, self.level) = (logger, level) }
}

/// Logs each request when its answer begins. The answer of a stream begins at once, and its body goes on.
///
/// A line has the path without its query. The path of a provider's push has a device token, so its line has only the route.
struct AccessLogMiddleware: RouterMiddleware {
    let log: AccessLog

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard log.logger.logLevel <= log.level else { return try await next(request, context) }
        var context = context
        let access = AccessRecord()
        context.access = access
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        let route = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "none"
        var metadata: Logger.Metadata = [
            LogKey.method: .string(request.method.rawValue), LogKey.route: .string(route),
            LogKey.status: .stringConvertible(response.status.code),
            LogKey.milliseconds: .stringConvertible((milliseconds * 1000).rounded() / 1000),
        ]
        if !route.contains("{token}") { metadata[LogKey.path] = .string(String(request.uri.path.prefix(1024))) }
        if let caller = access.caller { metadata[LogKey.caller] = .string(caller.actor) }
        if let address = context.channel.clientAddress?.ipAddress { metadata[LogKey.address] = .string(address) }
        if let trace = response.headers[.traceparent].flatMap(Traceparent.init) {
            metadata[LogKey.trace] = .string(trace.traceID)
        }
        log.logger.log(level: log.level, "answered request", metadata: metadata)
        return response
    }
}

/// What the handling of a request tells its line in the access log.
final class AccessRecord: Sendable {
    private let state = Mutex<Caller?>(nil)

    /// The caller; nil without a valid credential.
    var caller: Caller? {
        get { state.withLock(\.self) }
        set { state.withLock { $0 = newValue } }
    }
}
