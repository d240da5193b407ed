// Labels for the names in the API, and formats of numbers, sizes and times.

export const services = ['lifecycle', 'fetch', 'push', 'transfer']

/** The immediate results of a push, best first. */
export const outcomes = ['delivered', 'stored', 'held', 'replaced', 'discarded']

/** The first word of the statuses of each result. */
export const statusesOf = outcome => `${outcome[0].toUpperCase()}${outcome.slice(1)}*`

export const verdicts = { inTime: 'in time', late: 'late', never: 'never', pending: 'pending', refused: 'refused' }

/** The states of a live stream. */
export const streamStates = { connecting: 'connecting', live: 'live', waiting: 'connection lost; retrying', ended: 'ended' }

/** The profiles of devices. */
export const profiles = ['ios6', 'ios7', 'ios9', 'ios12', 'ios13', 'ios15', 'ios16', 'ios17', 'ios18', 'ios26']

/** The states of an app, most active first. */
export const states = ['active', 'inactive', 'background', 'suspended', 'notRunning']

const words = {
  notRunning: 'not running',
  // Authorizations for notifications.
  notDetermined: 'not determined', denied: 'denied', authorized: 'authorized', provisional: 'provisional',
  // Reasons of granted wakes.
  fetch: 'Background fetch', push: 'Silent push', transfer: 'Background URL session', location: 'Location',
  task: 'BGTaskScheduler', notificationResponse: 'Answer to a notification', voip: 'VoIP', bluetooth: 'Core Bluetooth', health: 'HealthKit',
  // Reasons of refused wakes.
  notInstalled: 'Not installed', unsupportedOnProfile: 'Not in this version of iOS', deviceOff: 'Device is off',
  forceQuit: 'Force-quit by the user', modeNotDeclared: 'Background mode not declared',
  backgroundRefreshDenied: 'Background App Refresh is off',
  backgroundRefreshRestricted: 'Background App Refresh is restricted', lowPowerMode: 'Low Power Mode', lowDataMode: 'Low Data Mode',
  inForeground: 'App is on screen', memoryPressure: 'Memory pressure', terminating: 'App is being terminated',
  locationNotAuthorized: 'Location authorization is not “Always”', alreadyWokenToday: 'Already woken today (Newsstand)',
  resumedTooOften: 'Resumed for VoIP too often', callsNotReported: 'VoIP pushes without a call',
  // Reasons of terminations.
  crash: 'Crashed', exit: 'Exited by itself', exitedOnSuspend: 'Exits on suspend',
  launchTimeout: 'Launch timed out', didEnterBackgroundTimeout: 'didEnterBackground timed out',
  backgroundTaskTimeout: 'Background task not ended', fetchTimeout: 'performFetch timed out',
  powerOff: 'Device turned off', updated: 'Updated', uninstalled: 'Uninstalled',
  pushTimeout: 'Push handler timed out', transferTimeout: 'URL session events timed out',
  taskRequestTimeout: 'BGTask not completed', thermal: 'Device too hot',
  fileLockHeld: 'Suspended with a file lock', voipWithoutCall: 'VoIP push without a call',
  voipResumedTooOften: 'Resumed for VoIP too often', uiOffMainThread: 'UI off the main thread',
  uiInBackground: 'UI in the background',
}

/** Returns the label of a name in the API, or the name itself. */
export const word = name => Object.hasOwn(words, name) ? words[name] : String(name)

/** Returns the profile as Apple writes it: `ios18` becomes `iOS 18`. */
export const system = profile => String(profile).replace(/^ios(?=\d)/, 'iOS ')

const transferErrors = {
  '-999': 'cancelled', '-1001': 'timed out', '-1002': 'unsupported URL', '-1003': 'cannot find host', '-1004': 'cannot connect to host',
  '-1005': 'connection lost', '-1009': 'not connected to the internet', '-1011': 'bad server response', '-3000': 'cannot create file',
}

/** What a waiting transfer waits for. */
export const waits = {
  waitingForConnectivity: 'for a network', waitingForWiFi: 'for Wi-Fi', waitingForPower: 'for power', waitingForBeginDate: 'for its begin date',
  waitingForAuthentication: 'for authentication', waitingForDelegate: 'for the app', queuedPerHost: 'for other tasks of its host',
  rateLimited: 'for the rate limiter', backingOff: 'before the next attempt',
}

/** Returns the meaning of a code of `NSURLErrorDomain`. */
export const transferError = code => transferErrors[code] ?? `NSURLErrorDomain ${code}`

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const precise = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

export const number = value => whole.format(value ?? 0)

export const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many}`

/** Formats 1234567 as `1.2 MB`; units are decimal, as on Apple systems. */
export function bytes(value) {
  let size = value ?? 0
  for (const unit of ['bytes', 'kB', 'MB', 'GB', 'TB']) {
    if (size < 1000 || unit === 'TB') return `${unit === 'bytes' ? number(size) : precise.format(size)}\u00A0${unit}`
    size /= 1000
  }
}

/** Formats a duration in its two largest units. */
export function span(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 10) return `${precise.format(seconds)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const parts = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]]
  const first = parts.findIndex(([, size]) => seconds >= size)
  const [unit, size] = parts[first]
  const [smaller, smallerSize] = parts[first + 1]
  const rest = Math.floor((seconds % size) / smallerSize)
  return `${Math.floor(seconds / size)} ${unit}` + (rest > 0 ? ` ${rest} ${smaller}` : '')
}

// Times are suite time in UTC, as in the API.
export const timeOfDay = iso => String(iso).slice(11, 19)
export const timeWithMilliseconds = iso => String(iso).slice(11, 23)
export const day = iso => String(iso).slice(0, 10)
export const dayAndTime = iso => `${String(iso).slice(5, 10)} ${String(iso).slice(11, 19)}`
export const minuteOfDay = iso => String(iso).slice(11, 16)
export const dayOfYear = iso => String(iso).slice(5, 10)
export const dateAndTime = iso => `${String(iso).slice(0, 10)} ${String(iso).slice(11, 19)}`

/** Returns the service of an event; the source of a CloudEvent is `/lifecycle`. */
export const serviceOf = event => String(event.service ?? event.source ?? '').replace(/^\//, '')

/** Returns the device and the app of an event from its subject, `device:NAME` or `device:NAME/APP`. */
export function subjectOf(event) {
  const match = /^device:([^/]+)(?:\/(.+))?$/.exec(event.subject ?? '')
  return { device: match?.[1], app: match?.[2] ?? event.app }
}

/** Returns the type without the service, which the row shows separately. */
export const shortType = event => String(event.type).replace(serviceOf(event) + '.', '')
