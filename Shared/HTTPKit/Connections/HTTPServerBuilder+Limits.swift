import Hummingbird
public import HummingbirdCore
public import NIOCore
public import NIOSSL

extension HTTPServerBuilder {
    /// Returns a server for HTTP/1.1 that limits connections, heads and bodies.
    ///
    /// - Parameters:
    ///   - connections: counts the open connections.
    ///   - perAddress: the most connections of one address.
    ///   - proxies: tell the addresses of their clients.
    ///   - bodyRate: the lowest rate of bodies, in bytes a second; 0 means no limit.
    ///   - tls: returns the TLS context for a new connection; nil without TLS.
    ///   - http2: accepts connections that begin with the preface of HTTP/2.
    public static func limited(
        connections: ConnectionCount, perAddress: Int, proxies: TrustedProxies = TrustedProxies(),
        requestTimeout: TimeAmount, idleTimeout: TimeAmount, bodyRate: Int, tls: (@Sendable () -> NIOSSLContext)?,
        http2: HTTP2Acceptor?
    ) -> HTTPServerBuilder {
        let http = HTTP1Channel.Configuration(
            idleTimeout: idleTimeout,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: RequestGuard.longestField, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100))
        let addresses = AddressLimit(perAddress)
        return HTTPServerBuilder { responder in
            LimitedServerChannel(
                base: HTTP1Channel(responder: responder, configuration: http), addresses: addresses, proxies: proxies,
                connections: connections, tls: tls, requestTimeout: requestTimeout, bodyRate: bodyRate,
                idleTimeout: idleTimeout, http2: http2)
        }
    }
}
