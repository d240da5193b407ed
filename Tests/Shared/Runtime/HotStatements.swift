import Contracts
import Foundation
import Machines
import TestSupport
import Timeline

@testable import EventLog
@testable import Postgres
@testable import Runtime

/// The statements of the hot path with parameters that name one partition.
struct HotStatements {
    /// A query with the name of its statement in the source.
    typealias Named = (name: String, query: Query)

    let partition: Int
    private let statements = Statements(service: Counter.name, isDistributed: true)

    /// The names of the statements that read all partitions, or no distributed table. They open no transaction over
    /// several shards, because each is a single read.
    static let others: Set<String> = [
        "begin", "limitLocks", "limitCursorLock", "rollback", "commit", "verifyClock", "enrol", "reap", "leave",
        "living", "free", "guardsCommands", "condemnedCommands", "letters", "parkedCount", "standing",
        "heads of LogReader", "livingSince", "append", "deadlines of Statements",
    ]

    private var one: Parameter { .partition(partition) }
    private var list: Parameter { .int4s([Int32(partition)]) }
    private var consumer: Parameter { .text(Counter.name) }
    private var owner: Parameter { .uuid(UUID()) }
    private var key: Parameter { .text("device:a") }
    private var keys: Parameter { .texts(["device:a"]) }
    private var number: Parameter { .int(1) }
    private var numbers: Parameter { .ints([1]) }

    var all: [Named] { gathering + committing + statesAndSlots + leases + letters + idempotency + log }

    private var gathering: [Named] {
        [
            ("lockCursors", Query(Statements.lockCursors, [list, consumer])),
            ("lockFreeCursors", Query(Statements.lockFreeCursors, [list, consumer])),
            ("heads", Query(Statements.heads, [list])),
            ("answers", Query(statements.answers, [list, consumer, keys, list])),
            ("behindCursors", behindCursors),
            ("probe", Query(Statements.probe, [one, number, owner])),
            ("unreadOf", Query(Statements.unreadOf, [one, number, number, keys, .texts(["a"])])),
            ("unread", Query(Statements.unread, [one, consumer, key, .texts(["a"])])),
            ("outageUntilNow", Query(Statements.outageUntilNow, [one, consumer, .timestamp(milliseconds: 1), number])),
            ("position", Query(Statements.position, [one, consumer])),
            ("state", Query(Statements.state(Counter.name), [one, key])),
            ("limited", Query(Statements.limited(Counter.name), [one, key, number])),
        ]
    }

    private var behindCursors: Query {
        Query(
            LogReader.behindCursorsOfShard,
            [list, consumer, numbers, .texts(["a"]), .int4(Int32(LogReader.anyDays.lowerBound)), .int4(9000)])
    }

    private var committing: [Named] {
        let assumption = Assumption(lease: (UUID(), 1), lastBatch: UUID(), form: 1, head: 1)
        let appends = statements.append([(partition, [Event](repeating: event, count: 2))], source: Counter.name)
        return [
            ("verifyCursors", Statements.verify([(partition, assumption)], consumer: Counter.name)[0]),
            ("lockHeads", Query(Statements.lockHeads, [list])),
            ("moveHeads", appends[0]), ("appendBehindHeads", appends[1]),
            ("moveCursors", moveCursors),
            (
                "storeAnswers",
                Query(Statements.storeAnswers, [list, consumer, keys, .byteas([[1]]), .byteas([[1]]), list])
            ),
        ]
    }

    private var event: Event {
        Event(
            id: UUID(), source: Counter.name, type: "counter.thing.added", version: 1, key: .device("a"), app: nil,
            time: .epoch, correlation: UUID(), causation: nil, traceparent: nil, data: Array("{}".utf8))
    }

    private var moveCursors: Query {
        Query(
            Statements.moveCursors,
            [
                consumer, list, .uuids([UUID()]), numbers, numbers, numbers, numbers, .bools([true]), .int4s([1]),
            ])
    }

    private var statesAndSlots: [Named] {
        [
            ("states", Query(statements.states, [list, keys, list])),
            ("deadlines", Query(statements.deadlines, [list, numbers, number])),
            ("deadlinesOfOthers", Query(statements.deadlinesOfOthers, [list, numbers, number])),
            (
                "writeStates",
                Query(
                    statements.writeStates,
                    [.int4s([1]), list, keys, .byteas([[1]]), numbers, numbers, numbers, numbers, numbers, list])
            ),
            (
                "refreshStates",
                Query(statements.refreshStates, [one, .int4s([1]), keys, .byteas([[1]]), numbers, numbers])
            ),
            ("slots", Query(statements.slots, [one, .int4(1)])),
            ("writeMoments", Query(statements.writeMoments, [one, .int4(1), numbers, numbers, .byteas([[1]])])),
            ("dropMoments", Query(statements.dropMoments, [one, .int4(1), numbers, number])),
        ]
    }

    private var leases: [Named] {
        let lease: [Parameter] = [one, consumer, owner, .double(3), .bool(true)]
        return [
            ("acquire", Query(Statements.acquire, lease)), ("renew", Query(Statements.renew, lease)),
            ("renewFree", Query(Statements.renewFree, [list] + lease.dropFirst())),
            ("lost", Query(Statements.lost, [list, consumer, owner])),
            ("release", Query(Statements.release, [one, consumer, owner, .bool(true)])),
            ("setForms", Query(Statements.setForms, [list, consumer, owner, .int4(1)])),
            ("formPlan", Query(Statements.formPlan, [one, consumer, owner, number])),
            ("write", Query(StateUpgrader<Counter>.write, [one, owner, number, number] + upgraded)),
            ("swept", Query(Statements.swept, [one, consumer, owner, number, number, .bool(true)])),
        ]
    }

    private var upgraded: [Parameter] { [.int4s([1]), keys, .byteas([[1]]), numbers, numbers] }

    private var letters: [Named] {
        [
            ("parkedKeys", Query(Statements.parkedKeys, [one, consumer])),
            ("park", Query(Statements.park, [one, consumer, keys, numbers, .ints([nil]), .texts(["a"])])),
            ("suspect", Query(Statements.suspect, [one, consumer, key])),
            ("clear", Query(Statements.clear, [one, consumer, key])),
            ("firstLetter", Query(Statements.firstLetter, [one, consumer, key])),
            ("removeLetter", Query(Statements.removeLetter, [one, consumer, key, number])),
            ("unpark", Query(Statements.unpark, [one, consumer])),
            ("forgetSuspects", Query(Statements.forgetSuspects, [one, consumer])),
            ("forgetOutage", Query(Statements.forgetOutage, [one, consumer, number, .int(2)])),
            ("suspects", Query(Statements.suspects, [one, consumer, keys])),
            ("suspectAll", Query(Statements.suspectAll, [one, consumer, keys])),
            ("clearAll", Query(Statements.clearAll, [one, consumer, keys])),
        ]
    }

    private var idempotency: [Named] {
        let book = IdempotencyStore(service: Counter.name, partition: partition)
        let request = Idempotency(key: "a", fingerprint: [1])
        return [
            ("update", book.closing(request, answer: [1])), ("forget", book.forgetting(limit: 10)),
            ("lock", Query(IdempotencyStore.lock, [one, consumer])),
            ("look", Query(IdempotencyStore.look, [one, consumer, key])),
            ("insert", Query(IdempotencyStore.insert, [one, consumer, key, .bytes([1]), .bytes([]), number])),
        ]
    }

    private var log: [Named] {
        let history: [Parameter] = [one, key, consumer, number, number, number]
        return [
            ("following", Query(LogReader.following, [one, number, .texts(["a"]), number])),
            ("all", Query(LogReader.all, [one, number, number])),
            ("kept", Query(LogReader.kept, [one, number])),
            ("ofKey", Query(LogReader.ofKey, [one, key, number, number])),
            ("headsOf", Query(LogReader.headsOf, [list])),
            ("historyPage", Query(LogReader.historyPage, history)),
            (
                "foldStartStatement",
                LogReader.foldStart(of: .device("a"), service: Counter.name, partition: partition, upTo: 1)
            ),
            ("faults", Query(LogTail.faults, [list, numbers])),
            ("dropped", Query(LogTail.dropped, [list, numbers])),
        ]
    }
}
