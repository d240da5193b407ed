import TestSupport

/// A fault of a running suite.
enum Fault: Sendable, Equatable, CustomStringConvertible {
    /// SIGKILL of a replica, which then restarts.
    case kill(AttackedService, Int)
    /// SIGTERM of a replica, which then restarts, as in a rolling deployment.
    case restart(AttackedService, Int)
    /// SIGSTOP of a replica, and SIGCONT after some seconds.
    case stop(AttackedService, Int, seconds: Double)
    /// Cuts all connections between a replica and its database.
    case cutDatabase(AttackedService, Int)
    /// Cuts the next commits of a replica, before or after the server gets them.
    case cutCommit(AttackedService, Int, isForwarded: Bool, count: Int)
    /// Holds all traffic between a replica and its database for some seconds.
    case holdDatabase(AttackedService, Int, seconds: Double)
    /// Cuts all connections between clients and a replica.
    case cutClients(AttackedService, Int)
    /// Stops PostgreSQL and starts it after some seconds.
    case restartDatabase(immediate: Bool, seconds: Double)
    /// SIGSTOP of a PostgreSQL backend that serves the suite, and SIGCONT after some seconds.
    case stopBackend(seconds: Double)
    /// PostgreSQL ends a connection of the suite.
    case endBackend

    /// The affected replica; nil for a fault of the database.
    var replica: (AttackedService, Int)? {
        switch self {
        case .kill(let service, let number), .restart(let service, let number), .stop(let service, let number, _),
            .cutDatabase(let service, let number), .cutCommit(let service, let number, _, _),
            .holdDatabase(let service, let number, _), .cutClients(let service, let number):
            (service, number)
        case .restartDatabase, .stopBackend, .endBackend: nil
        }
    }

    /// The fault's name in the counts.
    var name: String {
        switch self {
        case .kill: "SIGKILL"
        case .restart: "SIGTERM"
        case .stop: "SIGSTOP"
        case .cutDatabase: "database connections cut"
        case .cutCommit: "commits cut"
        case .holdDatabase: "database connections held"
        case .cutClients: "client connections cut"
        case .restartDatabase(let immediate, _): immediate ? "PostgreSQL immediate restart" : "PostgreSQL fast restart"
        case .stopBackend: "PostgreSQL backend SIGSTOP"
        case .endBackend: "PostgreSQL backend ended"
        }
    }

    var description: String {
        let of = replica.map { " of \($0.0).\($0.1)" } ?? ""
        switch self {
        case .stop(_, _, let seconds), .holdDatabase(_, _, let seconds), .restartDatabase(_, let seconds),
            .stopBackend(let seconds):
            return "\(name)\(of) for \((seconds * 10).rounded() / 10) s"
        case .cutCommit(_, _, let isForwarded, let count):
            return "\(count) \(name)\(of) \(isForwarded ? "after" : "before") the server has them"
        case .kill, .restart, .cutDatabase, .cutClients, .endBackend: return name + of
        }
    }
}

/// The sequence of faults that a seed gives.
struct FaultPlan {
    private let replicas: Int
    private var random: SplitMix64

    /// - Parameter replicas: of each service but `ops`.
    init(seed: UInt64, replicas: Int) {
        self.replicas = replicas
        random = SplitMix64(seed: seed)
    }

    mutating func next() -> Fault {
        let service = AttackedService.allCases.randomElement(using: &random) ?? .lifecycle
        let number = Int.random(in: 1...(service == .ops ? 1 : replicas), using: &random)
        let seconds = Double.random(in: 1...20, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: return .kill(service, number)
        case 22..<28: return .restart(service, number)
        case 28..<46: return .stop(service, number, seconds: seconds)
        case 46..<54: return .cutDatabase(service, number)
        case 54..<66:
            return .cutCommit(
                service, number, isForwarded: Bool.random(using: &random), count: Int.random(in: 1...5, using: &random))
        case 66..<72: return .holdDatabase(service, number, seconds: seconds / 2)
        case 72..<76: return .cutClients(service, number)
        case 76..<82: return .restartDatabase(immediate: true, seconds: seconds / 6)
        case 82..<87: return .restartDatabase(immediate: false, seconds: seconds / 6)
        case 87..<95: return .stopBackend(seconds: seconds)
        default: return .endBackend
        }
    }

    /// Returns the time until the next fault.
    mutating func pause(mean: Duration) -> Duration { mean * Double.random(in: 0.2..<1.8, using: &random) }
}
