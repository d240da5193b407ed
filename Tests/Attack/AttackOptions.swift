/// The actions of an attack and its duration.
public struct AttackOptions: Sendable {
    /// The seed of every choice of the attack: commands, hostile documents, faults and their times.
    public var seed: UInt64
    /// The time for clients and faults. The audit follows it.
    public var duration: Duration
    /// The number of processes of each of `lifecycle`, `fetch`, `push` and `transfer`. There is one `ops`.
    public var replicas = 2
    /// The number of devices of the honest clients.
    public var devices = 16
    /// The rate of all honest commands together.
    public var commandsPerSecond = 40
    /// The rate of all hostile requests together; 0 for none.
    public var hostilePerSecond = 20
    /// The mean time between two faults; nil for no faults.
    public var timeBetweenFaults: Duration? = .seconds(4)
    /// The interval between two progress lines.
    public var progress = Duration.seconds(10)

    /// An attack with the defaults above.
    public init(seed: UInt64, duration: Duration) {
        self.seed = seed
        self.duration = duration
    }
}

/// A service of the suite, with its executable.
enum AttackedService: String, CaseIterable, Sendable {
    case lifecycle, fetch, push, transfer, ops

    /// The services that have a machine and write to the log.
    static let writers: [AttackedService] = [.lifecycle, .fetch, .push, .transfer]
}

/// The attack itself could not be carried out.
struct AttackFailed: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
