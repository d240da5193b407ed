public import Timeline

/// The times in which a device and the code of its apps react (our choice). They are the same in a simulation and in a
/// running suite.
public enum DeviceTimes {
    /// Short handlers and acknowledgements.
    public static let answer = Interval.milliseconds(200)
    /// From the launch of an app to the calls of its code.
    public static let start = Interval.seconds(1)
    /// From the opening of an app to its question for authorization.
    public static let question = Interval.seconds(1)
    /// From the opening of an app to its activity.
    public static let activity = Interval.seconds(2)
    /// From the opening of an app to its transfers.
    public static let transfer = Interval.milliseconds(500)
    /// The work of a service extension.
    public static let serviceExtension = Interval.seconds(1)
    /// From the home screen to the lock of the device.
    public static let lock = Interval.seconds(5)
    /// From a new network to the connection with `push`.
    public static let connection = Interval.seconds(1)
    /// The longest time between two reports of progress.
    public static let progress = Interval.seconds(20)
}
