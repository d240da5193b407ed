import Foundation
public import Hummingbird
public import NIOCore
import Records

/// What is known of a request beside itself.
public struct ServiceContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection, or stream of it, that the request came by.
    public let channel: any Channel
    /// Who asks; nil on routes that are open to all.
    public var caller: Caller? { admission?.caller }
    var admission: Admission?
    /// The JSON document of a request with an `Idempotency-Key`, its members sorted by name; nil for all others.
    var document: [UInt8]?
    /// Nil on open routes.
    var held: HeldSlot?
    /// This request's place in its trace; goes along into the log.
    public var traceparent: Traceparent = .random()

    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// Who asks.
    ///
    /// - Throws: `unauthenticated` where nobody is known.
    public func requireCaller() throws(Problem) -> Caller {
        guard let caller else { throw .unauthenticated }
        return caller
    }

    /// Who asks, where an operator's key allows it; devices and fleets are held to what is theirs elsewhere.
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
    /// A part of the path that is an identifier.
    ///
    /// - Throws: `invalid_identifier`.
    public func identifier(_ name: String) throws(Problem) -> String {
        // Decoding is the slow part, and what is an identifier as it stands has nothing to decode.
        if let text = get(name) {
            if isIdentifier(text) { return text }
            if let decoded = text.removingPercentEncoding, isIdentifier(decoded) { return decoded }
        }
        throw .invalidIdentifier.because("\(name) in the path must have 1 to 128 of A-Z a-z 0-9 . _ : -")
    }
}
