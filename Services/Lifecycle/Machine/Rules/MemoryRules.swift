import Contracts
import Machines
import OrderedCollections

// Memory pressure: the system ends apps, lowest priority first: what is suspended, what runs in the background for a moment,
// what does so for a continuous mode. Their entries stay in the switcher.
extension Decision<LifecycleMachine> {
    /// How much goes at once is our choice, since no source tells: a warning takes what is suspended; critical pressure takes
    /// what runs in the background too, and the app on screen where nothing else was left to take.
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

    /// A device that is too hot ends what works in the background; the app on screen stays (our choice: no source tells which).
    mutating func coolDown() {
        for app in victims(in: .background) { terminate(app, .thermal) }
    }

    /// The apps of a state that were not told to end yet: the largest first; of equals the one that was used longest ago.
    private func victims(in state: AppState) -> [String] {
        let apps = self.state.apps
        let candidates = self.state.switcher.reversed().filter { apps[$0]?.state == state && apps[$0]?.ending == nil }
        return candidates.enumerated().sorted { left, right in
            let (large, small) = (apps[left.element]?.memoryMB ?? 0, apps[right.element]?.memoryMB ?? 0)
            return (-large, left.offset) < (-small, right.offset)
        }.map(\.element)
    }
}
