public import Timeline

/// The options of a scenario in a running suite.
public struct ScenarioOptions: Sendable, Equatable {
    /// The name of the fleet, which is the prefix of the names of its devices.
    public var fleet = "device"
    /// Replaces the seed of the scenario.
    public var seed: UInt64?
    /// The maximum number of concurrent requests.
    public var concurrency = 32
    /// The longest real time of the run; nil until the end of the scenario.
    public var limit: Interval?
    /// The file that gets the device tokens as lines of JSON.
    public var tokens: String?
    /// The URL that gets the device tokens in batches.
    public var webhook: String?

    /// The command that kills a service (`COMMAND kill push`) and starts it (`COMMAND start push`).
    public var killCommand: String?

    public init() {}

    /// - Throws: ``FleetError`` with the first invalid option.
    func validate() throws(FleetError) {
        var options = FleetOptions()
        options.fleet = fleet
        options.concurrency = concurrency
        try options.validate()
        if let webhook { _ = try Endpoints.address(webhook, "the webhook") }
    }
}
