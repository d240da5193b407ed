import Contracts
import Foundation
import NIOCore
import NIOHTTP1
import Records
import Synchronization
import TestSupport
import Testing

/// Sends commands to a service one after another, and records the acknowledged ones. The log must contain the same.
///
/// It pauses after each command, because faults and recovery take longer if the witnesses use both processors.
/// It repeats a command without acknowledgement with its `Idempotency-Key`. Each command gives exactly one event of one
/// of ``types``, with the trace of the command.
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

    /// Returns a witness for each service that writes, all with the same device.
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
            // From now on, both services know the device.
            _ = try await suite.call(.GET, service, readPath(service), after: launched.position)
        }
        return SuiteService.writers.map { Witness($0, suite) }
    }

    /// Runs until ``stop()`` and until the current command is acknowledged.
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
                    // A fault explains only "not now" responses.
                    guard let answer, ![429, 503].contains(answer.status) else { return false }
                    throw Unexpected("\(service): \(answer.status) \(String(buffer: answer.body))")
                }
                return true
            }
            traces.withLock { $0.append(trace) }
            acknowledgements.add()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func stop() { isStopped.withLock { $0 = true } }

    /// Waits for `more` further acknowledgements.
    func acknowledges(_ more: Int) async throws {
        let count = acknowledgements.count + more
        try await withTimeout(seconds: 120, "\(service) acknowledges \(more) more") { [self] in
            try await acknowledgements.reaches(count)
        }
    }

    /// Waits for `more` further failed attempts.
    func failed(_ more: Int) async throws {
        let count = refusals.count + more
        try await withTimeout(seconds: 120, "\(service) does not answer") { [self] in
            try await refusals.reaches(count)
        }
    }

    /// The log has exactly the acknowledged commands, once each and in order.
    func check(_ audit: LogAudit) {
        let logged = audit.events.filter {
            $0.key == .device(Self.device) && $0.source == service.rawValue && Self.types.contains($0.type)
        }
        let acknowledged = traces.withLock { $0 }
        #expect(logged.map { $0.traceparent.map { String($0.dropFirst(3).prefix(32)) } } == acknowledged)
        #expect(!acknowledged.isEmpty)
    }

    /// Returns a route of each service about the device or app of the witnesses.
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
        case .transfer: (.POST, Self.app + "/sessions/s/tasks/1/" + (isOdd ? "resume" : "suspend"), nil)
        case .ops: (.GET, "/v1/clock", nil)
        }
    }
}
