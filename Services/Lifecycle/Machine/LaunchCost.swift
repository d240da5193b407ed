import Contracts
public import Records
public import Timeline

/// The state of the process when the system gets an app to run.
public enum ProcessStart: String, WireEnum {
    /// The app has no process.
    case cold
    /// The app has a process in which none of its code has run.
    case prewarmed
    /// The process was kept in memory.
    case suspended
    /// The code of the app can run already.
    case running
}

/// The time and the energy until an app runs. All figures are our choice.
///
/// Their order follows the source document "Introduction to backgrounding in iOS". A process that is kept alive makes
/// the next launch quick. A suspended app uses no resources of the system.
public struct LaunchCost: Record, Equatable {
    /// Millijoules.
    public var energy = 0
    /// Seconds.
    public var time = Interval.zero
    public var start = ProcessStart.cold

    init(_ start: ProcessStart) {
        self.start = start
        switch start {
        case .cold: (time, energy) = (.milliseconds(1000), 500)
        case .prewarmed: (time, energy) = (.milliseconds(500), 300)
        case .suspended: (time, energy) = (.milliseconds(100), 50)
        case .running: (time, energy) = (.zero, 10)
        }
    }
}

extension InstalledApp {
    /// The state of its process.
    var processStart: ProcessStart {
        switch state {
        case .notRunning: prewarmedAt == nil ? .cold : .prewarmed
        case .suspended: .suspended
        case .inactive, .active, .background: .running
        }
    }
}
