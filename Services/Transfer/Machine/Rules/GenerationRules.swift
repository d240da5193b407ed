import Contracts
import Machines

// Calls for features that the generation of the device lacks.
extension Decision<TransferMachine> {
    /// Throws unless the generation of the device has a feature.
    func require(_ feature: Feature) throws(TransferRefusal) {
        let profile = policy.generations[state.profile]
        guard profile.has(feature) else { throw .unsupported(feature, on: profile) }
    }

    /// Throws unless the generation has background sessions with this configuration.
    func requireFeatures(of configuration: SessionConfiguration) throws(TransferRefusal) {
        try require(.backgroundSessions)
        if !configuration.allowsConstrainedNetworkAccess { try require(.lowDataMode) }
        if configuration.handlesDelayedRequests { try require(.earliestBeginDate) }
        if !configuration.allowsExpensiveNetworkAccess { try require(.expensiveNetworkAccess) }
    }
}
