public import Contracts
import Foundation
import Records

/// The file of `PROFILES_FILE`, which overrides features and limits of generations of iOS.
///
/// Every service whose rules depend on the generation reads the same setting, so that the services agree.
public struct ProfilesFile: Sendable {
    private static let setting = "PROFILES_FILE"
    private let path: String?

    /// Reads the setting.
    public init(_ reader: SettingsReader) {
        path = reader.text(
            Self.setting,
            "JSON file that overrides profiles, the same for all services: "
                + #"{"ios15":{"limits":{"backgroundTasks":25}}}"#)
    }

    /// Reads the file; without it, returns the built-in table.
    ///
    /// - Throws: an error that names the faults, if the file can't be read or has unknown names or invalid values.
    public func read() throws(ConfigurationError) -> Generations {
        guard let path else { return .standard }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("\(Self.setting): cannot read the file that it names")
        }
        do throws(DocumentError) {
            return try Generations(overriding: Array(data))
        } catch {
            throw ConfigurationError("\(Self.setting): \(error)")
        }
    }
}
