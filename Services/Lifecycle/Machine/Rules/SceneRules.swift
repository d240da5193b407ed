import Contracts
import Machines
import OrderedCollections

// Scenes: from iOS 13, UIKit calls the scene delegate of an app that declares scenes, and its app delegate no more, when
// the app enters or leaves the screen. Before, it ignores the declaration (Apple, "Managing your app's life cycle").
// An app has one scene (our choice). The scene connects at the first time on screen, so a launch in the background
// connects none. It stays connected until the process ends.
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
