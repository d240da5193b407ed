public import Records
public import Timeline

extension TransferEvent {
    /// A task reached its `earliestBeginDate` and is ready to start, but its delegate must say first how to proceed.
    public struct DelayedRequestDue: TransferTaskEventData {
        public static let type = "transfer.delayedRequest.due"

        public var taskKey: Flattened<TaskKey>
    }

    /// The delegate got a request: `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`.
    public struct DelayedRequestPresented: TransferTaskEventData {
        public static let type = "transfer.delayedRequest.presented"

        public var taskKey: Flattened<TaskKey>
        /// The time at which the task continues unless the app answers. It counts only while the app runs.
        public var until: Instant
        public var url: String
    }

    /// The delegate said how a delayed request proceeds, or did not answer in time.
    public struct DelayedRequestAnswered: TransferTaskEventData {
        public static let type = "transfer.delayedRequest.answered"

        public var taskKey: Flattened<TaskKey>
        public var disposition = DelayedRequestDisposition.continueLoading
        /// The request that replaces the former one; nil without `useNewRequest`.
        public var request: TransferRequest?
        /// The id of the stored header fields of the former request, which are no longer needed.
        public var secretHeaders: String?
        /// Whether the app did not answer in time.
        public var timedOut: Defaulted<Bool> = false
    }
}
