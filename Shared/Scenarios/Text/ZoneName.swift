import Foundation
import Records

/// A name of the IANA time zone database, such as `Europe/Berlin` or `UTC`.
public struct ZoneName: TextValue, MixKey {
    public let name: String

    public static let form = "a time zone of the IANA database such as Europe/Berlin or UTC"
    public static let pattern = "[A-Za-z0-9_+/-]{1,64}"
    public static var placeholder: ZoneName { .utc }
    public static let utc = ZoneName(known: "UTC")

    private init(known name: String) { self.name = name }

    public init?(_ text: String) {
        guard text.utf8.count <= 64, text == "UTC" || text.contains("/"), TimeZone(identifier: text) != nil else {
            return nil
        }
        name = text
    }

    public var description: String { name }
    public var text: String { name }
}
