import Foundation
import NIOHTTP1
import Records
import Synchronization
import TestSupport

/// The answers to hostile requests.
final class HostileBook: Sendable {
    private struct State {
        var answers: [String: Int] = [:]
        var faults: [String: (count: Int, example: String)] = [:]
    }

    private let state = Mutex(State())

    /// The number of answers with each status; `none` for no answer.
    var answers: [String: Int] { state.withLock(\.answers) }
    /// The number of undescribed answers of each operation, with an example.
    var faults: [(name: String, count: Int, example: String)] {
        state.withLock { $0.faults.map { ($0.key, $0.value.count, $0.value.example) } }.sorted { $0.0 < $1.0 }
    }
    var count: Int { state.withLock { $0.answers.values.reduce(0, +) } }

    func add(status: String) { state.withLock { $0.answers[status, default: 0] += 1 } }

    func add(fault: String, example: @autoclosure () -> String) {
        state.withLock { state in
            let known = state.faults[fault]
            state.faults[fault] = (count: (known?.count ?? 0) + 1, example: known?.example ?? example())
        }
    }
}

/// Sends hostile requests to all replicas of one service.
struct HostileClient {
    let suite: AttackedSuite
    let client: AttackClient
    let book: HostileBook
    let service: AttackedService
    let pause: Duration
    private var requests: HostileRequests
    private var random: SplitMix64

    init(
        _ suite: AttackedSuite, _ client: AttackClient, _ book: HostileBook, _ service: AttackedService,
        _ targets: HostileTargets, _ provider: Provider, pause: Duration, seed: UInt64
    ) async throws {
        (self.suite, self.client, self.book, self.service) = (suite, client, book, service)
        self.pause = pause
        let address = suite.replicas(of: service)[0].directAddress
        let document = try await client.require(Call(.GET, "/openapi.json"), to: address).json
        requests = HostileRequests(document, targets, provider, seed: seed)
        random = SplitMix64(seed: seed &+ 7)
    }

    /// Runs until it is stopped.
    mutating func run(while goesOn: @Sendable () -> Bool) async {
        let replicas = suite.replicas(of: service)
        while goesOn(), !Task.isCancelled {
            if let made = requests.next() {
                let replica = replicas[Int.random(in: 0..<replicas.count, using: &random)]
                // Half of the providers' requests use HTTP/2 with TLS.
                let apns = Bool.random(using: &random) && made.path.hasPrefix("/3/") ? replica.apnsAddress : nil
                do {
                    let answer = try await client.send(
                        made.call, to: apns ?? replica.address, within: 5, authorized: made.authorized)
                    book.add(status: "\(answer.status)")
                    if let fault = requests.fault(of: answer, to: made) {
                        book.add(
                            fault: "\(service) \(made.operation): \(fault)", example: Self.describe(made.call, replica))
                    }
                } catch { book.add(status: "none, \(Self.name(error))") }
            }
            try? await Task.sleep(for: pause * Double.random(in: 0.5..<1.5, using: &random))
        }
    }

    private static func name(_ error: any Error) -> String {
        let text = "\(error)".split(separator: " ").first.map(String.init) ?? ""
        return String(text.split(separator: "(").first ?? "")
    }

    private static func describe(_ call: Call, _ replica: Replica) -> String {
        let headers = call.headers.filter { $0.0 != "authorization" }.map { "\($0.0): \($0.1.prefix(100))" }
        let body = String(decoding: (call.body ?? []).prefix(500), as: UTF8.self)
        return "\(replica.name) \(call.method) \(call.path.prefix(200)) \(headers) \(body)"
    }
}
