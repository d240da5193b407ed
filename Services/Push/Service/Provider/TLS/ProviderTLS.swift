import Foundation
import HTTPKit
import Logging
import NIOCore
import NIOSSL
import NIOTLS
import ServiceKit
import SwiftASN1
import Telemetry
import X509

/// TLS of the provider endpoint: HTTP/2 by ALPN, and optional client certificates.
struct ProviderTLS: Sendable {
    let certificate: ServerCertificate
    /// The authorities of client certificates.
    let authorities: ClientAuthorities

    /// Adapts the TLS settings of a server to this endpoint.
    static func adapt(_ configuration: inout TLSConfiguration) {
        configuration.applicationProtocols = ["h2"]
        // The handshake accepts any client certificate. It is verified later, so that the answer can be
        // `BadCertificate`.
        configuration.certificateVerification = .optionalVerification
    }

    /// Adds the TLS handshake to a connection.
    ///
    /// - Parameters:
    ///   - time: the timeout of the handshake.
    ///   - accept: continues with HTTP/2, on the connection's event loop.
    func configure(
        _ channel: any Channel, handshake time: TimeAmount, accept: @escaping (ClientCertificate?) throws -> Void
    ) throws {
        let shown = NIOLoopBoundBox<[NIOSSLCertificate]>([], eventLoop: channel.eventLoop)
        let tls = NIOSSLServerHandler(
            context: certificate.context,
            customVerificationCallback: { chain, promise in
                shown.value = chain
                promise.succeed(.certificateVerified)
            })
        let handshake = HandshakeHandler(time: time, authorities: authorities, shown: { shown.value }, accept: accept)
        try channel.pipeline.syncOperations.addHandlers([tls, handshake])
    }
}

extension ProviderTLS {
    /// The settings of the endpoint's certificate and of its clients.
    struct Settings: Sendable {
        let certificate: CertificateFiles
        /// The folder of the development authority.
        let folder: String
        let names: String
        let clientAuthority: String?

        init(_ reader: SettingsReader) {
            certificate = CertificateFiles(
                reader, chain: "APNS_TLS_CERTIFICATE", "PEM file with the provider endpoint's certificate chain",
                key: "APNS_TLS_KEY", "PEM file with the private key of APNS_TLS_CERTIFICATE")
            folder = reader.text(
                "APNS_CERTIFICATES", Push.certificateFolder,
                "folder of the development authority, created on first start; clients trust its ca.pem")
            names = reader.text(
                "APNS_NAMES", "localhost,127.0.0.1,::1,push",
                "host names and addresses of the endpoint, for its development certificate")
            clientAuthority = reader.text(
                "APNS_CLIENT_AUTHORITY",
                "PEM file of the authority that issues providers' certificates, if not the development authority; all"
                    + " its certificates are trusted, so use an authority for this alone")
        }
    }

    /// Reads the configured certificate, or creates one with the development authority.
    ///
    /// - Throws: a one-line error if a file can't be read or written.
    init(_ settings: Settings, logger: Logger) throws {
        let clients = try settings.clientAuthority.map { try Self.authorities($0) }
        if let own = try settings.certificate.certificate(logger: logger, adapt: Self.adapt) {
            certificate = own
            authorities = ClientAuthorities(clients ?? [])
            return
        }
        let authority = try DevelopmentAuthority.open(URL(fileURLWithPath: settings.folder))
        let names = settings.names.split(separator: ",").map { String($0).trimmingCharacters(in: .whitespaces) }
        try authority.provideServerCertificate(names.filter { !$0.isEmpty })
        certificate = try ServerCertificate(
            chainFile: authority.serverFile.path, keyFile: authority.serverKeyFile.path,
            names: authority.names, logger: logger, adapt: Self.adapt)
        authorities = ClientAuthorities(clients ?? [authority.certificate])
        logger.info("use development authority", metadata: [LogKey.file: "\(authority.caFile.path)"])
    }

    private static func authorities(_ file: String) throws(ConfigurationError) -> [Certificate] {
        let found = (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { text in
            try? PEMDocument.parseMultiple(pemString: text).map { try Certificate(pemDocument: $0) }
        }
        guard let found, !found.isEmpty else {
            throw ConfigurationError(
                "APNS_CLIENT_AUTHORITY (--apns-client-authority): the file has no certificate in PEM")
        }
        return found
    }
}

/// Waits for the end of the handshake, verifies the client certificate, and accepts the connection of a client that
/// uses HTTP/2.
private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let time: TimeAmount
    private let authorities: ClientAuthorities
    private let shown: () -> [NIOSSLCertificate]
    private let accept: (ClientCertificate?) throws -> Void
    private var patience: Scheduled<Void>?
    private var early: [NIOAny] = []
    /// The largest number of reads before the handshake ends, each of at most 64 KiB.
    private static let earlyLimit = 32

    init(
        time: TimeAmount, authorities: ClientAuthorities, shown: @escaping () -> [NIOSSLCertificate],
        accept: @escaping (ClientCertificate?) throws -> Void
    ) {
        self.time = time
        self.authorities = authorities
        self.shown = shown
        self.accept = accept
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        patience = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { patience?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard early.count < Self.earlyLimit else { return context.close(promise: nil) }
        early.append(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted(let name) = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        let (chain, authorities) = (shown(), authorities)
        if !chain.isEmpty { return goOn(name, context) { await authorities.judge(chain) } }
        // A client that resumes a session does not send its certificate again.
        if let resumed = try? context.pipeline.syncOperations.nioSSL_peerCertificate() {
            return goOn(name, context) { await authorities.judge(resumed: resumed) }
        }
        goOn(name, nil, context)
    }

    private func goOn(
        _ name: String?, _ context: ChannelHandlerContext, judge: @escaping @Sendable () async -> ClientCertificate
    ) {
        let judged = context.eventLoop.makePromise(of: ClientCertificate.self)
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        judged.futureResult.whenSuccess { bound.value.0.goOn(name, $0, bound.value.1) }
        // The task verifies one chain. The connection waits for it.
        judged.completeWithTask { await judge() }
    }

    private func goOn(_ name: String?, _ certificate: ClientCertificate?, _ context: ChannelHandlerContext) {
        patience?.cancel()
        do {
            if name == "h2" { try accept(certificate) } else { look(certificate, context) }
            for data in early { context.fireChannelRead(data) }
            early = []
            context.fireChannelReadComplete()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch { context.close(promise: nil) }
    }

    /// Detects HTTP/2 by the first bytes: some clients, such as aioapns, use it without ALPN.
    private func look(_ certificate: ClientCertificate?, _ context: ChannelHandlerContext) {
        let channel = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        PrefaceHandler.look(channel, within: time).whenSuccess { preface in
            guard preface.value.isHTTP2 else { return Self.refuse(channel) }
            do {
                try bound.value.accept(certificate)
                preface.value.release()
            } catch { channel.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Refuses another protocol with an HTTP/1.1 answer, which the client most likely understands.
    private static func refuse(_ channel: any Channel) {
        let words = "This port supports HTTP/2 only (ALPN h2), as APNs does.\n"
        let answer =
            "HTTP/1.1 505 HTTP Version Not Supported\r\nConnection: close\r\nContent-Type: text/plain\r\n"
            + "Content-Length: \(words.utf8.count)\r\n\r\n\(words)"
        channel.writeAndFlush(ByteBuffer(string: answer)).whenComplete { _ in channel.close(promise: nil) }
    }
}
