/// The version of the suite. All its programs have the same one.
public enum Version {
    /// A semantic version (https://semver.org). `CHANGELOG.md` has a section for each one that was released.
    public static let current = "0.2.0"
}
