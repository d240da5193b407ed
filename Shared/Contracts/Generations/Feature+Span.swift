extension Feature {
    /// The versions of iOS that have a feature, and the feature's name for people.
    public struct Span: Sendable, Equatable {
        /// The name of the feature, which completes "has no …".
        public let title: String
        /// The first major version; nil if all generations until ``until`` have the feature.
        public let since: Int?
        /// The last major version; nil if the feature has not ended.
        public let until: Int?

        init(_ title: String, since: Int? = nil, until: Int? = nil) {
            self.title = title
            self.since = since
            self.until = until
        }

        /// Whether a version of iOS has the feature.
        public func contains(_ version: Int) -> Bool {
            since.map { $0 <= version } ?? true && until.map { $0 >= version } ?? true
        }
    }
}
