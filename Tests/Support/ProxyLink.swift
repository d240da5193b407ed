import Foundation
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// What the connections of a proxy share.
final class ProxyTraffic: Sendable {
    struct State {
        var refuses = false
        var isPaused = false
        var cuts: [ProxyCut] = []
        var links: [ObjectIdentifier: ProxyLink] = [:]
    }

    let host: String
    let port: Int
    private let state = Mutex(State())

    init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    var links: [ProxyLink] { state.withLock { Array($0.links.values) } }
    var refuses: Bool { state.withLock(\.refuses) }
    var isPaused: Bool { state.withLock(\.isPaused) }
    var cuts: [ProxyCut] { state.withLock(\.cuts) }

    func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }
}

/// One client's connection and the one to the server that belongs to it, both on the same event loop.
final class ProxyLink: Sendable {
    enum Direction { case toServer, toClient }

    /// Tells a relay that it may go on reading.
    struct GoOn {}

    private struct State {
        var server: (any Channel)?
        /// What came during a pause, in order; nil is the end of a stream.
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

    /// Where bytes of a direction go; nil while the server is not connected yet.
    func target(_ direction: Direction) -> (any Channel)? {
        direction == .toClient ? client : state.withLock(\.server)
    }

    /// Connects to the server; the client is not read before.
    func open() {
        guard !traffic.refuses else {
            // With no time to linger, closing resets.
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
                // Kept until both are closed: a pause may hold the end of one side back from the other.
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

    /// Takes what has come in one direction; nil is its end. Called on the event loop.
    func take(_ bytes: ByteBuffer?, _ direction: Direction) {
        let isPaused = traffic.isPaused
        // Also behind what is still held: nothing overtakes.
        let isHeld = state.withLock { state in
            let isHeld = isPaused || !state.held.isEmpty
            if isHeld { state.held.append((direction, bytes)) }
            return isHeld
        }
        if !isHeld { pass(bytes, direction) }
    }

    private func pass(_ bytes: ByteBuffer?, _ direction: Direction) {
        guard let target = target(direction), !state.withLock(\.isCut) else { return }
        guard let bytes else {
            // The empty write is done after all others: nothing that was on its way is lost.
            return target.writeAndFlush(ByteBuffer()).whenComplete { _ in target.close(promise: nil) }
        }
        if direction == .toServer, let cut = strike(bytes) { return carryOut(cut, bytes, server: target) }
        target.writeAndFlush(bytes, promise: nil)
    }

    /// After a pause: what was held first, then on.
    func resume() {
        client.eventLoop.execute {
            guard !self.traffic.isPaused else { return }
            let held = self.state.withLock { state in
                defer { state.held = [] }
                return state.held
            }
            held.forEach { self.pass($0.1, $0.0) }
            self.client.pipeline.fireUserInboundEventTriggered(GoOn())
            self.target(.toServer)?.pipeline.fireUserInboundEventTriggered(GoOn())
        }
    }

    /// Closes both sides. The future succeeds when they are closed.
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
            // Only the output to the server is closed, and its answers are read and dropped until it closes: a
            // connection closed with answers unread would be reset, and the server might never see the bytes.
            server.writeAndFlush(bytes).whenComplete { _ in
                server.close(mode: .output, promise: nil)
                self.client.close(promise: nil)
            }
        }
    }
}
