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
    public var caller: Caller?
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
}

extension Parameters {
    /// A part of the path that is an identifier.
    ///
    /// - Throws: `invalid_identifier`.
    public func identifier(_ name: String) throws(Problem) -> String {
        guard let text = get(name)?.removingPercentEncoding, isIdentifier(text) else {
            throw .invalidIdentifier.because("\(name) in the path is not an identifier")
        }
        return text
    }
}
