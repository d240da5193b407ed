import Foundation
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// The shared state of all connections of a proxy.
final class ProxyTraffic: Sendable {
    /// The bytes that may pass. The last byte of an allowance begins the next pause.
    enum Flow: Equatable { case all, none, atMost(Int) }

    struct State {
        var refuses = false
        var refusals = 0
        var flow = Flow.all
        var cuts: [ProxyCut] = []
        var links: [ObjectIdentifier: ProxyLink] = [:]
    }

    let host: String
    let port: Int
    private let state = Mutex(State())

    init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    var links: [ProxyLink] { state.withLock { Array($0.links.values) } }
    var refuses: Bool { state.withLock(\.refuses) }
    var refusals: Int { state.withLock(\.refusals) }
    var isPaused: Bool { state.withLock { $0.flow == .none } }
    var cuts: [ProxyCut] { state.withLock(\.cuts) }

    func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

    /// Returns how many of `count` bytes may pass now, and subtracts them from the allowance; nil during a pause.
    func admit(_ count: Int) -> Int? {
        state.withLock { state in
            switch state.flow {
            case .all: return count
            case .none: return nil
            case .atMost(let most):
                state.flow = count < most ? .atMost(most - count) : .none
                return min(count, most)
            }
        }
    }
}

/// A client's connection and its connection to the server, both on the same event loop.
final class ProxyLink: Sendable {
    enum Direction { case toServer, toClient }

    /// An event that lets a relay continue to read.
    struct GoOn {}

    private struct State {
        var server: (any Channel)?
        /// The bytes received during a pause, in order; nil is the end of a stream.
        var held: [(Direction, ByteBuffer?)] = []
        var past = Data()
        var isCut = false
    }

    let client: any Channel
    let traffic: ProxyTraffic
    private let state = Mutex(State())

    init(client: any Channel, traffic: ProxyTraffic) {
        self.client = client
        self.traffic = traffic
    }

    /// Returns the receiver of a direction; nil before the server is connected.
    func target(_ direction: Direction) -> (any Channel)? {
        direction == .toClient ? client : state.withLock(\.server)
    }

    /// Connects to the server. Reading from the client begins afterwards.
    func open() {
        guard !traffic.refuses else {
            traffic.update { $0.refusals += 1 }
            // With a linger time of zero, closing resets the connection.
            _ = (client as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            return client.close(promise: nil)
        }
        traffic.update { $0.links[ObjectIdentifier(self)] = self }
        ClientBootstrap(group: client.eventLoop)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(ProxyRelay(self, .toClient))
                }
            }
            .connect(host: traffic.host, port: traffic.port)
            .whenComplete { result in
                let sides = [self.client] + ((try? result.get()).map { [$0] } ?? [])
                // Kept until both are closed, because a pause may hold back the end of one side.
                EventLoopFuture.andAllComplete(sides.map(\.closeFuture), on: self.client.eventLoop)
                    .whenComplete { _ in self.traffic.update { $0.links[ObjectIdentifier(self)] = nil } }
                switch result {
                case .success(let server) where self.client.isActive:
                    self.state.withLock { $0.server = server }
                    self.client.pipeline.fireUserInboundEventTriggered(GoOn())
                case .success(let server): server.close(promise: nil)
                case .failure: self.client.close(promise: nil)
                }
            }
    }

    /// Receives bytes of one direction; nil is its end. Called on the event loop.
    func take(_ bytes: ByteBuffer?, _ direction: Direction) {
        // Appended to the held bytes, so that the order is kept.
        state.withLock { $0.held.append((direction, bytes)) }
        passOn()
    }

    /// Forwards the held bytes as far as the flow allows. Called on the event loop.
    private func passOn() {
        while let (direction, bytes) = next() { pass(bytes, direction) }
    }

    private func next() -> (Direction, ByteBuffer?)? {
        state.withLock { state in
            guard let (direction, bytes) = state.held.first, let count = traffic.admit(bytes?.readableBytes ?? 0) else {
                return nil
            }
            guard var rest = bytes, count < rest.readableBytes else { return state.held.removeFirst() }
            let part = rest.readSlice(length: count)
            state.held[0].1 = rest
            return (direction, part)
        }
    }

    private func pass(_ bytes: ByteBuffer?, _ direction: Direction) {
        guard let target = target(direction), !state.withLock(\.isCut) else { return }
        guard let bytes else {
            // The empty write completes after all others, so no bytes are lost.
            return target.writeAndFlush(ByteBuffer()).whenComplete { _ in target.close(promise: nil) }
        }
        if direction == .toServer, let cut = strike(bytes) { return carryOut(cut, bytes, server: target) }
        target.writeAndFlush(bytes, promise: nil)
    }

    /// Forwards the held bytes after a pause, and continues.
    func resume() {
        client.eventLoop.execute {
            self.passOn()
            self.client.pipeline.fireUserInboundEventTriggered(GoOn())
            self.target(.toServer)?.pipeline.fireUserInboundEventTriggered(GoOn())
        }
    }

    /// Closes both sides. The future succeeds after both are closed.
    func close() -> EventLoopFuture<Void> {
        let sides = [client] + (target(.toServer).map { [$0] } ?? [])
        sides.forEach { $0.close(promise: nil) }
        return EventLoopFuture.andAllComplete(sides.map(\.closeFuture), on: client.eventLoop)
    }

    private func strike(_ bytes: ByteBuffer) -> ProxyCut? {
        let chunk = Data(bytes.readableBytesView)
        let past = state.withLock { state in
            defer { state.past = Data((state.past + chunk).suffix(ProxyCut.longest)) }
            return state.past
        }
        return traffic.cuts.first { $0.strikes(chunk, after: past) }
    }

    private func carryOut(_ cut: ProxyCut, _ bytes: ByteBuffer, server: any Channel) {
        state.withLock { $0.isCut = true }
        client.closeFuture.whenComplete { _ in cut.clients.add() }
        server.closeFuture.whenComplete { _ in cut.servers.add() }
        switch cut.moment {
        case .beforeForwarding: _ = close()
        case .forwarding:
            // Closes only the output to the server, and drops its answers until it closes. A close with unread answers
            // would reset the connection, and the server might never receive the bytes.
            server.writeAndFlush(bytes).whenComplete { _ in
                server.close(mode: .output, promise: nil)
                self.client.close(promise: nil)
            }
        }
    }
}
