/// What an attack does, and for how long.
public struct AttackOptions: Sendable {
    /// Every choice of the attack follows from it: commands, hostile documents, faults and their moments.
    public var seed: UInt64
    /// How long clients send commands and faults are made. The audit comes after it.
    public var duration: Duration
    /// Processes of each of `lifecycle`, `fetch`, `push` and `transfer`. There is one `ops`.
    public var replicas = 2
    /// Devices that honest clients use.
    public var devices = 16
    /// The rate of all honest commands together.
    public var commandsPerSecond = 40
    /// The rate of all hostile requests together; 0 for none.
    public var hostilePerSecond = 20
    /// The mean time between two faults; nil for no faults.
    public var timeBetweenFaults: Duration? = .seconds(4)
    /// How often a progress line is printed.
    public var progress = Duration.seconds(10)

    /// An attack with the defaults above.
    public init(seed: UInt64, duration: Duration) {
        self.seed = seed
        self.duration = duration
    }
}

/// A service of the suite, and the executable that it is.
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
