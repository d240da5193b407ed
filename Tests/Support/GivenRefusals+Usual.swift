extension GivenRefusals {
    /// What the calls are about that are refused whatever they are about.
    public struct Scene: Sendable {
        /// The parameters of paths, by their names: of what is there.
        public var values: [String: String] = [:]
        /// Parameters of what is not there, with the codes that tell so.
        public var absent: [(code: String, name: String, value: String)] = []
        /// The token of a device that is none of `values`.
        public var bearer = ""
        /// An `Idempotency-Key` that was used for a request that is none of these.
        public var usedKey = ""
        /// Queries that are not acceptable; each where its parameter is described.
        public var queries: [String] = []
        /// A body that an operation takes.
        public var body: @Sendable (APIDescription.Operation) -> String? = { $0.takesDocument ? "{}" : nil }

        public init() {}
    }

    /// Provokes the refusals that all operations share.
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
            try await refuse("place_beyond_log", headers: ["Dormouse-Position": "0:9000000"])
        }
        guard operation.places.contains("device") else { return }
        try await refuse("precondition_failed", headers: ["If-Match": #""9000000""#])
        try await refuse("idempotency_conflict", headers: ["Idempotency-Key": scene.usedKey])
        // Another's device is as if it were not there.
        try await refuse("not_found", headers: ["authorization": "bearer \(scene.bearer)"])
    }
}
