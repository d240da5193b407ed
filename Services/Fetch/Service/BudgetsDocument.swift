import Contracts
import FetchCore
import OrderedCollections
import Records
import Timeline

/// Today's budgets of a device and its apps.
struct BudgetsDocument: Record {
    /// One daily limit. A quarter is available when the day begins, the rest evenly over 24 h.
    struct Account: Record {
        /// The part of the limit that the day allows so far, spent or not.
        var allowed = 0
        /// The limit of the whole day.
        var limit = 0
        var spent = 0

        init(limit: Int, spent: Int, day: Instant, now: Instant) {
            self.limit = limit
            self.spent = spent
            allowed = Budget.available(limit, day, at: now)
        }
    }

    /// The budgets of an app, or of a device.
    struct BudgetDocument: Record {
        /// The time at which the budget allows a refresh again; null if it does now.
        var availableAt: Nullable<Instant> = nil
        /// The data in bytes.
        var data = Account()
        /// The energy in millijoules. Refreshes on a charger spend none.
        var energy = Account()

        init(_ budgetUsage: BudgetUsage, _ budget: Budget, day: Instant, now: Instant) {
            let spent = budgetUsage.asOf(now)
            energy = Account(limit: budget.millijoules, spent: spent.millijoules, day: day, now: now)
            data = Account(limit: budget.bytes, spent: spent.bytes, day: day, now: now)
            let moment = budget.allows(budgetUsage)
            availableAt = moment > now ? moment : nil
        }
    }

    /// The budgets of an app and of its device, which both limit the app.
    struct Pair: Record {
        var app = BudgetDocument()
        var device = BudgetDocument()

        init(_ app: ScheduledApp, _ device: FetchMachine, now: Instant, _ policy: FetchPolicy) {
            let day = device.day(of: now, policy)
            self.app = BudgetDocument(app.budgetUsage, policy.appBudget, day: day, now: now)
            self.device = BudgetDocument(device.budgetUsage, policy.deviceBudget, day: day, now: now)
        }
    }

    /// The budgets of the apps by bundle identifier.
    var apps: OrderedDictionary<String, BudgetDocument> = [:]
    var day = Instant.epoch
    var device = BudgetDocument()

    init(_ state: FetchMachine, now: Instant, _ policy: FetchPolicy) {
        let day = state.day(of: now, policy)
        self.day = day
        device = BudgetDocument(state.budgetUsage, policy.deviceBudget, day: day, now: now)
        for (name, app) in state.apps {
            apps[name] = BudgetDocument(app.budgetUsage, policy.appBudget, day: day, now: now)
        }
    }
}
