public import Scenarios

extension ScenarioFile {
    /// Returns the content of a scenario in a few lines of text.
    public static func summary(of scenario: Scenario) -> String {
        let plan = ScenarioPlan(scenario)
        let mix = scenario.devices.mix.parts.map { "\($0.key.text) \($0.share)" }.joined(separator: ", ")
        let zones = scenario.devices.timeZone.parts.map { "\($0.key) \($0.share)" }.joined(separator: ", ")
        let groups = scenario.people.enumerated().map { index, group in
            "\(group.name ?? "group \(index + 1)") \(group.share)"
        }
        let provider =
            scenario.provider == .external
            ? "external" : "\(plan.sends.count) sends by the clock of \(plan.providerZone)"
        return """
            \(scenario.name)
              time      \(plan.begin) to \(plan.end), \(scenario.duration)
              devices   \(scenario.devices.count): \(mix); \(zones)
              people    \(groups.joined(separator: ", "))
              apps      \(scenario.apps.map(\.id).joined(separator: ", "))
              provider  \(provider)
              faults    \(plan.faults.count)
              expect    \(scenario.expect.count)
            """
    }
}
