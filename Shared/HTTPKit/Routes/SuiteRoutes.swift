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

        /// - Parameter routes: a path and its methods on each line.
        init(_ name: String, port: Int, _ routes: String) {
            self.name = name
            self.port = port
            self.routes = routes.split(separator: "\n").flatMap { line in
                let words = line.split(separator: " ")
                return words.dropFirst().map { "\($0) \(words[0])" }
            }
        }
    }

    /// Routes that every service has, so they identify none.
    public static let common: Set<String> = [
        "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/log-level", "/v1/parked/{key}/replay",
        "/v1/parked/{key}/discard",
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
        /.well-known/jwks.json GET
        /v1/devices/{device} DELETE GET PUT
        /v1/devices/{device}/app-switcher GET
        /v1/devices/{device}/app-switcher/{app} DELETE POST
        /v1/devices/{device}/apps/{app} DELETE GET PUT
        /v1/devices/{device}/apps/{app}/actions POST
        /v1/devices/{device}/apps/{app}/activities/{kind} DELETE POST
        /v1/devices/{device}/apps/{app}/authorization-requests POST
        /v1/devices/{device}/apps/{app}/background-refresh-status GET
        /v1/devices/{device}/apps/{app}/background-time-remaining GET
        /v1/devices/{device}/apps/{app}/beacon-regions/{region} DELETE PUT
        /v1/devices/{device}/apps/{app}/bluetooth-events POST
        /v1/devices/{device}/apps/{app}/bluetooth-managers/{role} DELETE PUT
        /v1/devices/{device}/apps/{app}/callbacks/{callback}/completion POST
        /v1/devices/{device}/apps/{app}/explain GET
        /v1/devices/{device}/apps/{app}/health-deliveries/{type} DELETE PUT
        /v1/devices/{device}/apps/{app}/monitors/{monitor} PUT
        /v1/devices/{device}/apps/{app}/monitors/{monitor}/conditions/{condition} DELETE PUT
        /v1/devices/{device}/apps/{app}/regions/{region} DELETE PUT
        /v1/devices/{device}/apps/{app}/settings PUT
        /v1/devices/{device}/apps/{app}/significant-location-changes DELETE PUT
        /v1/devices/{device}/apps/{app}/tasks POST
        /v1/devices/{device}/apps/{app}/tasks/{task} DELETE
        /v1/devices/{device}/apps/{app}/terminations GET
        /v1/devices/{device}/apps/{app}/transitions POST
        /v1/devices/{device}/apps/{app}/visits DELETE PUT
        /v1/devices/{device}/apps/{app}/wakes/{wake}/completion POST
        /v1/devices/{device}/apps/{app}/wakes/{wake}/progress PUT
        /v1/devices/{device}/conditions PATCH
        /v1/devices/{device}/erasure POST
        /v1/devices/{device}/health-samples POST
        /v1/devices/{device}/interruptions POST
        /v1/devices/{device}/orders GET
        /v1/devices/{device}/power POST
        /v1/devices/{device}/settings PUT
        /v1/devices/{device}/token DELETE POST
        /v1/devices/{device}/visits POST
        /v1/fleets/{fleet} DELETE
        /v1/fleets/{fleet}/conditions PATCH
        /v1/fleets/{fleet}/devices POST
        /v1/fleets/{fleet}/orders GET
        /v1/fleets/{fleet}/terminations GET
        /v1/fleets/{fleet}/token DELETE POST
        /v1/profiles GET
        """

    private static let fetch = """
        /v1/devices/{device}/apps/{app}/fetches GET
        /v1/devices/{device}/apps/{app}/fetches/{fetch} GET
        /v1/devices/{device}/apps/{app}/forecast GET
        /v1/devices/{device}/apps/{app}/minimum-interval PUT
        /v1/devices/{device}/apps/{app}/simulate-fetch POST
        /v1/devices/{device}/apps/{app}/task-requests DELETE GET POST
        /v1/devices/{device}/apps/{app}/task-requests/{identifier} DELETE
        /v1/devices/{device}/apps/{app}/task-requests/{identifier}/simulate-expiration POST
        /v1/devices/{device}/apps/{app}/task-requests/{identifier}/simulate-launch POST
        /v1/devices/{device}/apps/{app}/task-requests/{identifier}/user-cancellation POST
        /v1/devices/{device}/apps/{app}/task-runs GET
        /v1/devices/{device}/budgets GET
        """

    private static let push = """
        /1/apps/{app}/all-channels GET
        /1/apps/{app}/channels DELETE GET POST
        /3/device/{token} POST
        /4/broadcasts/apps/{app} POST
        /v1/devices/{device}/apps/{app}/explain GET
        /v1/devices/{device}/apps/{app}/live-activities GET
        /v1/devices/{device}/apps/{app}/live-activities/{activity} DELETE PUT
        /v1/devices/{device}/apps/{app}/live-activities/{activity}/end POST
        /v1/devices/{device}/apps/{app}/live-activities/{activity}/update POST
        /v1/devices/{device}/apps/{app}/notification-categories GET PUT
        /v1/devices/{device}/apps/{app}/notifications GET
        /v1/devices/{device}/apps/{app}/registration DELETE PUT
        /v1/devices/{device}/apps/{app}/tokens GET
        /v1/devices/{device}/keep-alive POST
        /v1/devices/{device}/notifications GET
        /v1/devices/{device}/notifications/{notification}/ack POST
        /v1/devices/{device}/notifications/{notification}/content POST
        /v1/devices/{device}/notifications/{notification}/opened POST
        /v1/devices/{device}/notifications/{notification}/presentation POST
        /v1/devices/{device}/notifications/{notification}/response POST
        /v1/devices/{device}/throttle PUT
        /v1/fleets/{fleet}/notifications/ack POST
        /v1/fleets/{fleet}/notifications/stream GET
        /v1/metrics/notifications GET
        /v1/notifications/{notification} GET
        /v1/provider-keys GET POST
        /v1/provider-keys/{team}/{key} DELETE
        """

    private static let transfer = """
        /content/{path} DELETE GET HEAD PUT
        /files POST
        /files/{upload} DELETE GET HEAD PATCH POST
        /uploads POST
        /uploads/{upload} DELETE GET HEAD PATCH
        /v1/devices/{device}/apps/{app}/challenges/{challenge} POST
        /v1/devices/{device}/apps/{app}/explain GET
        /v1/devices/{device}/apps/{app}/files GET
        /v1/devices/{device}/apps/{app}/files/{name} DELETE GET HEAD PUT
        /v1/devices/{device}/apps/{app}/sessions GET
        /v1/devices/{device}/apps/{app}/sessions/{identifier} GET PUT
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/callbacks/{callback}/completion POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/downloads POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/extension-end POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/finish-tasks-and-invalidate POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/invalidate-and-cancel POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task} GET
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/become-download POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/cancel POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/cancel-by-producing-resume-data POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/claim POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/delayed-request POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/file GET
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/redirect POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/resume POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/suspend POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/system-cancellation POST
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/tasks/{task}/timeline GET
        /v1/devices/{device}/apps/{app}/sessions/{identifier}/uploads POST
        """

    private static let ops = """
        /v1/audit GET
        /v1/clock GET PUT
        /v1/clock/advance POST
        /v1/consumers GET
        /v1/dead-letters GET
        /v1/dead-letters/{service}/{key}/discard POST
        /v1/dead-letters/{service}/{key}/replay POST
        /v1/devices GET
        /v1/devices/{device}/apps/{app}/explain GET
        /v1/devices/{device}/apps/{app}/forecast GET
        /v1/devices/{device}/erasure GET
        /v1/devices/{device}/state GET
        /v1/devices/{device}/timeline GET
        /v1/events GET
        /v1/events/stream GET
        /v1/events/{id} GET
        /v1/events/{id}/causes GET
        /v1/fleets GET
        /v1/key GET
        /v1/log/check GET
        /v1/pushes GET
        /v1/pushes/{notification} GET
        /v1/reports GET
        /v1/stats GET
        """
}
