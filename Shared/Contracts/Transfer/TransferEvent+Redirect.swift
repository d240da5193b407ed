public import Records
public import Timeline

// The questions about redirects by ``DisputedRule/redirects``, read as the source document says.
extension TransferEvent {
    /// A server redirected a request, and the delegate must decide whether the task follows.
    public struct RedirectReceived: TransferTaskEventData {
        public static let type = "transfer.redirect.received"

        public var taskKey: Flattened<TaskKey>
        /// The method of the proposed request.
        public var method: String
        /// The HTTP status.
        public var status: Int
        /// The URL of the proposed request.
        public var url: String
    }

    /// The delegate got a redirect: `urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)`.
    public struct RedirectPresented: TransferTaskEventData {
        public static let type = "transfer.redirect.presented"

        public var taskKey: Flattened<TaskKey>
        public var method: String
        public var status: Int
        /// The time at which the task follows the redirect unless the app answers. It counts only while the app runs.
        public var until: Instant
        public var url: String
    }

    /// The delegate decided about a redirect, or did not answer in time.
    public struct RedirectAnswered: TransferTaskEventData {
        public static let type = "transfer.redirect.answered"

        public var taskKey: Flattened<TaskKey>
        public var disposition = RedirectDisposition.follow
        /// Whether the app did not answer in time.
        public var timedOut: Defaulted<Bool> = false
    }
}
