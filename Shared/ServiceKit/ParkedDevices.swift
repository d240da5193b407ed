import Contracts
import EventLog
public import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import Machines
import Records
import Runtime
import ServiceLifecycle
import Telemetry
import Timeline

/// A dead letter in the API for operators.
struct DeadLetterDocument: Record {
    /// The time of a deadline.
    var due: Nullable<Instant> = nil
    var key = ""
    /// The offset of an event.
    var offset: Nullable<Int> = nil
    var partition = 0
    /// The fault; nil for an input that waits behind another dead letter.
    var reason: Nullable<String> = nil
    /// The real time at which the input became a dead letter.
    var parkedAt: Instant = .epoch

    init(_ letter: DeadLetter) {
        key = letter.key.description
        partition = letter.partition
        offset = letter.offset
        due = letter.due
        reason = letter.reason
        parkedAt = letter.parkedAt
    }
}

/// The number of inputs that `replay` or `discard` processed.
struct ReleaseDocument: Record {
    var taken = 0
}

extension DurableRuntime {
    /// Adds the operators' routes for parked devices: list, replay, discard.
    func addParkedDevices(to table: inout RouteTable) {
        table.add(
            .get, "/v1/dead-letters",
            "Lists the dead letters and the inputs that wait behind them, ordered by partition and key", .scope(.read),
            .parameters(
                .number("limit", 1...1000, "The most items of a page; 1000 by default"),
                .cursor),
            .refuses([.invalidQuery]),
            .example(
                """
                {"items":[{"due":null,"key":"device:d1","offset":17,"parkedAt":"2026-11-21T07:40:00.000Z","partition":3,
                "reason":"the event can't be read"}],"next":null}
                """)
        ) { call in
            let limit = try call.number("limit", default: 1000)
            let last = try DeadLetter(cursorOf: call)
            let letters = try await self.deadLetters(after: last, limit: limit + 1)
            let next = letters.count > limit ? letters[limit - 1].cursor : nil
            return Reply(call.marked(Page(letters.prefix(limit).map(DeadLetterDocument.init), next: next)))
        }
        let order = "/v1/parked/{key}/"
        table.add(
            .post, order + "replay", "Processes the dead letters of a device in order, and unparks the device",
            .scope(.operate), .refuses(Problem.ofDeadLetters)
        ) { try await release($0, .deadLetterReplayed) { try await self.replay($0, $1, audit: $2) } }
        table.add(
            .post, order + "discard",
            "Discards the first dead letter of a device, processes the rest, and unparks the device",
            .scope(.operate), .refuses(Problem.ofDeadLetters)
        ) { try await release($0, .deadLetterDiscarded) { try await self.discard($0, $1, audit: $2) } }
    }
}

extension DeadLetter {
    /// The position of the letter in the list, as the `cursor` of a query: `partition:offset:key`.
    fileprivate var cursor: String { "\(partition):\(offset ?? 0):\(key)" }

    /// Reads the `cursor` of a request; returns nil if it has none.
    fileprivate init?(cursorOf call: Call) throws(Problem) {
        guard let text = call.request.uri.queryParameters["cursor"] else { return nil }
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        // A key may have a dot too.
        let place = String(parts[0])
        guard parts.count == 3, let partition = Int32(LogIncarnation.plain(place)), let offset = Int(parts[1]),
            !text.utf8.contains(0)
        else { throw .invalidQuery.with(detail: "cursor must be the `next` of a page") }
        _ = try call.context.incarnation.unmarked(place)
        self.init(
            key: AggregateKey(String(parts[2])), partition: Int(partition), offset: offset == 0 ? nil : offset,
            parkedAt: .epoch)
    }
}

private func release(
    _ call: Call, _ action: AuditAction, _ body: (AggregateKey, Idempotency?, AuditEntry) async throws -> Int
) async throws -> Reply<ReleaseDocument> {
    var document = ReleaseDocument()
    let key = AggregateKey(try call.identifier("key"))
    let idempotency = try call.request.idempotency(of: try call.context.requireCaller(), call.context)
    do {
        document.taken = try await body(key, idempotency, call.audit(action, of: key.description))
    } catch let error as DeadLetterError { throw Problem(error) }
    return Reply(document)
}

extension Problem {
    static let notParked = Problem(.notFound, "not_parked", "Device has no dead letters")
    static let failsAgain = Problem(.conflict, "fails_again", "Input failed again")
    static let deadlineStays = Problem(.conflict, "deadline_stays", "Deadline can't be discarded")
    static let eventGone = Problem(.gone, "event_gone", "Event is no longer in the log")
    static let heldUp = Problem(
        .serviceUnavailable, "held_up", "Another session locks the partition of the device", retryAfter: 1)
    /// The problems of `replay` and `discard`.
    public static let ofDeadLetters = [notParked, failsAgain, deadlineStays, eventGone, heldUp]

    init(_ error: DeadLetterError) {
        let problem: Problem =
            switch error {
            case .notParked: .notParked
            case .failsAgain: .failsAgain
            case .deadlineStays: .deadlineStays
            case .eventGone: .eventGone
            case .heldUp: .heldUp
            }
        self = problem.with(detail: error.description)
    }
}

/// Updates the runtime's gauges every 5 s.
struct RuntimeGauges<M: Machine>: Service {
    let runtime: DurableRuntime<M>
    let metrics: Metrics
    let clock: SharedClock

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var upgraded = 0
            repeat {
                metrics.set(.stateCacheBytes, to: Double(runtime.cachedBytes))
                metrics.set(.statesOutdated, to: Double(runtime.outdatedStates))
                let total = runtime.upgradedStates
                metrics.add(Double(total - upgraded), to: .statesUpgraded)
                upgraded = total
                let states = await runtime.partitionStates
                func count(_ isCounted: (PartitionState) -> Bool) -> Double { Double(states.count(where: isCounted)) }
                metrics.set(.partitionsFollowed, to: count { $0.isFollowed })
                metrics.set(
                    .partitionsHalted,
                    to: count { state in
                        if case .halted = state { true } else { false }
                    })
                metrics.set(.partitionsStuck, to: Double(runtime.partitionsStuck(for: .seconds(5)).count))
                metrics.set(.clockSkew, to: clock.skew.seconds)
                // The gauge keeps its last value while the database is not available.
                if let parked = try? await runtime.parkedDevices() {
                    metrics.set(.devicesParked, to: Double(parked))
                }
            } while (try? await Task.sleep(for: .seconds(5))) != nil
        }
    }
}
