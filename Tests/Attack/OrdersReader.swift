import Foundation
import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// Polls the orders of a device from any replica of `lifecycle`, each time from the last answer's position. After the
/// attack it reads all orders again without faults: both must be equal.
final class OrdersReader: Sendable {
    private struct State {
        var first: String?
        var next: String?
        var orders: [String] = []
        var faults: [String] = []
    }

    let device: HonestDevice
    private let suite: AttackedSuite
    private let client: AttackClient
    private let state = Mutex(State())

    init(_ device: HonestDevice, _ suite: AttackedSuite, _ client: AttackClient) {
        (self.device, self.suite, self.client) = (device, suite, client)
    }

    /// The number of received orders.
    var count: Int { state.withLock(\.orders.count) }
    var faults: [String] { state.withLock(\.faults) }

    /// Runs until it is stopped.
    func run(while goesOn: @Sendable () -> Bool) async {
        while goesOn(), !Task.isCancelled {
            guard let address = suite.replicas(of: .lifecycle).randomElement()?.address else { return }
            let (after, isFirst) = state.withLock { ($0.next, $0.first == nil) }
            let page = try? await page(after: after, wait: isFirst ? 0 : 2, address)
            state.withLock { state in
                guard let page else { return }
                // The orders of the first answer precede the position that it names.
                if state.first == nil { state.first = page.next } else { state.orders += page.orders }
                state.next = page.next
            }
            if page == nil { try? await Task.sleep(for: .milliseconds(200)) }
        }
    }

    /// Reads the orders after the last answer, and then all orders again.
    func finish() async {
        guard let first = state.withLock({ $0.first }) else {
            return state.withLock { $0.faults.append("no order was ever read") }
        }
        do {
            let address = suite.replicas(of: .lifecycle)[0].directAddress
            let rest = try await all(after: state.withLock { $0.next }, address)
            let again = try await all(after: first, address)
            let told = state.withLock { state in
                state.orders += rest
                return state.orders
            }
            guard told != Array(again.prefix(told.count)) || again.count < told.count else { return }
            let place = zip(told, again).prefix { $0 == $1 }.count
            state.withLock { state in
                state.faults.append(
                    "orders of \(device.name): \(told.count) were received, \(again.count) exist; they differ from the "
                        + "\(place + 1)th on: \(told.dropFirst(place).prefix(3)) and \(again.dropFirst(place).prefix(3))"
                )
            }
        } catch {
            state.withLock { $0.faults.append("orders of \(device.name): \(error)") }
        }
    }

    private func all(after place: String?, _ address: String) async throws -> [String] {
        var (orders, next) = ([String](), place)
        while true {
            let page = try await page(after: next, wait: 0, address)
            guard !page.orders.isEmpty else { return orders }
            orders += page.orders
            next = page.next
        }
    }

    private func page(
        after place: String?, wait: Int, _ address: String
    ) async throws -> (orders: [String], next: String?) {
        let after = place.map { "&after=\($0)" } ?? ""
        let answer = try await client.send(
            Call(.GET, "\(device.path)/orders?wait=\(wait)\(after)"), to: address, within: 8)
        guard answer.isSuccess, let items = answer.json["items"]?.items else {
            throw AttackFailed("\(answer.status) \(answer.excerpt)")
        }
        return (items.compactMap { $0["order"]?.string }, answer.json["next"]?.string ?? place)
    }
}
