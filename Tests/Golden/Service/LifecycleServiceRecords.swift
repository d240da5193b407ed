import Records

@testable import LifecycleService

extension RecordGoldenTests {
    static let lifecycleService: [any Record.Type] = [
        AppDocument.self, AuthorizationDocument.self, BackgroundRefreshDocument.self, BackgroundTimeDocument.self,
        DeviceDocument.self, ErasureDocument.self,
        ExitData.self, ExitData.Background.self, ExitData.Foreground.self, FleetTerminations.self, Interruption.self,
        Order.self, OrderList.self, Power.self, Page<SwitcherEntry>.self, ProfileDocument.self, ProfilesDocument.self,
        SwitcherEntry.self,
        TaskDocument.self, Terminations.self, TokenDocument.self, Transition.self,
    ]
}
