extension GivenRefusals {
    /// The existing and missing resources for calls that provoke refusals.
    public struct Scene: Sendable {
        /// The path parameters of existing resources, by name.
        public var values: [String: String] = [:]
        /// Path parameters of missing resources, with the code of each refusal.
        public var absent: [(code: String, name: String, value: String)] = []
        /// The token of a device that is not in `values`.
        public var bearer = ""
        /// An `Idempotency-Key` that another request has used.
        public var usedKey = ""
        /// Invalid queries; each is sent to the operations that describe its parameter.
        public var queries: [String] = []
        /// Returns a valid body of an operation.
        public var body: @Sendable (APIDescription.Operation) -> String? = { $0.takesDocument ? "{}" : nil }

        public init() {}
    }

    /// Provokes the refusals that all operations have in common.
    public func refuse(_ operations: [APIDescription.Operation], in scene: Scene) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for operation in operations { group.addTask { try await self.refuse(operation, in: scene) } }
            try await group.waitForAll()
        }
    }

    private func refuse(_ operation: APIDescription.Operation, in scene: Scene) async throws {
        let body = scene.body(operation)
        func refuse(
            _ code: String, _ path: String? = nil, body other: String? = nil, type: String = "application/json",
            headers: [String: String] = [:]
        ) async throws {
            guard operation.errors.contains(code) else { return }
            try await self.refuse(
                code, operation.method, path ?? operation.path(scene.values), other ?? body, type: type,
                headers: headers)
        }
        func place(_ name: String, _ value: String) -> String {
            operation.path(scene.values.merging([name: value]) { $1 })
        }
        for name in operation.places { try await refuse("invalid_identifier", place(name, "a%20b")) }
        for (code, name, value) in scene.absent where operation.places.contains(name) {
            try await refuse(code, place(name, value))
        }
        for query in scene.queries where operation.hasParameter(String(query.prefix { $0 != "=" })) {
            try await refuse("invalid_query", operation.path(scene.values) + "?" + query)
        }
        try await refuse("invalid_query", operation.path(scene.values) + "?nonsense=1")
        try await refuse("malformed_json", body: "{")
        try await refuse("unsupported_media_type", type: "text/plain")
        try await refuse("body_too_large", body: String(repeating: " ", count: 70_000))
        try await refuse("invalid_document", body: #"{"nonsense":1}"#)
        try await refuse("invalid_credential", headers: ["authorization": "bearer nonsense"])
        if operation.hasParameter("Idempotency-Key") {
            try await refuse("invalid_header", headers: ["Idempotency-Key": "not a key"])
        } else if operation.errors.contains("behind") {
            try await refuse("invalid_header", headers: ["Dormouse-Position": "nowhere"])
        }
        if operation.errors.contains("behind") {
            try await refuse("position_beyond_log", headers: ["Dormouse-Position": "0:9000000"])
            try await refuse("earlier_incarnation", headers: ["Dormouse-Position": "0123456789ab.0:1"])
        }
        if operation.hasParameter("cursor"), operation.errors.contains("earlier_incarnation") {
            try await refuse("earlier_incarnation", operation.path(scene.values) + "?cursor=0123456789ab.1")
        }
        guard operation.places.contains("device") else { return }
        try await refuse("precondition_failed", headers: ["If-Match": #""9000000""#])
        try await refuse("idempotency_conflict", headers: ["Idempotency-Key": scene.usedKey])
        // Another device's resources look missing.
        try await refuse("not_found", headers: ["authorization": "bearer \(scene.bearer)"])
    }
}
