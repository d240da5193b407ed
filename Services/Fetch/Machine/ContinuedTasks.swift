public import Contracts
import OrderedCollections
public import Records
public import Timeline

/// A continued processing task of an app (`BGContinuedProcessingTask`), from its submission to its end.
public struct ContinuedTask: Record, Equatable {
    /// The run of a task.
    public struct Run: Record, Equatable {
        /// The time at which it is given up; nil after its start, because only its progress limits it.
        public var answerBy: Instant?
        public var dueAt = Instant.epoch
        /// The identifier of the run.
        public var request = ""
        /// The time at which it started; nil until then.
        public var startedAt: Instant?
        /// The reason why it was stopped; nil if it was not.
        public var stopped: TaskStopCause?
        /// The identifier of the wake.
        public var wake: String?
    }

    public var request = BackgroundTaskRequest()
    /// Its run; nil while it is in the queue.
    public var run: Run?
    public var submittedAt = Instant.epoch
}

extension ScheduledApp {
    /// Whether a continued processing task waits in the queue.
    func isQueued(_ identifier: String) -> Bool { continuedTasks[identifier].map { $0.run == nil } ?? false }

    /// Returns the permitted identifier of the manifest that permits a continued processing task: the same one, or the
    /// beginning of it with `.*` (Apple, `BGContinuedProcessingTaskRequest.init(identifier:title:subtitle:)`).
    func permission(for identifier: String) -> String? {
        permittedTaskIdentifiers.first { permitted in
            let base = permitted.dropLast()
            return permitted == identifier
                || permitted.hasSuffix(".*") && identifier.hasPrefix(base) && identifier.utf8.count > base.utf8.count
        }
    }

    /// The next deadline of the continued processing tasks.
    var nextContinuedTaskDeadline: Instant? {
        continuedTasks.isEmpty ? nil : continuedTasks.values.compactMap { $0.run?.answerBy }.min()
    }
}
