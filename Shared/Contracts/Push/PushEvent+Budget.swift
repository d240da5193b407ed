public import Records
public import Timeline

extension PushEvent {
    /// The throttling of silent notifications on a device was switched on or off.
    public struct ThrottleChanged: EventData {
        public static let type = "push.throttle.changed"

        public var enabled = true
    }

    /// A silent notification was charged to the budget of its app or refunded.
    public struct BudgetChanged: EventData {
        public static let type = "push.budget.changed"

        public var app: Nullable<String>
        /// Whether the notification was charged; false if it was refunded.
        public var charged: Bool
        /// The day, counted from 1970-01-01.
        public var day: Int
        /// The time at which the budget is full again.
        public var fullAt: Instant
        public var notification: String
        /// The charges of the day for all apps of the device.
        public var spentToday: Int
    }
}
