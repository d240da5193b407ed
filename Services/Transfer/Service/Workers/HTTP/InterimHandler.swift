import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// The listeners for interim responses (RFC 9110 section 15.2) of the requests that are under way.
final class InterimListeners: Sendable {
    typealias Listener = @Sendable (HTTPResponseHead) -> Void

    /// The header field that names the listener of a request. ``InterimHandler`` removes it before the request is sent.
    static let field = "Dormouse-Interim"

    private let listeners = Mutex<[String: Listener]>([:])

    /// Adds a listener, which must not block, and returns its name. No request can guess the name of another one.
    func add(_ listener: @escaping Listener) -> String {
        let name = UUID().lowercased
        listeners.withLock { $0[name] = listener }
        return name
    }

    func remove(_ name: String) { listeners.withLock { $0[name] = nil } }

    fileprivate subscript(_ name: String) -> Listener? { listeners.withLock { $0[name] } }
}

/// Gives interim responses to the listener of the connection's request. The client itself ignores them.
final class InterimHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let listeners: InterimListeners
    private var listener: InterimListeners.Listener?

    init(_ listeners: InterimListeners) { self.listeners = listeners }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data),
            let name = head.headers.first(name: InterimListeners.field),
            let listener = listeners[name]
        else { return context.write(data, promise: promise) }
        self.listener = listener
        head.headers.remove(name: InterimListeners.field)
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let listener, case .head(let head) = unwrapInboundIn(data), (100..<200).contains(head.status.code) {
            listener(head)
        }
        context.fireChannelRead(data)
    }
}
