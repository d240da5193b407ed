import EventLog
import HTTPKit
import Hummingbird
import Identity
import Records
import ServiceLifecycle
import Timeline

/// The suite's clock over HTTP.
struct ClockRoutes: Sendable {
    let control: ClockControl
    let store: OpsStore
    let tail: LogTail
    private let past = PastOrders()

    init(control: ClockControl, store: OpsStore, tail: LogTail) {
        self.control = control
        self.store = store
        self.tail = tail
    }

    func add(to table: inout RouteTable) {
        table.add(
            .get, "/v1/clock", "Returns the suite time, its rate and whether it is frozen", .scope(.read),
            .refuses([.databaseUnavailable])
        ) { _ in Reply(ClockDocument(try await asking { try await control.read() })) }
        table.add(
            .put, "/v1/clock", "Sets the rate of virtual time, freezes it or resumes it", body: ClockSettings.self,
            .scope(.operate), .refuses([.clockNotVirtual, .databaseUnavailable])
        ) { settings, call in
            guard settings.rate != nil || settings.frozen != nil else {
                throw Problem(DocumentError([FieldError(pointer: "", detail: "must contain rate, frozen or both")]))
            }
            let audit = try call.audit(.clockSet, of: "clock", details: settings.details)
            let reading = try await asking {
                try await control.set(rate: settings.rate, frozen: settings.frozen ?? false, audit: audit)
            }
            return Reply(ClockDocument(reading))
        }
        table.add(
            .post, "/v1/clock/advance",
            "Advances virtual time through every deadline, waits for the answers of connected devices, and returns after "
                + "all services settle",
            body: Advance.self, .scope(.operate), .refuses(Problem.ofClock)
        ) { advance, call in
            // The times to wait are not part of the content: a retry may wait longer.
            let content = "\(advance.seconds)" + (advance.steps.map { " \($0)" } ?? "")
            let idempotency = try call.request.idempotency(
                of: try call.context.requireCaller(), call.context, content: content)
            let audit = try call.audit(.clockAdvanced, of: "clock", details: ["seconds": .double(advance.seconds)])
            let wait = DeviceWait(for: .seconds(advance.waitForDevices), store: store, tail: tail, past: past)
            let reading = try await asking {
                try await endingWithTheService {
                    try await control.advance(
                        by: .seconds(advance.seconds), steps: advance.steps,
                        patience: .milliseconds(Int64(advance.timeout * 1000)), request: idempotency, audit: audit
                    ) { heads in try await wait.settled(at: heads) }
                }
            }
            return Reply(Advanced(now: reading.now, unanswered: await wait.unanswered.sorted()))
        }
    }
}

/// Cancels the body at shutdown. A stopping service waits for its requests, and an advance has no time limit.
private func endingWithTheService<T: Sendable>(
    _ body: @Sendable @escaping () async throws -> T
) async throws -> T {
    do { return try await cancelWhenGracefulShutdown(body) } catch let error as ClockError { throw error } catch
        where Task.isShuttingDownGracefully
    { throw Problem.stopping }
}

/// A reading of the suite clock.
struct ClockDocument: Record {
    var frozen = false
    var now = Instant.epoch
    /// Virtual seconds per real second. While the clock is frozen, the rate after it resumes.
    var rate = 1.0
    var virtual = false

    init(_ reading: ClockReading) {
        frozen = reading.isFrozen
        now = reading.now
        rate = reading.rate
        virtual = reading.isVirtual
    }
}

/// A change of the clock. A rate without `frozen` resumes a frozen clock at that rate.
struct ClockSettings: Record {
    var frozen: Bool?
    var rate: Double?

    enum Constraints {
        static let rate: Constraint<Double> = .range(ClockControl.rates)
    }
}

extension ClockSettings {
    /// The settings in the audit trail.
    fileprivate var details: JSON {
        let given = [("frozen", frozen.map { JSON.bool($0) }), ("rate", rate.map { JSON.double($0) })]
        return .object(given.compactMap { name, value in value.map { JSON.Member(name, $0) } })
    }
}

/// The request body of an advance.
struct Advance: Record {
    /// At most ten years.
    var seconds = 0.0
    /// The maximum number of steps: each ends at the next deadline of any service. All steps if missing.
    var steps: Int?
    /// The maximum real seconds for each step to settle.
    var timeout: Defaulted<Double> = 30.0
    /// The maximum real seconds for the answer to each order with a deadline and to each notification of a connected
    /// device. The clock stands meanwhile. 0 waits for no device. Only one advance waits for an order.
    var waitForDevices: Defaulted<Double> = 2.0

    enum Constraints {
        static let seconds: Constraint<Double> = .range(0...315_360_000)
        static let steps: Constraint<Int> = .range(1...1_000_000)
        static let timeout: Constraint<Double> = .range(0.01...600)
        static let waitForDevices: Constraint<Double> = .range(0...60)
    }
}

/// The suite time after an advance.
struct Advanced: Record {
    var now: Instant
    var settled = true
    /// The connected devices that did not answer an order of this advance in time. An answer to a repeated request does not repeat them.
    var unanswered: [String] = []
}
