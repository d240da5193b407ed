/// Example answers for the API description and the README: a phone whose app `mail` has just left the screen. The tests
/// decode each of them like its route's answer, and compare it with the README.
enum Example {
    static let device = """
        {"apps": {}, "switcher": [], "isPoweredOn": true, "isAwake": true, "backgroundRefresh": "on",
         "conditions": {"battery": {"charging": false, "level": 1}, "bluetooth": "on",
          "locked": false, "lowPowerMode": false,
          "location": {"accuracyMeters": 20, "latitude": 48.85, "longitude": 2.35}, "memoryPressure": "normal",
          "network": {"constrained": false, "expensive": false, "kind": "wifi"}, "thermal": "nominal", "tower": "208-1-77"},
         "registration": {"cellular": true, "fleet": "demo", "gps": true, "memoryMB": 6144, "model": "iPhone15,2",
          "multitasking": true, "profile": "ios15", "timeZone": "Europe/Paris"},
         "restrictions": {"backgroundRefresh": false}}
        """

    static let app = """
        {"state": "background", "stateSince": "2026-11-22T02:34:51.613Z", "launchedAt": "2026-11-22T02:34:51.156Z",
         "manifest": {"backgroundModes": ["fetch", "remote-notification"], "exitsOnSuspend": false,
          "handlersReturn": "reported", "memoryMB": 120, "notificationServiceExtension": false,
          "permittedTaskIdentifiers": ["mail.refresh"], "scenes": false},
         "pendingCallbacks": [{"callback": "didEnterBackground", "deadline": "2026-11-22T02:34:56.613Z"}],
         "tasks": {"01a2011b-3b10-71e6-b1b4-dfd6cb32bb5f": {"begunAt": "2026-11-22T02:34:51.536Z",
          "expirationHandler": true, "isExpiring": false, "name": "save"}},
         "taskClock": "2026-11-22T02:34:51.613Z", "taskTime": 30, "activities": {}, "wakes": {}, "completedWakes": [],
         "backgroundRefresh": "on", "locationAccuracy": "full", "locationAuthorization": "always", "forceQuit": false,
         "notifications": {"alert": "on", "authorization": "authorized", "badge": "on", "criticalAlert": "off",
          "scheduledDelivery": "off", "sound": "on", "timeSensitive": "off"},
         "regions": {"home": {"isInside": true, "region": {"latitude": 48.85, "longitude": 2.35, "notifyOnEntry": true,
          "notifyOnExit": true, "radiusMeters": 300}}},
         "beaconRegions": {}, "monitors": {},
         "holdsFileLock": false, "localNotifications": 0, "bluetooth": {}, "health": {}, "monitorsVisits": false,
         "isSceneConnected": false, "voipResumptions": [], "unreportedCalls": [],
         "energy": {"bytesReceived": 0, "launches": 500, "meteredAt": "2026-11-22T02:34:51.463Z",
          "monitoring": 3, "monitoringBytes": 0, "monitoringMilliwatts": 20, "updates": 0, "updatesMilliwatts": 0,
          "wakes": 0},
         "exits": {"background": {}, "foreground": {"crash": 1}},
         "lastEnd": {"at": "2026-11-22T02:34:51.099Z", "from": "active", "reason": "crash", "sinceLaunch": 0.128}}
        """

    static let switcher = """
        {"items": [{"app": "mail", "processAlive": true, "snapshotLabel": "inbox",
          "snapshotTakenAt": "2026-11-22T02:34:51.699Z"}], "next": null}
        """

    static let backgroundTime = #"{"secondsRemaining": 29.626, "unlimited": false}"#

    static let backgroundRefresh = #"{"status": "available"}"#

    static let terminations = """
        {"items": [{"at": "2026-11-22T02:35:21.613Z", "backgroundTimeRemaining": 0, "code": "0x2182bad2",
          "from": "background", "reason": "backgroundTaskTimeout", "sinceLaunch": 30.457}], "next": null,
         "counts": {"background": {"backgroundTaskTimeout": 1}, "foreground": {}},
         "exitData": {"backgroundExitData": {"cumulativeAbnormalExitCount": 0, "cumulativeAppWatchdogExitCount": 0,
           "cumulativeBackgroundTaskAssertionTimeoutExitCount": 1, "cumulativeMemoryPressureExitCount": 0,
           "cumulativeNormalAppExitCount": 0, "cumulativeSuspendedWithLockedFileExitCount": 0},
          "foregroundExitData": {"cumulativeAbnormalExitCount": 0, "cumulativeAppWatchdogExitCount": 0,
           "cumulativeMemoryResourceLimitExitCount": 0, "cumulativeNormalAppExitCount": 0}}}
        """

    static let fleetTerminations = """
        {"fleet": "demo", "devices": 1, "counts": {"background": {}, "foreground": {"crash": 1}},
         "exitData": {"backgroundExitData": {"cumulativeAbnormalExitCount": 0, "cumulativeAppWatchdogExitCount": 0,
           "cumulativeBackgroundTaskAssertionTimeoutExitCount": 0, "cumulativeMemoryPressureExitCount": 0,
           "cumulativeNormalAppExitCount": 0, "cumulativeSuspendedWithLockedFileExitCount": 0},
          "foregroundExitData": {"cumulativeAbnormalExitCount": 1, "cumulativeAppWatchdogExitCount": 0,
           "cumulativeMemoryResourceLimitExitCount": 0, "cumulativeNormalAppExitCount": 0}}}
        """

    /// Shortened to the first kind of wake, with a few of its factors.
    static let explanation = """
        {"app": "mail", "state": "background", "since": "2026-11-22T02:34:51.613Z", "backgroundRefresh": "denied",
         "because": "Work prevents its suspension: task save.",
         "heldBy": [{"deadline": "2026-11-22T02:35:21.613Z", "kind": "task", "name": "save",
          "otherwise": "backgroundTaskTimeout"}],
         "launch": {"energy": 10, "start": "running", "time": 0},
         "next": {"at": "2026-11-22T02:35:16.613Z", "end": null},
         "readings": [],
         "wakes": [{"kind": "fetch", "reason": "fetch", "wouldWake": false, "refusal": "backgroundRefreshDenied",
          "limitSeconds": 30, "factors": [{"blocks": false, "factor": "notInstalled"},
           {"blocks": false, "factor": "forceQuit"}, {"blocks": true, "factor": "backgroundRefreshDenied"}]}],
         "energy": {"bytesReceived": 0, "launches": 500, "meteredAt": "2026-11-22T02:34:52.207Z",
          "monitoring": 17, "monitoringBytes": 0, "monitoringMilliwatts": 20, "updates": 0, "updatesMilliwatts": 0,
          "wakes": 0}}
        """

    /// Shortened to some members of one profile, and some readings.
    static let profiles = """
        {"ios15": {"features": {"backgroundAppRefresh": true, "backgroundFetch": true, "newsstand": false, "prewarming": true},
         "limits": {"backgroundTasks": 30, "backgroundTasksInLowPowerMode": 15, "didEnterBackground": 5, "fetchHandler": 30}},
         "readings": {"appSwitcher": "apple", "resourceTimeout": "document"}}
        """

    static let orders = """
        {"items": [{"app": "mail", "data": {"callbacks": ["willResignActive", "didEnterBackground"], "cause": "home",
           "taskSeconds": 30}, "deadline": "2026-11-22T02:34:56.613Z", "device": "phone-1",
          "issuedAt": "2026-11-22T02:34:51.613Z", "name": "didEnterBackground", "order": "4:16", "type": "callback"}],
         "next": "4:16"}
        """

    static let orderStream = """
        : open

        id: 4:21
        data: {"app":"mail","data":{"callbacks":["performFetch"],"kind":"fetch","limitSeconds":30,"payload":null,\
        "reason":"fetch","request":"f-1","wake":"01a2011b-4c02-7d10-8a53-0d6f9f1b2c3d"},\
        "deadline":"2026-11-22T02:40:30.000Z","device":"phone-1","issuedAt":"2026-11-22T02:40:00.000Z",\
        "name":"performFetch","order":"4:21","type":"wake"}


        """

    static let fleetOrderStream = """
        : open

        id: 3:8,4:23
        data: {"app":"mail","data":{},"deadline":null,"device":"phone-1","issuedAt":"2026-11-22T02:40:04.100Z",\
        "name":"suspend","order":"4:23","type":"suspend"}


        """

    static let keys = """
        {"keys": [{"alg": "ES256", "crv": "P-256", "kid": "lifecycle-1", "kty": "EC", "use": "sig",
          "x": "bi59Zzs-4b__9NFSBUecf5vJfRncqC5wgb1afSrdRA4", "y": "VVctwDYNgryGZSWerNSmOyLkYjr9t95I6_8DqSC4GAg"}]}
        """
}
