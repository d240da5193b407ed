import EventLog
import Hummingbird
import Identity
public import Logging
public import NIOCore
import Synchronization
public import Telemetry

/// The log of requests.
public struct AccessLog: Sendable {
    let logger: Logger
    let level: Logger.Level

    /// - Parameter level: the level of its lines. There is none while the logger has a more severe level.
    public init(_ logger: Logger, at level: Logger.Level) { (self.logger, self.level) = (logger, level) }

    /// Whether requests have lines.
    public var isOn: Bool { logger.logLevel <= level }

    /// Logs an answered request.
    ///
    /// - Parameters:
    ///   - route: nil for an unknown path.
    ///   - path: without the query; nil if it has a secret.
    ///   - since: the time of the request's head.
    public func note(
        _ method: String, route: String?, path: String?, status: Int, since start: ContinuousClock.Instant,
        caller: String?, address: SocketAddress?, trace: Traceparent?
    ) {
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        var metadata: Logger.Metadata = [
            LogKey.method: .string(method), LogKey.route: .string(route ?? "none"),
            LogKey.status: .stringConvertible(status),
            LogKey.milliseconds: .stringConvertible((milliseconds * 1000).rounded() / 1000),
        ]
        if let path { metadata[LogKey.path] = .string(String(path.prefix(1024))) }
        if let caller { metadata[LogKey.caller] = .string(caller) }
        if let address = address?.ipAddress { metadata[LogKey.address] = .string(address) }
        if let trace { metadata[LogKey.trace] = .string(trace.traceID) }
        logger.log(level: level, "answered request", metadata: metadata)
    }
}

/// Logs each request when its answer begins. The answer of a stream begins at once, and its body goes on.
///
/// A line has the path without its query. The path of a provider's push has a device token, so its line has only the route.
struct AccessLogMiddleware: RouterMiddleware {
    let log: AccessLog

    func handle(
        _ request: Request, context: ServiceContext, next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard log.isOn else { return try await next(request, context) }
        var context = context
        let access = AccessRecord()
        context.access = access
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let route = context.endpointPath.flatMap { $0.hasPrefix("/") ? $0 : nil }
        log.note(
            request.method.rawValue, route: route, path: route?.contains("{token}") == true ? nil : request.uri.path,
            status: response.status.code, since: start, caller: access.caller?.actor,
            address: context.channel.clientAddress, trace: response.headers[.traceparent].flatMap(Traceparent.init))
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
