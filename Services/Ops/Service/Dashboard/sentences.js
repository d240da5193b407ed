// Events as plain sentences, and the events that repeat others.

import { bytes, serviceOf, span, transferError, word } from './words.js'

const reason = data => data.reason ? `: ${word(data.reason)}` : ''
const status = data => data.status ?? ''
/** The reason in a status: `Held – Silent Budget` becomes `Silent Budget`. */
const after = data => status(data).split(' – ')[1] ?? 'no reason'
const took = data => data.elapsedSeconds === undefined ? '' : ` after ${span(data.elapsedSeconds * 1000)}`

/** Sentences by type, without device and app. */
const sentences = {
  'lifecycle.app.activated': () => 'App came to the screen',
  'lifecycle.app.backgrounded': () => 'App went to the background',
  'lifecycle.app.installed': () => 'App was installed',
  'lifecycle.app.launched': () => 'App was launched',
  'lifecycle.app.suspended': () => 'App was suspended',
  'lifecycle.app.terminated': data => `App ended${reason(data)}${data.code ? ` (${data.code})` : ''}`,
  'lifecycle.app.uninstalled': () => 'App was uninstalled',
  'lifecycle.app.woken': data => `App was woken${reason(data)}`,
  'lifecycle.wake.refused': data => `Wake was refused: ${word(data.refusal)}`,
  'lifecycle.wake.completed': () => 'App finished its wake',
  'lifecycle.wake.expired': () => 'Time of the wake ran out',
  'lifecycle.callback.completed': data => `App returned from ${data.callback}`,
  'lifecycle.device.registered': () => 'Device was registered',
  'lifecycle.device.awoke': () => 'Device awoke',
  'lifecycle.device.slept': () => 'Device went to sleep',
  'lifecycle.conditions.changed': data => `Conditions changed: ${listed(data.conditions)}`,
  'fetch.refresh.scheduled': data => data.blockers?.length > 0 ? `Refresh waits: ${data.blockers.map(words).join(', ')}`
    : data.at ? `Next refresh at ${String(data.at).slice(11, 19)}` : 'Refresh was planned',
  'fetch.refresh.due': () => 'Refresh is due',
  'fetch.refresh.started': () => 'App started its refresh',
  'fetch.refresh.recorded': data => `Refresh ended: ${words(data.result)}${took(data)}`,
  'push.device.connected': () => 'Device connected to push',
  'push.device.disconnected': data => `Device lost its push connection${data.cause ? `: ${words(data.cause)}` : ''}`,
  'push.notification.received': data => `Provider sent a push (${data.silent ? 'silent' : data.pushType ?? 'alert'})`,
  'push.notification.delivered': data => data.fromStorage ? 'Push was delivered from storage' : 'Push was delivered',
  'push.notification.stored': data => `Push is stored: ${after(data)}`,
  'push.notification.held': data => `Push is held: ${after(data)}`,
  'push.notification.released': data => `Push is released: ${after(data)}`,
  'push.notification.discarded': data => `Push was discarded: ${after(data)}`,
  'push.notification.refused': data => `APNs refused a push: ${after(data)}`,
  'push.budget.changed': data => data.charged ? 'Silent budget was charged' : 'Silent budget changed',
  'push.notification.replaced': () => 'Push was replaced by a newer one',
  'push.notification.acknowledged': data => data.arrived ? 'Push arrived' : 'Device acknowledged the push',
  'push.wake.requested': () => 'Push asked for a wake',
  'push.wake.granted': () => 'Push woke the app',
  'push.wake.refused': data => `Push did not wake the app: ${word(data.refusal)}`,
  'push.wake.completed': data => `App handled the push: ${words(data.result)}`,
  'transfer.progress.made': data => `Received ${bytes(data.totalBytesWritten)}${of(data.totalBytesExpectedToWrite)}`,
  'transfer.body.sent': data => `Sent ${bytes(data.totalBytesSent)}${of(data.totalBytesExpectedToSend)}`,
  'transfer.task.completed': data => data.error ? `Transfer failed: ${transferError(data.error.code)}` : 'Transfer completed',
  'transfer.task.held': data => `Transfer waits${data.waiting ? `: ${words(data.waiting)}` : ''}`,
}

const of = whole => whole > 0 ? ` of ${bytes(whole)}` : ''

/** Splits a name in camel case: `noData` becomes `no data`. */
const words = name => String(name ?? '').replace(/(?<=[a-z])[A-Z]/g, letter => ` ${letter.toLowerCase()}`)

function listed(data) {
  const members = Object.entries(data ?? {}).filter(([, value]) => value === null || typeof value !== 'object' || Array.isArray(value) === false)
  return members.map(([name, value]) => value !== null && typeof value === 'object' ? words(name)
    : value === true ? words(name) : value === false ? `not ${words(name)}` : `${words(name)} ${value}`).slice(0, 4).join(', ') || 'see the event'
}

/** Returns what happened, as a sentence without device and app. */
export function sentence(event) {
  const data = event.data ?? {}
  const own = sentences[event.type]
  if (own) return own(data)
  const [, noun = '', verb = ''] = event.type.split('.')
  const text = `${words(noun)} ${words(verb)}`
  const rest = status(data) || [data.refusal, data.reason, data.cause, data.result].filter(each => typeof each === 'string').map(word)[0] || ''
  return `${text[0].toUpperCase()}${text.slice(1)}${rest ? `: ${rest}` : ''}`
}

/** Returns whether an event only repeats for another service what `lifecycle` has told. */
export function isEcho(event) {
  return serviceOf(event) !== 'lifecycle' && /^(fetch|push|transfer)\.(app|presence|device|conditions)\.(updated|changed|removed)$/.test(event.type)
}
