public import Postgres
import Synchronization
public import Timeline

/// The suite's clock as this process last read it from the database: one row for all processes.
///
/// Every batch reads the row in its own transaction, goes by what it read itself, and tells it here; in between, time runs by
/// the setting last seen.
public final class SharedClock: SuiteClock {
    private let setting: Mutex<ClockSetting>
    private let real: any SuiteClock

    public init(_ setting: ClockSetting = .real, real: any SuiteClock = RealClock()) {
        self.setting = Mutex(setting)
        self.real = real
    }

    public var now: Instant { now(by: current) }
    /// The time by a setting that was read otherwise.
    public func now(by setting: ClockSetting) -> Instant { setting.instant(atReal: real.now) }
    public var current: ClockSetting { setting.withLock { $0 } }

    /// Takes in what a transaction read.
    public func take(_ setting: ClockSetting) { self.setting.withLock { $0 = setting } }

    /// Reads the clock's row.
    public static let read = Statement("SELECT is_virtual, real_epoch, virtual_epoch, rate FROM bus.clock")

    /// The setting in a row of ``read``.
    public static func setting(_ row: Row) throws(PostgresError) -> ClockSetting {
        ClockSetting(
            isVirtual: try row.bool(0), realEpoch: Instant(milliseconds: Int64(try row.int(1))),
            virtualEpoch: Instant(milliseconds: Int64(try row.int(2))), rate: try row.double(3))
    }
}
