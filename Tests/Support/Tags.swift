public import Testing

/// The things that a suite needs besides the build. A pure test needs none of them.
extension Tag {
    /// The PostgreSQL programs: the suite runs a private cluster.
    @Tag public static var database: Self
    /// Products of this package or tools of the system, as processes.
    @Tag public static var processes: Self
    /// Chromium.
    @Tag public static var browser: Self
    /// Software of others that talks to the services: Python packages, curl, wget, aria2 or nginx.
    @Tag public static var stockClient: Self
}
