import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL

/// A connection as the server takes it in: its address is counted, then comes TLS where there is a certificate, then HTTP.
struct GuardedChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    let base: HTTP1Channel
    let addresses: AddressLimit
    let certificate: ServerCertificate?
    let requestTimeout: TimeAmount
    let idleTimeout: TimeAmount

    struct Refused: Error {}

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        guard addresses.admit(channel) else {
            logger.debug("a connection was refused: its address has as many as it may")
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(Refused())
        }
        if let certificate {
            do {
                // Whoever is connected stays on its certificate; the next one gets the newest.
                let handler = NIOSSLServerHandler(context: certificate.context)
                try channel.pipeline.syncOperations.addHandler(handler)
            } catch {
                channel.close(promise: nil)
                return channel.eventLoop.makeFailedFuture(error)
            }
        }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            // Where requests and answers go by, before anything waits for anything.
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(
                SlowClientHandler(request: requestTimeout, idle: idleTimeout), position: .after(decoder))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
