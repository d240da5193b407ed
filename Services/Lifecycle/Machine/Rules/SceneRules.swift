import Contracts
import Machines
import OrderedCollections

// Scenes: from iOS 13, an app that declares scenes enters and leaves the screen by calls of its scene delegate. UIKit
// no longer calls its app delegate then. Earlier versions ignore the declaration (Apple, "Managing your app's life
// cycle"). An app has one scene (our choice). The scene connects when the app first comes on screen, so a launch in the
// background connects none. It stays connected until the process ends.
extension Decision<LifecycleMachine> {
    /// Returns the callbacks of an app that becomes active after a launch.
    func launchCallbacks(_ record: InstalledApp) -> [Callback] {
        usesScenes(record) ? enterForegroundCallbacks(record) : [.didBecomeActive]
    }

    /// Returns the callbacks of an app that comes from the background. A scene also enters the foreground at a launch.
    func enterForegroundCallbacks(_ record: InstalledApp) -> [Callback] {
        guard usesScenes(record) else { return [.willEnterForeground, .didBecomeActive] }
        let connecting: [Callback] = record.isSceneConnected ? [] : [.sceneWillConnect]
        return connecting + [.sceneWillEnterForeground, .sceneDidBecomeActive]
    }

    /// Returns the callback of an app that becomes active after an interruption.
    func becomeActive(_ record: InstalledApp) -> Callback {
        usesScenes(record) ? .sceneDidBecomeActive : .didBecomeActive
    }

    func resignActive(_ record: InstalledApp) -> Callback {
        usesScenes(record) ? .sceneWillResignActive : .willResignActive
    }

    func enterBackground(_ record: InstalledApp) -> Callback {
        usesScenes(record) ? .sceneDidEnterBackground : .didEnterBackground
    }

    private func usesScenes(_ record: InstalledApp) -> Bool { record.manifest.scenes && profile.has(.scenes) }
}

extension InstalledApp {
    /// Notes that a scene connected.
    mutating func connectScene(_ callbacks: [Callback]) {
        if callbacks.contains(.sceneWillConnect) { isSceneConnected = true }
    }
}

extension Callback {
    /// Whether the app enters the background: the return of the handler ends its limit, and the system takes a snapshot.
    var entersBackground: Bool { self == .didEnterBackground || self == .sceneDidEnterBackground }
}
