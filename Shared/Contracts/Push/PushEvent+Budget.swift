public import Records
public import Timeline

extension PushEvent {
    /// The silent budget of a device was switched on or off.
    public struct ThrottleChanged: EventData {
        public static let type = "push.throttle.changed"

        public var enabled = true
    }

    /// A silent notification was charged to the budget of its app, or given back.
    public struct BudgetChanged: EventData {
        public static let type = "push.budget.changed"

        public var app: Nullable<String>
        /// False where it was given back.
        public var charged: Bool
        /// Days since 1970.
        public var day: Int
        /// When the budget is full again.
        public var fullAt: Instant
        public var notification: String
        /// Of all apps of the device.
        public var spentToday: Int
    }
}
