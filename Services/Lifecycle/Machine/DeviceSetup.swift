public import Contracts

/// A device with its apps and conditions, set up by one command.
public struct DeviceSetup: Sendable, Equatable {
    /// An app to install.
    public struct App: Sendable, Equatable {
        /// The bundle identifier.
        public var identifier: String
        public var manifest: Manifest
        /// Whether the app then comes on screen.
        public var isLaunched: Bool

        /// Creates an app.
        public init(_ identifier: String, _ manifest: Manifest, isLaunched: Bool = false) {
            self.identifier = identifier
            self.manifest = manifest
            self.isLaunched = isLaunched
        }
    }

    public var registration: Registration
    /// The apps, in the order of their installation.
    public var apps: [App]
    /// The conditions after the launches; nil keeps them.
    public var conditions: ConditionsReport?

    /// Creates a setup.
    public init(_ registration: Registration, apps: [App] = [], conditions: ConditionsReport? = nil) {
        self.registration = registration
        self.apps = apps
        self.conditions = conditions
    }
}
