import Records

@testable import PushService

extension RecordGoldenTests {
    static let pushService: [any Record.Type] = [
        CategoriesDocument.self, Explanation.self, Explanation.Budget.self, Explanation.Outcome.self,
        LiveActivityDocument.self,
        LiveActivityEndDocument.self, LiveActivityList.self, LiveActivityStartDocument.self,
        LiveActivityUpdateDocument.self, ModificationDocument.self, NotificationCount.self,
        NotificationCountList.self, NotificationDocument.self, NotificationItem.self, NotificationList.self,
        Page<NotificationItem>.self, ProviderKeyDocument.self, Page<ProviderKeyDocument>.self,
        PresentationDocument.self, RegistrationDocument.self,
        ThrottleDocument.self, TimelineDocument.self, TimelineDocument.Entry.self, TokenDocument.self, TokenList.self,
    ]
}
