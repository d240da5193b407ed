/// The routes of each service, to help a client that uses the wrong service.
///
/// No service contains the code of another, so this is a list. A test compares it with the services' descriptions.
public enum SuiteRoutes {
    /// A service and its routes.
    public struct Service: Sendable {
        public let name: String
        /// The default port.
        public let port: Int
        /// `METHOD /path`, with parameters in braces.
        public let routes: [String]

        init(_ name: String, port: Int, _ routes: String) {
            self.name = name
            self.port = port
            self.routes = routes.split(separator: "\n").map(String.init)
        }
    }

    /// Routes that every service has, so they identify none.
    public static let common: Set<String> = [
        "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/parked/{key}/replay", "/v1/parked/{key}/discard",
    ]

    /// Returns the service that has a route; nil if none has it.
    static func service(of method: String, _ path: String) -> Service? {
        let parts = path.split(separator: "/")
        return all.first { service in
            service.routes.contains { route in
                let words = route.split(separator: " ")
                return words.count == 2 && words[0] == method && matches(words[1].split(separator: "/"), parts)
            }
        }
    }

    private static func matches(_ pattern: [Substring], _ parts: [Substring]) -> Bool {
        // A path of content has several segments.
        let isLong = pattern.last == "{path}"
        guard isLong ? parts.count >= pattern.count : parts.count == pattern.count else { return false }
        return zip(pattern, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
    }

    /// All services.
    public static let all = [
        Service("lifecycle", port: 8081, lifecycle), Service("fetch", port: 8082, fetch),
        Service("push", port: 8083, push), Service("transfer", port: 8084, transfer),
        Service("ops", port: 8080, ops),
    ]

    private static let lifecycle = """
        GET /.well-known/jwks.json
        DELETE /v1/devices/{device}
        GET /v1/devices/{device}
        PUT /v1/devices/{device}
        GET /v1/devices/{device}/app-switcher
        DELETE /v1/devices/{device}/app-switcher/{app}
        POST /v1/devices/{device}/app-switcher/{app}
        DELETE /v1/devices/{device}/apps/{app}
        GET /v1/devices/{device}/apps/{app}
        PUT /v1/devices/{device}/apps/{app}
        POST /v1/devices/{device}/apps/{app}/actions
        DELETE /v1/devices/{device}/apps/{app}/activities/{kind}
        POST /v1/devices/{device}/apps/{app}/activities/{kind}
        GET /v1/devices/{device}/apps/{app}/background-refresh-status
        GET /v1/devices/{device}/apps/{app}/background-time-remaining
        POST /v1/devices/{device}/apps/{app}/callbacks/{callback}/completion
        GET /v1/devices/{device}/apps/{app}/explain
        DELETE /v1/devices/{device}/apps/{app}/regions/{region}
        PUT /v1/devices/{device}/apps/{app}/regions/{region}
        PUT /v1/devices/{device}/apps/{app}/settings
        DELETE /v1/devices/{device}/apps/{app}/significant-location-changes
        PUT /v1/devices/{device}/apps/{app}/significant-location-changes
        POST /v1/devices/{device}/apps/{app}/tasks
        DELETE /v1/devices/{device}/apps/{app}/tasks/{task}
        GET /v1/devices/{device}/apps/{app}/terminations
        POST /v1/devices/{device}/apps/{app}/transitions
        POST /v1/devices/{device}/apps/{app}/wakes/{wake}/completion
        PATCH /v1/devices/{device}/conditions
        POST /v1/devices/{device}/interruptions
        GET /v1/devices/{device}/orders
        POST /v1/devices/{device}/power
        PUT /v1/devices/{device}/settings
        DELETE /v1/devices/{device}/token
        POST /v1/devices/{device}/token
        GET /v1/fleets/{fleet}/orders
        GET /v1/fleets/{fleet}/terminations
        POST /v1/fleets/{fleet}/token
        GET /v1/profiles
        """

    private static let fetch = """
        GET /v1/devices/{device}/apps/{app}/fetches
        GET /v1/devices/{device}/apps/{app}/fetches/{fetch}
        GET /v1/devices/{device}/apps/{app}/forecast
        PUT /v1/devices/{device}/apps/{app}/minimum-interval
        POST /v1/devices/{device}/apps/{app}/simulate-fetch
        DELETE /v1/devices/{device}/apps/{app}/task-requests
        GET /v1/devices/{device}/apps/{app}/task-requests
        POST /v1/devices/{device}/apps/{app}/task-requests
        DELETE /v1/devices/{device}/apps/{app}/task-requests/{identifier}
        POST /v1/devices/{device}/apps/{app}/task-requests/{identifier}/simulate-expiration
        POST /v1/devices/{device}/apps/{app}/task-requests/{identifier}/simulate-launch
        GET /v1/devices/{device}/apps/{app}/task-runs
        GET /v1/devices/{device}/budgets
        """

    private static let push = """
        GET /1/apps/{app}/all-channels
        DELETE /1/apps/{app}/channels
        GET /1/apps/{app}/channels
        POST /1/apps/{app}/channels
        POST /3/device/{token}
        POST /4/broadcasts/apps/{app}
        GET /v1/devices/{device}/apps/{app}/explain
        GET /v1/devices/{device}/apps/{app}/notifications
        DELETE /v1/devices/{device}/apps/{app}/registration
        PUT /v1/devices/{device}/apps/{app}/registration
        POST /v1/devices/{device}/keep-alive
        GET /v1/devices/{device}/notifications
        POST /v1/devices/{device}/notifications/{notification}/ack
        POST /v1/devices/{device}/notifications/{notification}/opened
        PUT /v1/devices/{device}/throttle
        GET /v1/metrics/notifications
        GET /v1/notifications/{notification}
        GET /v1/provider-keys
        POST /v1/provider-keys
        DELETE /v1/provider-keys/{team}/{key}
        """

    private static let transfer = """
        DELETE /content/{path}
        GET /content/{path}
        HEAD /content/{path}
        PUT /content/{path}
        POST /files
        DELETE /files/{upload}
        GET /files/{upload}
        HEAD /files/{upload}
        PATCH /files/{upload}
        POST /files/{upload}
        POST /uploads
        DELETE /uploads/{upload}
        GET /uploads/{upload}
        HEAD /uploads/{upload}
        PATCH /uploads/{upload}
        POST /v1/devices/{device}/apps/{app}/challenges/{challenge}
        GET /v1/devices/{device}/apps/{app}/explain
        GET /v1/devices/{device}/apps/{app}/files
        DELETE /v1/devices/{device}/apps/{app}/files/{name}
        GET /v1/devices/{device}/apps/{app}/files/{name}
        HEAD /v1/devices/{device}/apps/{app}/files/{name}
        PUT /v1/devices/{device}/apps/{app}/files/{name}
        GET /v1/devices/{device}/apps/{app}/sessions
        GET /v1/devices/{device}/apps/{app}/sessions/{identifier}
        PUT /v1/devices/{device}/apps/{app}/sessions/{identifier}
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/callbacks/{callback}/completion
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/downloads
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/finish-tasks-and-invalidate
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/invalidate-and-cancel
        GET /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/cancel
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/cancel-by-producing-resume-data
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/claim
        GET /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/file
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/resume
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/suspend
        GET /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/timeline
        POST /v1/devices/{device}/apps/{app}/sessions/{identifier}/uploads
        """

    private static let ops = """
        GET /v1/clock
        PUT /v1/clock
        POST /v1/clock/advance
        GET /v1/consumers
        GET /v1/dead-letters
        POST /v1/dead-letters/{service}/{key}/discard
        POST /v1/dead-letters/{service}/{key}/replay
        GET /v1/devices
        GET /v1/devices/{device}/state
        GET /v1/devices/{device}/timeline
        GET /v1/events
        GET /v1/events/stream
        GET /v1/events/{id}
        GET /v1/events/{id}/causes
        GET /v1/log/check
        GET /v1/stats
        """
}
