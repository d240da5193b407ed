import Contracts
import Machines

// Calls for features that the generation of the device lacks, and the readings of disputed rules.
extension Decision<TransferMachine> {
    /// Throws unless the generation of the device has a feature.
    func require(_ feature: Feature) throws(TransferRefusal) {
        let profile = policy.generations[state.profile]
        guard profile.has(feature) else { throw .unsupported(feature, on: profile) }
    }

    /// Whether the deployment follows the source document for a rule.
    func follows(_ rule: DisputedRule) -> Bool { policy.generations[rule] == .document }

    /// Throws unless the generation has background sessions with this configuration.
    func requireFeatures(of configuration: SessionConfiguration) throws(TransferRefusal) {
        try require(.backgroundSessions)
        if !configuration.allowsConstrainedNetworkAccess { try require(.lowDataMode) }
        if configuration.sharedContainerIdentifier != nil { try require(.sharedContainers) }
        if configuration.handlesDelayedRequests { try require(.earliestBeginDate) }
        if !configuration.allowsExpensiveNetworkAccess { try require(.expensiveNetworkAccess) }
    }
}
