import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// Many connections that do one hostile thing, again and again, until they are told to leave.
///
/// A connection that the service closes comes back after a pause.
public final class HostileCrowd: Sendable {
    /// The thing that all connections of a crowd do.
    public enum Kind: String, CaseIterable, Sendable {
        /// Requests with a token that nobody issued.
        case garbageTokens = "garbage tokens"
        /// Requests with tokens of the right form: with a wrong signature, or of a key that does not exist.
        case forgedTokens = "forged tokens"
        /// JSON bodies that arrive one byte a second.
        case drippedBodies = "dripped bodies"
        /// Files of an app and uploads that arrive one byte a second, with one device's token.
        case drippedUploads = "dripped uploads"
        /// Long polls with one device's token.
        case longPolls = "long polls"
        /// Connections to the TLS port that send nothing.
        case silentTLS = "silent TLS"
        /// HTTP/2 requests without a provider's token.
        case refusedHTTP2 = "refused HTTP/2 requests"
        /// HTTP/2 requests with providers' tokens of the right form, as `forgedTokens`.
        case forgedProviderTokens = "forged provider tokens"
        /// Requests for the digest of a large file.
        case wantedDigests = "digests of a large file"
    }

    /// The ports of the suite on 127.0.0.1, and what a hostile client knows.
    public struct Targets: Sendable {
        public var lifecycle: Int
        public var push: Int
        /// The port for providers, with TLS.
        public var apns: Int
        public var transfer: Int
        /// A device of the hostile client, its valid token, and its app.
        public var device: String
        public var token: String
        public var app: String
        /// The path of a large file of `transfer`.
        public var content: String
        /// The team and the id of a registered key of a provider.
        public var team: String
        public var providerKey: String

        public init(
            lifecycle: Int, push: Int, apns: Int, transfer: Int, device: String, token: String, app: String,
            content: String, team: String, providerKey: String
        ) {
            (self.lifecycle, self.push, self.apns, self.transfer) = (lifecycle, push, apns, transfer)
            (self.device, self.token, self.app, self.content) = (device, token, app, content)
            (self.team, self.providerKey) = (team, providerKey)
        }
    }

    private struct Seen {
        var answers: [Int: Int] = [:]
        var isOver = false
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    /// Threads of its own, so that a crowd delays no other client of the process.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    /// The bytes of a dripped body.
    private static let drips = 300

    public let kind: Kind
    private let targets: Targets
    private let count: Int
    private let tls: NIOSSLContext
    private let seen = Mutex(Seen())
    /// The number of requests so far.
    private let requests = Atomic(0)

    /// - Parameter count: the number of connections.
    public init(_ kind: Kind, count: Int, _ targets: Targets) throws {
        (self.kind, self.count, self.targets) = (kind, count, targets)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        tls = try NIOSSLContext(configuration: configuration)
    }

    /// The number of answers by status. 0 counts the connections that the service closed.
    public var answers: [Int: Int] { seen.withLock { $0.answers } }

    /// The number of open connections.
    public var open: Int { seen.withLock { $0.channels.count } }

    /// Opens all connections, 100 at a time.
    public func gather() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 100 { try await group.next() }
                group.addTask { try await self.connect().get() }
            }
            try await group.waitForAll()
        }
    }

    /// Closes all connections.
    public func leave() async {
        let channels = seen.withLock { seen in
            seen.isOver = true
            return Array(seen.channels.values)
        }
        for channel in channels {
            channel.close(promise: nil)
            // Not until then is the connection out of the list.
            try? await channel.closeFuture.get()
        }
    }

    private var port: Int {
        switch kind {
        case .garbageTokens, .forgedTokens, .drippedBodies: targets.lifecycle
        case .longPolls: targets.push
        case .silentTLS, .refusedHTTP2, .forgedProviderTokens: targets.apns
        case .drippedUploads, .wantedDigests: targets.transfer
        }
    }

    private func connect() -> EventLoopFuture<Void> {
        let loop = Self.loops.next()
        return ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.equip(channel.pipeline.syncOperations) }
            }
            .connect(host: "127.0.0.1", port: port)
            .map { channel in
                let id = ObjectIdentifier(channel)
                let isOver = self.seen.withLock { seen in
                    if !seen.isOver { seen.channels[id] = channel }
                    return seen.isOver
                }
                channel.closeFuture.whenComplete { _ in self.left(id, loop) }
                if isOver { channel.close(promise: nil) }
            }
    }

    private func left(_ id: ObjectIdentifier, _ loop: any EventLoop) {
        let isOver = seen.withLock { seen in
            seen.channels[id] = nil
            if !seen.isOver { seen.answers[0, default: 0] += 1 }
            return seen.isOver
        }
        guard !isOver else { return }
        loop.scheduleTask(in: .seconds(1)) { self.connect().whenFailure { _ in } }
    }

    private func equip(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        let heard: @Sendable (Int) -> Void = { status in
            self.seen.withLock { $0.answers[status, default: 0] += 1 }
        }
        switch kind {
        case .silentTLS: break
        case .refusedHTTP2, .forgedProviderTokens:
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
            let streams = try pipeline.configureHTTP2Pipeline(
                mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
            ) { $0.eventLoop.makeSucceededVoidFuture() }
            try pipeline.addHandler(RefusedStreams(streams, token: { self.nextProviderToken() }, heard))
        case .garbageTokens, .forgedTokens, .longPolls, .wantedDigests:
            try pipeline.addHandler(RepeatedRequest(drips: "", heard) { self.nextRequest() })
        case .drippedBodies, .drippedUploads:
            let drips = String(repeating: " ", count: Self.drips)
            try pipeline.addHandler(RepeatedRequest(drips: drips, heard) { self.nextRequest() })
        }
    }

    /// Returns the next request over HTTP/1.1.
    private func nextRequest() -> String {
        let number = requests.add(1, ordering: .relaxed).newValue
        let device = "/v1/devices/\(targets.device)"
        let authorization = "Authorization: Bearer \(targets.token)\r\n"
        let lines =
            switch kind {
            case .garbageTokens: "GET \(device) HTTP/1.1\r\nAuthorization: Bearer garbage\r\n"
            case .forgedTokens:
                "GET \(device) HTTP/1.1\r\nAuthorization: Bearer "
                    + "\(ForgedTokens.device(like: targets.token, number: number))\r\n"
            case .drippedBodies:
                "PATCH \(device)/conditions HTTP/1.1\r\n\(authorization)Content-Type: application/json\r\n"
                    + "Content-Length: \(Self.drips)\r\n"
            case .drippedUploads:
                "\(upload(number))\(authorization)Content-Length: \(Self.drips)\r\n"
            case .longPolls: "GET \(device)/notifications?wait=30 HTTP/1.1\r\n\(authorization)"
            case .wantedDigests:
                "GET \(targets.content) HTTP/1.1\r\n\(authorization)Want-Repr-Digest: sha-512=9\r\nRange: bytes=0-0\r\n"
            case .silentTLS, .refusedHTTP2, .forgedProviderTokens: ""
            }
        return lines + "Host: 127.0.0.1\r\n\r\n"
    }

    /// Returns the first lines of an upload: a file of the app, or an upload by tus, in turn.
    private func upload(_ number: Int) -> String {
        guard number.isMultiple(of: 2) else {
            return "POST /files HTTP/1.1\r\nTus-Resumable: 1.0.0\r\nUpload-Length: \(Self.drips)\r\n"
                + "Content-Type: application/offset+octet-stream\r\n"
        }
        let file = "/v1/devices/\(targets.device)/apps/\(targets.app)/files/film"
        return "PUT \(file) HTTP/1.1\r\nContent-Type: text/plain\r\n"
    }

    /// Returns a forged token of a provider; nil for requests without a token.
    private func nextProviderToken() -> String? {
        guard kind == .forgedProviderTokens else { return nil }
        let number = requests.add(1, ordering: .relaxed).newValue
        return ForgedTokens.provider(of: targets.team, key: targets.providerKey, number: number)
    }
}
