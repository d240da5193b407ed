public import EventLog
import Foundation
public import Hummingbird
public import Identity
public import NIOCore
import Records
public import Telemetry

/// The context of a request: its connection, caller and trace.
public struct ServiceContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection of the request.
    public let channel: any Channel
    /// The caller; nil on open routes.
    public var caller: Caller? { admission?.caller }
    var admission: Admission?
    /// The JSON document of a request with an `Idempotency-Key`, its members sorted by name; else nil.
    var document: [UInt8]?
    /// The incarnation of the log, which the positions of the client must have.
    public internal(set) var incarnation = LogIncarnation.first
    /// The slot of the request; nil on open routes.
    var held: HeldSlot?
    /// Gets the caller for the access log; nil if there is none.
    var access: AccessRecord?
    /// Keeps the spans of traces; nil if they are not exported.
    var tracer: Tracer?
    /// The trace context of this request and its answer.
    public var traceparent: Traceparent = .random()
    /// Whether events keep the trace context: the caller sent one, or the trace is recorded.
    var isTraced = false
    /// The trace context for the events of this request's command; nil if they keep none.
    public var eventTraceparent: String? { isTraced ? traceparent.description : nil }

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Returns the caller.
    ///
    /// - Throws: `unauthenticated` on an open route.
    public func requireCaller() throws(Problem) -> Caller {
        guard let caller else { throw .unauthenticated }
        return caller
    }

    /// Returns the caller if it is not an operator, or is an operator whose key has the scope.
    ///
    /// - Throws: `unauthenticated`, `forbidden`.
    @discardableResult
    public func requireCaller(_ scope: Caller.Scope) throws(Problem) -> Caller {
        let caller = try requireCaller()
        if case .operator = caller { try caller.require(scope) }
        return caller
    }
}

extension Parameters {
    /// Returns an identifier of the path.
    ///
    /// - Throws: `invalid_identifier`.
    public func identifier(_ name: String) throws(Problem) -> String {
        // A fast path: an identifier has nothing to decode.
        if let text = get(name) {
            if isIdentifier(text) { return text }
            if let decoded = text.removingPercentEncoding, isIdentifier(decoded) { return decoded }
        }
        throw .invalidIdentifier.with(detail: "\(name) in the path must have 1 to 128 of A-Z a-z 0-9 . _ : -")
    }
}
