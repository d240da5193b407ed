import Contracts
import Machines
import OrderedCollections

// Memory pressure: the system ends apps, lowest priority first: suspended apps, apps with limited background work, apps
// with activities. Their entries stay in the switcher.
extension Decision<LifecycleMachine> {
    /// Ends apps. A warning ends suspended apps. Critical pressure also ends background apps, or the app on screen if
    /// there are no others. The amounts are our choice; no source has them.
    mutating func relieve(_ pressure: MemoryPressure) {
        let suspended = victims(in: .suspended)
        let inBackground = victims(in: .background)
        let background =
            inBackground.filter { state.apps[$0]?.activities.isEmpty == true }
            + inBackground.filter { state.apps[$0]?.activities.isEmpty == false }
        switch pressure {
        case .normal: return
        case .warning: for app in suspended { end(app, .memoryPressure) }
        case .critical:
            for app in suspended + background { end(app, .memoryPressure) }
            if suspended.isEmpty, background.isEmpty, let app = state.foreground { terminate(app, .memoryPressure) }
        }
    }

    /// Ends background apps of a device that is too hot. The app on screen stays (our choice; no source says which).
    mutating func coolDown() {
        for app in victims(in: .background) { terminate(app, .thermal) }
    }

    /// Returns the apps in a state that are not terminating, largest memory first, then least recently used first.
    private func victims(in state: AppState) -> [String] {
        let apps = self.state.apps
        let candidates = self.state.switcher.reversed().filter { apps[$0]?.state == state && apps[$0]?.ending == nil }
        return candidates.enumerated().sorted { left, right in
            let (large, small) = (apps[left.element]?.memoryMB ?? 0, apps[right.element]?.memoryMB ?? 0)
            return (-large, left.offset) < (-small, right.offset)
        }.map(\.element)
    }
}
