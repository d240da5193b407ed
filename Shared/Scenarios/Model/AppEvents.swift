public import Contracts
public import Records
import Timeline

/// A central manager of Core Bluetooth that an app starts at its launch, and the events of its accessory.
public struct BluetoothPlan: Record, Equatable {
    /// Whether the manager has a restoration identifier, so that it outlives the process (from iOS 7).
    public var restores: Defaulted<Bool> = true
    /// The number of events a day, from 1 to 200, uniformly distributed.
    public var times = 1

    enum Constraints {
        static let times: Constraint<Int> = .range(1...200)
    }
}

/// A background delivery of HealthKit that an app enables at its launch, and the samples of its type.
public struct HealthPlan: Record, Equatable {
    public var frequency: Defaulted<HealthFrequency> = HealthFrequency.immediate
    /// The type of the samples, such as `stepCount`.
    public var sampleType: Defaulted<String> = "stepCount"
    /// The number of samples a day, from 1 to 200, uniformly distributed.
    public var times = 1

    enum Constraints {
        static let sampleType: Constraint<String> = .identifier
        static let times: Constraint<Int> = .range(1...200)
    }
}

/// An activity that an app starts at each opening, and that goes on in the background.
public struct ActivityPlan: Record, Equatable {
    public var kind: ActivityKind
    /// The length of the activity.
    public var takes: Defaulted<SpreadSpan> = SpreadSpan.minutes(20, spread: 10)
}

/// A continued processing task that an app submits after an opening, such as the export of a video (from iOS 26).
public struct ContinuedProcessingPlan: Record, Equatable {
    /// The share of the openings after which the user starts one.
    public var share: Defaulted<Percent> = Percent.all
    public var strategy: Defaulted<SubmissionStrategy> = SubmissionStrategy.queue
    /// The length of the work.
    public var takes: Defaulted<SpreadSpan> = SpreadSpan.minutes(4, spread: 2)
}
