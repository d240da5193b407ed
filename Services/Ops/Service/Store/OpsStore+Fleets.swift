import Contracts
import EventLog
import Postgres

// The devices of a fleet.
extension OpsStore {
    private static let fleetDevices = Statement("SELECT key FROM ops.fleet_devices WHERE fleet = $1")

    /// Returns the devices that are or were in a fleet, for a filter of events.
    static func devices(of fleet: String) -> AggregateSet {
        AggregateSet(fleet, query: "SELECT f.partition, f.key FROM ops.fleet_devices AS f WHERE f.fleet = ? ")
    }

    /// Returns the devices that are or were in a fleet, by all events that are in the log now.
    func currentDevices(of fleet: String) async throws(PostgresError) -> FleetDevices {
        try await countAllEvents()
        let rows = try await pool.execute(Self.fleetDevices, .text(fleet))
        return FleetDevices(fleet, Set(try rows.decode(AggregateKey.self)))
    }
}
