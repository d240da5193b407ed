import Contracts
import EventLog
import Foundation
import Machines
import Postgres
import Timeline

/// The owner of a partition knows this without a read of the database. A batch with only commands can decide from it and
/// from the cache. Then one pipeline begins the transaction, verifies the assumption, writes and commits.
///
/// If the cursor row names the last batch of this process, no other process has changed a state of the partition.
struct Assumption: Sendable {
    var lease: (owner: UUID, epoch: Int)
    var lastBatch: UUID
    /// The stored version of the form in which states are written.
    var form: Int
    /// A former head of the partition.
    var head: Int
    /// The estimate of the clock that gives the time of the batch.
    var clock = ClockSample(setting: .real, real: .epoch, asked: .now)
}

/// How often batches assume. Where another process also commits batches of the partition, most assumptions do not hold,
/// and each costs a pipeline. So after each in a row, more batches look first.
struct AssumptionPace: Sendable {
    /// The most batches that look first after an assumption that did not hold.
    static let longest = 64

    private var left = 0
    private var length = 0

    /// Whether the next batch may assume.
    mutating func takes() -> Bool {
        guard left > 0 else { return true }
        left -= 1
        return false
    }

    mutating func held() { length = 0 }

    mutating func failed() {
        length = min(max(2 * length, 1), Self.longest)
        left = length
    }
}

extension PartitionMachine {
    /// Returns the assumption of a batch; nil if it must look at the database first.
    ///
    /// The row of the cursor tells about outages, parked devices and deaths of owners, and the log has events that may
    /// change a decision. So only the owner assumes, while it knows of none of these, and for a batch that reads no log.
    mutating func assumption(of attempt: Attempt) -> Assumption? {
        guard attempt.mayAssume, attempt.plan.log == nil, !attempt.plan.isTrial, attempt.plan.passing == nil,
            quarantine.isNormal, !isDoubtful, !commandGuard.isOn, commandGuard.condemned.isEmpty, !hasParkedKeys,
            noSlots.ceiling == nil || slots != nil, let lease, let lastBatch, assumptions.takes()
        else { return nil }
        return Assumption(lease: (lease.owner, lease.epoch), lastBatch: lastBatch, form: form, head: lastHead)
    }

    /// Whether the commit can verify everything that the batch has decided. A refusal and a repeated answer depend on
    /// rows that it does not look at.
    func isVerifiable(_ batch: Batch<M>) -> Bool {
        let areAnswers = batch.verdicts.allSatisfy { verdict in
            switch verdict {
            case .answer, .later: true
            case .replay, .refused: false
            }
        }
        return areAnswers && !batch.events.isEmpty && batch.parkedInputs.isEmpty && batch.stale.isEmpty
    }

    /// Looks at the database, and decides again.
    mutating func look(instead attempt: Attempt) -> [Action] {
        var attempt = attempt
        attempt.mayAssume = false
        return gather(attempt)
    }
}

extension BatchInput {
    /// The input of a batch that assumes.
    init(_ assumption: Assumption, aggregates: [AggregateKey: Aggregate<M>]) {
        self.init()
        self.assumption = assumption
        head = assumption.head
        now = assumption.clock.now
        lastBatch = assumption.lastBatch
        form = assumption.form
        isCacheValid = true
        holdsLease = true
        self.aggregates = aggregates
    }
}

extension Statements {
    /// Locks the cursors of partitions and verifies what their batches assume. It fails if a row differs, or if another
    /// session holds it. The epoch is the fence, so the lease may be judged by the clock of a shard.
    ///
    /// Parameters: partitions, consumer, last batches, owners, epochs, the forms of states.
    static let verifyCursors = Statement(
        """
        WITH held AS (
            SELECT c.partition FROM bus.cursors AS c
            JOIN unnest($1::int4[], $3::uuid[], $4::uuid[], $5::int8[], $6::int4[])
                AS a (partition, batch, owner, epoch, form) ON c.partition = a.partition
            WHERE c.partition = ANY($1) AND c.consumer = $2 AND c.last_batch = a.batch AND c.owner = a.owner
                AND c.epoch = a.epoch AND c.state_form = a.form
                AND c.lease_expires >= statement_timestamp() AND c.parked = 0 AND c.attempts = 0 AND c.outage IS NULL
            ORDER BY c.partition FOR UPDATE OF c SKIP LOCKED)
        SELECT bus.expect((SELECT count(*) FROM held), cardinality($1), 'the number of cursors as assumed')
        """)
    /// Verifies the assumed clock, and limits the waits for locks. Returns the clock as ``ClockSample`` reads it.
    ///
    /// The estimated time may be 50 ms ahead of the clock of the database, and 2 s behind it. So a clock of this machine
    /// that is set forward fires no deadline early.
    ///
    /// Parameters: the setting of the clock, the estimated time.
    static let verifyClock = Statement(
        """
        SELECT k.is_virtual, k.real_epoch, k.virtual_epoch, k.rate, clock_timestamp(),
            CASE WHEN k.is_virtual IS DISTINCT FROM $1 OR k.real_epoch IS DISTINCT FROM $2
                OR k.virtual_epoch IS DISTINCT FROM $3 OR k.rate IS DISTINCT FROM $4
                OR floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - $5 NOT BETWEEN -50 AND 2000
                THEN bus.expect(k.real_epoch, NULL, 'the epoch of a clock that differs from the assumed one') END,
            set_config('lock_timeout', '1s', true)
        FROM bus.clock AS k
        """)
    /// The place of the result of ``verifyClock`` in the pipeline of a batch that assumes.
    static let clockIndex = 2

    /// Returns the queries that verify assumptions.
    ///
    /// - Parameter assumptions: at least one, all with the same clock.
    static func verify(_ assumptions: [(partition: Int, assumption: Assumption)], consumer: String) -> [Query] {
        let all = assumptions.map { $0.assumption }
        let (clock, real) = (all[0].clock.setting, all[0].clock.real)
        return [
            Query(
                verifyCursors,
                [
                    .int4s(assumptions.map { Int32($0.partition) }), .text(consumer), .uuids(all.map { $0.lastBatch }),
                    .uuids(all.map { $0.lease.owner }), .ints(all.map { $0.lease.epoch }),
                    .int4s(all.map { Int32($0.form) }),
                ]),
            Query(
                verifyClock,
                [
                    .bool(clock.isVirtual), .int(Int(clock.realEpoch.milliseconds)),
                    .int(Int(clock.virtualEpoch.milliseconds)), .double(clock.rate), .int(Int(real.milliseconds)),
                ], rowsExpected: 1),
        ]
    }
}
