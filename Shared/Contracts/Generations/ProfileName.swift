public import Records

/// A generation of iOS, whose features and limits apply to a device: a column of ``Generations``.
///
/// To add a generation, add a case. Rows name versions of iOS, so all rows have a value for it.
public enum ProfileName: String, WireEnum, Comparable {
    case ios6, ios7, ios9, ios12, ios13, ios15, ios16, ios17, ios18, ios26

    /// The major version of iOS. A profile has the features of the last release of this version.
    public var version: Int { Int(rawValue.dropFirst(3)) ?? 0 }

    public static func < (one: Self, other: Self) -> Bool { one.version < other.version }
}
