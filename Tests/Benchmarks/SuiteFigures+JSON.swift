import Foundation
import Records
import TestSupport

extension SuiteFigures {
    /// The figures as JSON. Costs are those of a command, or of an event of the fleet.
    var document: JSON {
        let perSecond = Double(idle.transactions) / idle.seconds
        var members: [JSON.Member] = [
            .init("loads", .array(loads.map { $0.document(idleTransactions: perSecond) })),
            .init(
                "idle",
                [
                    "seconds": number(idle.seconds), "transactionsPerSecond": number(perSecond),
                    "percentOfCore": object(idle.usage.keys) { idle.percent($0) },
                ]),
        ]
        if let fleet {
            members.append(
                .init(
                    "fleet",
                    [
                        "devices": .int(fleet.devices), "passed": .bool(fleet.passed),
                        "eventsPerSecond": number(fleet.eventsPerSecond), "cores": number(fleet.cost.cores),
                        "transactions": number(fleet.transactionsPerEvent),
                        "percentOfCore": object(fleet.cost.usage.keys) { fleet.cost.percent($0) },
                    ]))
        }
        return .object(members)
    }
}

extension SuiteLoad {
    fileprivate func document(idleTransactions: Double) -> JSON {
        [
            "connections": .int(connections), "commandsPerSecond": number(commands.perSecond),
            "plainPerSecond": number(plain.perSecond), "ratio": number(ratio),
            "p50Milliseconds": number(commands.milliseconds(0.5)),
            "p99Milliseconds": number(commands.milliseconds(0.99)),
            "failed": .int(commands.failureCount + plain.failureCount),
            "microseconds": object(cost.usage.keys) { cost.microseconds($0) / count },
            "contextSwitches": object(cost.usage.keys) { Double(cost.usage[$0]?.switches ?? 0) / count },
            "transactions": number(transactions(idle: idleTransactions)),
            "walBytes": number(Double(cost.walBytes) / count),
            "lag": object(caughtUp.lag.keys) { Double(caughtUp.lag[$0] ?? 0) },
            "secondsUntilNoLag": object(caughtUp.lag.keys) { caughtUp.seconds[$0] ?? .nan },
        ]
    }
}

private func object(_ names: some Collection<String>, _ value: (String) -> Double) -> JSON {
    .object(names.sorted().map { JSON.Member($0, number(value($0))) })
}

/// JSON has no number for a missing value.
private func number(_ value: Double) -> JSON { value.isFinite ? .double(value) : .null }
