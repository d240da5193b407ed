import Glibc
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport

/// Many connections that do one hostile thing, again and again, until they are told to leave.
///
/// A connection that the service closes or does not accept comes back after a pause.
public final class HostileCrowd: Sendable {
    private struct Seen {
        var answers: [Int: Int] = [:]
        var opened = 0
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
    /// The addresses that the connections take in turn; none for the usual one.
    private let sources: [SocketAddress]
    private let tls: NIOSSLContext
    private let seen = Mutex(Seen())
    /// The number of requests so far.
    private let requests = Atomic(0)
    /// The number of attempts to connect so far.
    private let attempts = Atomic(0)

    /// - Parameters:
    ///   - count: the number of connections.
    ///   - addresses: the number of addresses from which they come, at most 250. One is 127.0.0.1, which honest callers
    ///     have too. Several are 127.0.0.2 and those after it. A service limits the connections and the invalid
    ///     credentials of each address.
    public init(_ kind: Kind, count: Int, addresses: Int = 1, _ targets: Targets) throws {
        (self.kind, self.count, self.targets) = (kind, count, targets)
        let last = addresses > 1 ? addresses + 1 : 1
        sources = try (2..<last + 1).map { try SocketAddress(ipAddress: "127.0.0.\($0)", port: 0) }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["h2"]
        tls = try NIOSSLContext(configuration: configuration)
    }

    /// The number of answers by status. 0 counts the connections that the service closed.
    public var answers: [Int: Int] { seen.withLock { $0.answers } }

    /// The number of open connections.
    public var open: Int { seen.withLock { $0.channels.count } }

    /// The number of connections that were opened so far.
    public var opened: Int { seen.withLock { $0.opened } }

    /// Returns the processor seconds of the threads of all crowds of this process so far.
    public static func processorSeconds() async throws -> Double {
        var seconds = 0.0
        for loop in loops.makeIterator() { seconds += try await loop.submit { HostileCrowd.threadSeconds() }.get() }
        return seconds
    }

    /// The processor seconds of the calling thread.
    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Opens all connections, 100 at a time. One that the service does not accept in time comes back after a pause.
    public func gather() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                if index >= 100 { try await group.next() }
                group.addTask {
                    let loop = Self.loops.next()
                    do { try await self.connect(loop).get() } catch ChannelError.connectTimeout { self.comeBack(loop) }
                }
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

    private func connect(_ loop: any EventLoop) -> EventLoopFuture<Void> {
        var bootstrap = ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.equip(channel.pipeline.syncOperations) }
            }
        if !sources.isEmpty {
            let number = attempts.add(1, ordering: .relaxed).newValue
            bootstrap = bootstrap.bind(to: sources[number % sources.count])
        }
        return bootstrap.connect(host: "127.0.0.1", port: targets.ports[kind.target] ?? 0)
            .map { channel in
                let id = ObjectIdentifier(channel)
                let isOver = self.seen.withLock { seen in
                    if !seen.isOver {
                        seen.channels[id] = channel
                        seen.opened += 1
                    }
                    return seen.isOver
                }
                channel.closeFuture.whenComplete { _ in self.left(id, loop) }
                if isOver { channel.close(promise: nil) }
            }
    }

    private func left(_ id: ObjectIdentifier, _ loop: any EventLoop) {
        seen.withLock { seen in
            seen.channels[id] = nil
            if !seen.isOver { seen.answers[0, default: 0] += 1 }
        }
        comeBack(loop)
    }

    /// Connects after a pause, until it succeeds or the crowd leaves.
    private func comeBack(_ loop: any EventLoop) {
        guard !seen.withLock({ $0.isOver }) else { return }
        loop.scheduleTask(in: .seconds(1)) { self.connect(loop).whenFailure { _ in self.comeBack(loop) } }
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
        let hostile = targets.devices[number % targets.devices.count]
        let device = "/v1/devices/\(hostile.name)"
        let authorization = "Authorization: Bearer \(hostile.token)\r\n"
        let lines =
            switch kind {
            case .garbageTokens: "GET \(device) HTTP/1.1\r\nAuthorization: Bearer garbage\r\n"
            case .forgedTokens:
                "GET \(device)/budgets HTTP/1.1\r\nAuthorization: Bearer "
                    + "\(ForgedTokens.device(like: hostile.token, number: number))\r\n"
            case .drippedBodies:
                "PATCH \(device)/conditions HTTP/1.1\r\n\(authorization)Content-Type: application/json\r\n"
                    + "Content-Length: \(Self.drips)\r\n"
            case .drippedUploads:
                "\(upload(number, device))\(authorization)Content-Length: \(Self.drips)\r\n"
            case .longPolls: "GET \(device)/notifications?wait=30 HTTP/1.1\r\n\(authorization)"
            case .wantedDigests:
                "GET \(targets.content) HTTP/1.1\r\n\(authorization)Want-Repr-Digest: sha-512=9\r\nRange: bytes=0-0\r\n"
            case .silentTLS, .refusedHTTP2, .forgedProviderTokens: ""
            }
        return lines + "Host: 127.0.0.1\r\n\r\n"
    }

    /// Returns the first lines of an upload: a file of the app, or an upload by tus, in turn.
    private func upload(_ number: Int, _ device: String) -> String {
        guard number.isMultiple(of: 2) else {
            return "POST /files HTTP/1.1\r\nTus-Resumable: 1.0.0\r\nUpload-Length: \(Self.drips)\r\n"
                + "Content-Type: application/offset+octet-stream\r\n"
        }
        return "PUT \(device)/apps/\(targets.app)/files/film HTTP/1.1\r\nContent-Type: text/plain\r\n"
    }

    /// Returns a forged token of a provider; nil for requests without a token.
    private func nextProviderToken() -> String? {
        guard kind == .forgedProviderTokens else { return nil }
        let number = requests.add(1, ordering: .relaxed).newValue
        return ForgedTokens.provider(of: targets.team, key: targets.providerKey, number: number)
    }
}
