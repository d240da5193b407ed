import Synchronization

/// The outcome of a command, as its client knows it.
enum Outcome: String, Sendable, CaseIterable {
    /// The client still tries.
    case pending
    /// 2xx.
    case acknowledged
    /// 4xx.
    case refused
    /// The client gave up without a final answer.
    case unknown
}

/// A kind of command: the service that decides it, and the events that it makes.
struct CommandKind: Sendable, Hashable {
    let name: String
    let service: AttackedService
    /// An accepted command makes exactly one event of these types.
    let events: Set<String>
    /// The codes with which it may be refused; others are faults.
    var refusals: Set<String> = []
}

/// One command of an honest client.
struct CommandRecord: Sendable {
    let kind: CommandKind
    /// The aggregate, such as `device:a`.
    let key: String
    /// Whether acceptance always makes an event; false if the state may already have the requested value.
    var isCertain = true
    /// The aggregates that a command for several must reach, each with one event. Otherwise empty.
    var targets: Set<String> = []
    var outcome = Outcome.pending
    var attempts = 0
    /// Attempts with an unknown outcome that may have been executed.
    var openAttempts = 0
    /// The position in the answer's `Dormouse-Position`.
    var position: (partition: Int, offset: Int)?
    /// The time from the first attempt to the final answer.
    var seconds: Float = 0
    /// The code of a refusal, or the reason why the client gave up.
    var code: String?
}

/// All commands of an attack, each identified by its trace.
final class Ledger: Sendable {
    /// The first half of the trace of every command of this attack.
    let run: UInt64
    private let commands = Mutex<[CommandRecord]>([])

    init(run: UInt64) { self.run = max(run, 1) }

    var records: [CommandRecord] { commands.withLock { $0 } }

    /// Adds a command.
    ///
    /// - Returns: its number.
    func open(_ record: CommandRecord) -> Int {
        commands.withLock { commands in
            commands.append(record)
            return commands.count - 1
        }
    }

    func update(_ number: Int, _ change: (inout CommandRecord) -> Void) {
        commands.withLock { change(&$0[number]) }
    }

    /// The number of commands with each outcome.
    var counts: [Outcome: Int] {
        commands.withLock { commands in
            commands.reduce(into: [:]) { $0[$1.outcome, default: 0] += 1 }
        }
    }

    /// Returns a command's W3C `traceparent`.
    func traceparent(_ number: Int) -> String {
        "00-\(Self.digits(run))\(Self.digits(UInt64(number) + 1))-00000000000000a1-01"
    }

    /// Returns the same as a UUID, for notifications: their `apns-id`.
    func identifier(_ number: Int) -> String {
        let digits = Self.digits(run) + Self.digits(UInt64(number) + 1)
        var text = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        return text
    }

    /// Returns the number of the command with a `traceparent` from the log; nil for other traces.
    func number(ofTraceparent text: String) -> Int? {
        guard text.utf8.count == 55 else { return nil }
        return number(ofDigits: String(Substring(text.utf8.dropFirst(3).prefix(32))))
    }

    /// Returns the number of the command with a UUID from the log; nil for others.
    func number(ofIdentifier text: String) -> Int? { number(ofDigits: text.lowercased().filter { $0 != "-" }) }

    private func number(ofDigits digits: String) -> Int? {
        guard digits.utf8.count == 32, UInt64(digits.prefix(16), radix: 16) == run,
            let low = UInt64(digits.suffix(16), radix: 16), low > 0,
            let number = Int(exactly: low - 1)
        else { return nil }
        return number
    }

    private static func digits(_ value: UInt64) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
