/// Compares the commands of honest clients with the log.
///
/// It reads the events of each partition in order. ``Verdict/faults`` lists the violations.
struct Audit {
    /// The number of commands of one kind, by outcome.
    struct Row: Sendable, Equatable {
        var acknowledged = 0
        var refused = 0
        var unknown = 0
        /// Commands whose event is in the log.
        var logged = 0
        /// Commands without an acknowledgement whose event is in the log.
        var loggedUnknown = 0
        var attempts = 0
        /// The longest time from a command's first attempt to its acknowledgement, in seconds.
        var slowest: Float = 0
    }

    struct Verdict: Sendable {
        var rows: [String: Row] = [:]
        var refusals: [String: Int] = [:]
        var events = 0
        var faults: [String] = []
    }

    /// The events of one command in the log.
    private struct Trace {
        var count = 0
        var partition = 0
        var first = 0
        var last = 0
        var keys: [String: Int] = [:]
        var correlations: Set<String> = []
    }

    private let ledger: Ledger
    private let records: [CommandRecord]
    private var traces: [Int: Trace] = [:]
    private var offsets: [Int: Int] = [:]
    private var faults: [String] = []
    private var events = 0
    private var strangers = 0

    init(_ ledger: Ledger) {
        self.ledger = ledger
        records = ledger.records
    }

    /// Adds the next event of a partition.
    mutating func add(_ event: LoggedEvent) {
        events += 1
        let expected = (offsets[event.partition] ?? 0) + 1
        if event.offset != expected {
            faults.append("partition \(event.partition) has offset \(event.offset) instead of \(expected)")
        }
        offsets[event.partition] = event.offset
        let named = event.traceparent.flatMap { ledger.number(ofTraceparent: $0) }
        guard event.isDirect, let number = named ?? ledger.number(ofIdentifier: event.correlation) else { return }
        guard records.indices.contains(number) else {
            faults.append("\(event.type) at \(event.partition):\(event.offset) belongs to no command that was sent")
            return
        }
        let kind = records[number].kind
        guard event.source == kind.service.rawValue else {
            faults.append("\(event.type) of \(event.source) answers “\(kind.name)”, a command to \(kind.service)")
            return
        }
        var trace = traces[number] ?? Trace()
        trace.correlations.insert(event.correlation)
        trace.keys[event.key, default: 0] += kind.events.contains(event.type) ? 1 : 0
        if kind.events.contains(event.type) {
            if trace.count == 0 { trace.first = event.offset }
            trace.count += 1
            trace.partition = event.partition
            trace.last = event.offset
        }
        traces[number] = trace
    }

    /// Judges all commands after every event was added.
    ///
    /// - Parameter heads: the head of each partition.
    func verdict(heads: [Int: Int]) -> Verdict {
        var verdict = Verdict()
        verdict.events = events
        verdict.faults = faults
        for (partition, head) in heads.sorted(by: { $0.key < $1.key }) where offsets[partition] ?? 0 != head {
            verdict.faults.append("partition \(partition) ends at \(offsets[partition] ?? 0), its head is \(head)")
        }
        for (number, record) in records.enumerated() {
            let trace = traces[number]
            count(record, trace, in: &verdict)
            if let fault = fault(of: record, trace) {
                verdict.faults.append("command \(number), “\(record.kind.name)” of \(record.key): \(fault)")
            }
        }
        return verdict
    }

    private func count(_ record: CommandRecord, _ trace: Trace?, in verdict: inout Verdict) {
        var row = verdict.rows["\(record.kind.service) \(record.kind.name)"] ?? Row()
        row.attempts += record.attempts
        let isLogged = trace?.count ?? 0 > 0
        if isLogged { row.logged += 1 }
        switch record.outcome {
        case .acknowledged:
            row.acknowledged += 1
            row.slowest = max(row.slowest, record.seconds)
        case .refused:
            row.refused += 1
            verdict.refusals["\(record.kind.service) \(record.kind.name): \(record.code ?? "")", default: 0] += 1
        case .unknown, .pending: row.unknown += 1
        }
        if isLogged, record.outcome != .acknowledged { row.loggedUnknown += 1 }
        verdict.rows["\(record.kind.service) \(record.kind.name)"] = row
    }

    /// Returns the fault of a command that reaches several aggregates; nil if there is none.
    private func faultOfMany(_ record: CommandRecord, _ trace: Trace?) -> String? {
        let keys = trace?.keys ?? [:]
        if let stranger = keys.keys.filter({ !record.targets.contains($0) }).min() { return "it reached \(stranger)" }
        if let doubled = keys.filter({ $0.value > 1 }).keys.min() {
            return "\(doubled) got it \(keys[doubled] ?? 0) times"
        }
        let missed = record.targets.filter { keys[$0] ?? 0 == 0 }.sorted()
        switch record.outcome {
        case .acknowledged:
            return missed.isEmpty
                ? nil : "\(missed.count) of \(record.targets.count) did not get it: \(missed.prefix(3))"
        case .refused: return "it was refused with the unexpected code \(record.code ?? "none")"
        case .unknown, .pending:
            // A broadcast that is stored reaches every device.
            return keys.isEmpty || missed.isEmpty ? nil : "only some got it: not \(missed.prefix(3))"
        }
    }

    /// Returns the fault of a command; nil if there is none.
    private func fault(of record: CommandRecord, _ trace: Trace?) -> String? {
        let count = trace?.count ?? 0
        let keys = (trace?.keys.keys).map { $0.sorted() } ?? []
        guard record.targets.isEmpty else { return faultOfMany(record, trace) }
        if !keys.isEmpty, keys != [record.key] { return "its events are of \(keys)" }
        if count > 1 { return "it happened \(count) times, at \(trace?.first ?? 0) and \(trace?.last ?? 0)" }
        if let trace, trace.correlations.count > 1 { return "it was decided \(trace.correlations.count) times" }
        switch record.outcome {
        case .acknowledged:
            if count == 0, record.isCertain { return "it was acknowledged and is not in the log" }
            guard let trace, count == 1, let position = record.position else { return nil }
            guard position.partition == trace.partition, position.offset >= trace.last else {
                return "its answer names \(position.partition):\(position.offset), "
                    + "the log has it at \(trace.partition):\(trace.last)"
            }
            return nil
        case .refused:
            if count > 0, record.openAttempts == 0 { return "it was refused (\(record.code ?? "")) and is in the log" }
            guard let code = record.code, record.kind.refusals.contains(code) else {
                return "it was refused with the unexpected code \(record.code ?? "none")"
            }
            return nil
        case .unknown, .pending:
            guard count > 0, record.openAttempts == 0 else { return nil }
            return "every answer said that it was not taken (\(record.code ?? "")), and it is in the log"
        }
    }
}
