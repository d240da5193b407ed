public import Records

/// A rule that a source document states otherwise than Apple or this project: a row of ``Generations/readings``.
///
/// The source documents are five pages of Microsoft about Xamarin.iOS. By default a deployment follows Apple. The member
/// `readings` of the file of `PROFILES_FILE` names the rules for which it follows the documents.
public enum DisputedRule: String, WireEnum {
    /// Apps without a process in the app switcher.
    ///
    /// iOS keeps an app that the system has ended in the switcher. "Introduction au Backgrounding dans iOS", section
    /// "Sélecteur d'application": the switcher shows the apps whose processes are active.
    case appSwitcher
    /// Continuous background modes of an app without Background App Refresh.
    ///
    /// On iOS 13 and later, activities such as audio continue. "Introduction au Backgrounding dans iOS", section
    /// "Paramètres d'actualisation de l'application en arrière-plan": the app is suspended at once when it enters the
    /// background, and kept from any processing. It sets the feature ``Feature/refreshSwitchEndsActivities`` of all
    /// generations with Background App Refresh.
    case backgroundAppRefresh
    /// Apps that exit on suspend.
    ///
    /// Apple, `UIApplicationExitsOnSuspend`: the app is terminated instead of suspended. "Introduction au Backgrounding
    /// dans iOS", section "États de l'application": an app without code to run in the background is suspended.
    case exitsOnSuspend
    /// Redirects of the tasks of background sessions.
    ///
    /// Apple, `urlSession(_:task:willPerformHTTPRedirection:newRequest:completionHandler:)`: background sessions follow
    /// redirects without the delegate. "Transfert en arrière-plan", section "Utilisation des tâches et des délégués": the
    /// delegate of a background session handles redirects.
    case redirects
    /// The default of `timeoutIntervalForResource`.
    ///
    /// Apple, `timeoutIntervalForResource`: 7 days. "Backgrounding iOS avec des tâches", sections "Service de transfert en
    /// arrière-plan" and before: background transfers have no predefined time limit.
    case resourceTimeout
    /// Transfers of background sessions that are not discretionary.
    ///
    /// Apple, `isDiscretionary`: false by default. "Transfert en arrière-plan", section "Configuration d'une session en
    /// arrière-plan": background sessions make discretionary transfers.
    case sessionTransfers
    /// Silent notifications beyond the budget.
    ///
    /// Apple, "Pushing background updates to your App": only the newest of each app waits. "La mise à jour d'une
    /// application Xamarin.iOS en arrière-plan", section "Limites du débit": APNs delays the delivery, so all wait.
    case silentNotifications
    /// A task that fails while other tasks of its session continue.
    ///
    /// Apple, "Downloading files in the background": the system wakes the app when all tasks have finished. "Transfert en
    /// arrière-plan", section "Utilisation des tâches et des délégués": the delegate brings a suspended or terminated app
    /// back to handle errors, so each error wakes it.
    case transferErrors
}

/// The reading of a ``DisputedRule``.
public enum Reading: String, WireEnum {
    /// As iOS behaves, by Apple's documentation or by this project's choice.
    case apple
    /// As the source document says.
    case document
}

/// The reading of a disputed rule that decided something, in an explanation.
public struct RuleReading: Record, Equatable {
    public var reading: Reading
    public var rule: DisputedRule
}
