// The "why?" dialog: the causal chain of an event over all services, and what explains the fate of a notification.

import { get, segment } from './api.js'
import { change, changed, toDevice } from './address.js'
import { $, h, say } from './dom.js'
import { copier } from './files.js'
import { sentence } from './sentences.js'
import { plural, serviceOf, shortType, span, subjectOf, timeWithMilliseconds, dateAndTime } from './words.js'

const dialog = $('why')
const chain = $('why-chain')
let asking
/** The event of the open dialog. */
let shown

$('why-close').addEventListener('click', () => dialog.close())
$('why-link').prepend(copier(() => location.href, 'Copy the link'))
// Closing removes the event from the address. After Back, the address no longer has it.
dialog.addEventListener('close', () => {
  asking?.abort()
  shown = undefined
  change({ why: '' })
})
// A click on the backdrop closes the dialog.
dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close() })

/** Shows the event of the address, or closes the dialog if the address has none. */
export function showWhy(id) {
  if (id === shown) return
  shown = id
  if (id) askWhy(id)
  else if (dialog.open) dialog.close()
}

async function askWhy(id) {
  asking?.abort()
  const { signal } = asking = new AbortController()
  chain.replaceChildren()
  say($('why-lead'), 'Reading the log…')
  if (!dialog.open) dialog.showModal()
  $('why-title').focus()
  try {
    const { causes, complete, event, effects, reasons } = await get(`v1/events/${segment(id)}/causes`, signal)
    const all = [...causes, event, ...effects]
    const known = new Map(all.map(each => [each.id, each]))
    // A reason may be a cause, or the reason of two waits. The latest reason comes first.
    const others = new Map(reasons.filter(each => !known.has(each.event.id)).map(each => [each.event.id, each]))
    const explaining = [...others.values()].reverse()
    chain.replaceChildren(
      ...explaining.map(each => entry(each.event, undefined, 'reason', reasonWords[each.reason])),
      ...all.map((each, index) => entry(each, known.get(each.causationid), index < causes.length
        ? 'cause' : each === event ? 'asked' : 'effect')))
    say($('why-lead'), lead(causes, event, effects, complete, explaining.length))
    // In a long chain, the selected event must be visible.
    chain.querySelector('.asked')?.scrollIntoView({ block: 'nearest' })
  } catch (error) {
    if (signal.aborted) return
    say($('why-lead'), error.status === 404 ? 'The log no longer has this event.'
      : error.status > 0 ? `The request failed: ${error.message}.` : 'ops does not answer. Reload the page to try again.')
  }
}

function lead(causes, event, effects, complete, explaining) {
  const before = causes.length > 0
    ? `${plural(causes.length, 'event', 'events')} led to it`
    : event.causationid ? 'The log no longer has its cause'
      : event.actor ? `A command of ${event.actor.replace(':', ' ')} caused it` : 'A command or a deadline caused it'
  const after = effects.length > 0 ? `${plural(effects.length, 'event', 'events')} followed`
    : complete ? 'no event followed' : 'only a part of the later events was searched'
  const reasons = explaining > 0 ? `${plural(explaining, 'earlier event explains', 'earlier events explain')} it; ` : ''
  return `${reasons}${reasons ? before.replace(/^[AT]/, letter => letter.toLowerCase()) : before}; ${after}${effects.length > 0 && !complete ? ', perhaps more' : ''}.`
}

const roles = { cause: 'cause', asked: 'this event', effect: 'effect' }
const reasonWords = {
  appEnd: 'end of the app', budget: 'charge to the budget', conditions: 'conditions', disconnection: 'disconnection',
  refusal: 'refusal', replacement: 'newer notification', settings: 'state of the app', wait: 'wait' }

function entry(event, cause, role, reasonWord) {
  const { device, app } = subjectOf(event)
  const words = role === 'reason' ? reasonWord : roles[role]
  const after = cause && Date.parse(event.time) - Date.parse(cause.time)
  return h('li', { class: role, dataset: { key: event.id }, 'aria-current': role === 'asked' && 'true' },
    h('p', { class: 'line' },
      h('span', { class: 'role' }, words),
      h('span', { class: `badge of-${serviceOf(event)}` }, serviceOf(event)),
      h('strong', {}, sentence(event)), h('span', { class: 'type muted' }, shortType(event))),
    h('p', { class: 'muted line' },
      h('time', { datetime: event.time }, `${dateAndTime(event.time).slice(0, 10)} ${timeWithMilliseconds(event.time)}`),
      after > 0 && h('span', {}, `${span(after)} after its cause`),
      device && h('a', { href: toDevice(device) }, device),
      app && h('span', {}, app),
      role !== 'asked' && h('a', { href: changed({ why: event.id }) }, 'why this?')),
    value(withoutApp(event.data, app)),
    source(event))
}

/** The whole event, and its id to copy. */
function source(event) {
  const text = () => JSON.stringify(event, null, 2)
  return h('details', { class: 'source', 'aria-label': `JSON of ${event.type}` },
    h('summary', {}, 'Event as JSON'),
    h('p', { class: 'line' }, h('code', {}, event.id), copier(() => event.id, 'Copy the id'), copier(text, 'Copy the JSON')),
    h('pre', { tabindex: '0' }, text()))
}

/** Returns the data without the app, which the line above shows. */
function withoutApp(data, app) {
  if (data === null || typeof data !== 'object' || data.app !== app) return data
  const { app: _, ...rest } = data
  return rest
}

/** Renders JSON: objects as pairs of paths and values, lists of objects as tables, all else as text. */
export function value(data) {
  if (data === null || typeof data !== 'object') return document.createTextNode(data === null ? '–' : String(data))
  if (Array.isArray(data)) {
    if (data.length === 0) return document.createTextNode('none')
    if (data.every(item => item === null || typeof item !== 'object')) return document.createTextNode(data.join(', '))
    if (data.every(item => item !== null && typeof item === 'object' && !Array.isArray(item))) return table(data)
    return h('pre', {}, JSON.stringify(data, null, 1))
  }
  const members = flat(data)
  if (members.length === 0) return document.createTextNode('no data')
  return h('dl', { class: 'data' }, members.map(([name, member]) => h('div', {}, h('dt', {}, name), h('dd', {}, value(member)))))
}

/** Returns the members of an object. Nested members have paths: `aps.alert.title`. */
function flat(data) {
  return Object.entries(data).flatMap(([name, member]) => {
    const isObject = member !== null && typeof member === 'object' && !Array.isArray(member) && Object.keys(member).length > 0
    return isObject ? flat(member).map(([inner, value]) => [`${name}.${inner}`, value]) : [[name, member]]
  })
}

function table(items) {
  const names = [...new Set(items.flatMap(Object.keys))]
  return h('div', { class: 'scroll', tabindex: '0' }, h('table', {},
    h('thead', {}, h('tr', {}, names.map(name => h('th', { scope: 'col' }, name)))),
    h('tbody', {}, items.map(item => h('tr', {}, names.map(name => h('td', {}, Object.hasOwn(item, name) ? value(item[name]) : '')))))))
}
