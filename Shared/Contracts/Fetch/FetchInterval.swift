public import Records
public import Timeline

/// The minimum interval between background refreshes of an app: `setMinimumBackgroundFetchInterval(_:)`.
///
/// JSON: `"never"`, `"minimum"` or a number of seconds.
public enum FetchInterval: Sendable, Hashable {
    /// No background refresh (`UIApplication.backgroundFetchIntervalNever`).
    case never
    /// As often as the system allows (`UIApplication.backgroundFetchIntervalMinimum`).
    case minimum
    /// At least this interval. The system chooses the time after it.
    case atLeast(Interval)

    /// The longest allowed interval: 365 days.
    public static let longest = Interval.days(365)
}

extension FetchInterval: Value {
    public static var placeholder: FetchInterval { .never }

    public static var schema: JSON {
        [
            "anyOf": [
                ["type": "string", "enum": ["never", "minimum"]],
                ["type": "number", "minimum": 0, "maximum": .double(longest.seconds)],
            ]
        ]
    }

    public func write(to binary: inout BinaryWriter) {
        switch self {
        case .never: binary.append(0)
        case .minimum: binary.append(1)
        case .atLeast(let interval):
            binary.append(2)
            interval.write(to: &binary)
        }
    }

    public static func read(from binary: inout BinaryReader) -> FetchInterval {
        switch binary.byte() {
        case 0: return .never
        case 1: return .minimum
        case 2: return .atLeast(Interval.read(from: &binary))
        default:
            binary.fail()
            return .never
        }
    }

    public func write(to json: inout JSONWriter) {
        switch self {
        case .never: json.write("never")
        case .minimum: json.write("minimum")
        case .atLeast(let interval): interval.write(to: &json)
        }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> FetchInterval? {
        switch json.string {
        case "never": return .never
        case "minimum": return .minimum
        default: break
        }
        guard let seconds = json.double, (0...longest.seconds).contains(seconds) else {
            reader.fault("must be \"never\", \"minimum\" or a number of seconds from 0 to \(Int(longest.seconds))")
            return nil
        }
        return .atLeast(.seconds(seconds))
    }
}
