import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// Gives one service one command after the other, and keeps what was acknowledged: the log must tell the same.
///
/// A command that is not acknowledged is repeated with its `Idempotency-Key`, as a client does that must know. Each gives exactly
/// one event of one of ``types``, which carries the trace of its command.
final class Witness: Sendable {
    static let device = "witness"
    private static let app = "/v1/devices/witness/apps/app"
    private static let types: Set<String> = [
        LifecycleEvent.ConditionsChanged.type, FetchEvent.IntervalSet.type, PushEvent.ThrottleChanged.type,
        TransferEvent.TaskSuspended.type, TransferEvent.TaskResumed.type,
    ]

    let service: SuiteService
    private let suite: RunningSuite
    private let traces = Mutex<[String]>([])
    private let isStopped = Mutex(false)
    private let acknowledgements = Tally()
    private let refusals = Tally()

    private init(_ service: SuiteService, _ suite: RunningSuite) {
        self.service = service
        self.suite = suite
    }

    /// One for each service that writes, all with the same device.
    static func all(_ suite: RunningSuite) async throws -> [Witness] {
        try await suite.call(.PUT, .lifecycle, "/v1/devices/\(device)", ["profile": "ios18"])
        try await suite.call(.PUT, .lifecycle, app, ["backgroundModes": ["fetch"]])
        let launched = try await suite.call(.POST, .lifecycle, app + "/transitions", ["event": "launch"])
        try await suite.call(.PUT, .transfer, app + "/sessions/s", [:], after: launched.position)
        try await suite.call(
            .POST, .transfer, app + "/sessions/s/downloads",
            [
                "url": .string(suite.address(.transfer) + "/content/none"),
                "earliestBeginDate": "2099-01-01T00:00:00.000Z",
            ])
        for service in [SuiteService.fetch, .push] {
            // Both know of the device from here on.
            _ = try await suite.call(.GET, service, readPath(service), after: launched.position)
        }
        return SuiteService.writers.map { Witness($0, suite) }
    }

    /// Goes on until ``stop()``, and then to the end of the command that is under way.
    func run() async throws {
        var number = 0
        while !isStopped.withLock({ $0 }) {
            number += 1
            let command = command(number)
            let trace = UUID().uuidString.replacingOccurrences(of: "-", with: "").lowercased()
            let headers = ["Idempotency-Key": "\(service)-\(number)", "traceparent": "00-\(trace)-00000000000000a1-01"]
            try await eventually(within: 180, describe: "\(service) acknowledges command \(number)") { [self] in
                let answer = try? await suite.send(
                    command.method, service, command.path, command.document, headers: headers)
                guard let answer, (200..<300).contains(answer.status) else {
                    refusals.add()
                    // Anything else than "not now" is no consequence of a fault.
                    guard let answer, ![429, 503].contains(answer.status) else { return false }
                    throw Unexpected("\(service): \(answer.status) \(String(buffer: answer.body))")
                }
                return true
            }
            traces.withLock { $0.append(trace) }
            acknowledgements.add()
        }
    }

    func stop() { isStopped.withLock { $0 = true } }

    /// Waits for so many more acknowledgements.
    func acknowledges(_ more: Int) async throws {
        let count = acknowledgements.count + more
        try await withTimeout(seconds: 120, "\(service) acknowledges \(more) more") { [self] in
            try await acknowledgements.reaches(count)
        }
    }

    /// Waits for so many more attempts in vain.
    func failed(_ more: Int) async throws {
        let count = refusals.count + more
        try await withTimeout(seconds: 120, "\(service) does not answer") { [self] in
            try await refusals.reaches(count)
        }
    }

    /// What was acknowledged is in the log: all of it, once, in the same order, and nothing else.
    func check(_ audit: LogAudit) {
        let logged = audit.events.filter {
            $0.key == .device(Self.device) && $0.source == service.rawValue && Self.types.contains($0.type)
        }
        let acknowledged = traces.withLock { $0 }
        #expect(logged.map { $0.traceparent.map { String($0.dropFirst(3).prefix(32)) } } == acknowledged)
        #expect(!acknowledged.isEmpty)
    }

    /// A document about the witnesses' device or app that each service has.
    static func readPath(_ service: SuiteService) -> String {
        switch service {
        case .lifecycle: "/v1/devices/\(device)"
        case .fetch: app + "/forecast"
        case .push: app + "/explain"
        case .transfer: app + "/sessions/s"
        case .ops: "/v1/devices/\(device)/timeline"
        }
    }

    private func command(_ number: Int) -> (method: HTTPMethod, path: String, document: JSON?) {
        let isOdd = number % 2 == 1
        return switch service {
        case .lifecycle:
            (.PATCH, "/v1/devices/\(Self.device)/conditions", ["battery": ["level": isOdd ? 0.75 : 0.5]])
        case .fetch: (.PUT, Self.app + "/minimum-interval", ["interval": .int(3600 + number % 100)])
        case .push: (.PUT, "/v1/devices/\(Self.device)/throttle", ["enabled": .bool(!isOdd)])
        case .transfer: (.POST, Self.app + "/sessions/s/tasks/1/" + (isOdd ? "suspend" : "resume"), nil)
        case .ops: (.GET, "/v1/clock", nil)
        }
    }
}
