// The page of services: the consumers of the log, and dead letters with replay and discard.

import { credentials, get, idempotencyKey, path, segment, send } from './api.js'
import { to, toDevice } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { dateAndTime, number, plural, span } from './words.js'

/** A consumer is marked as behind if its oldest unread event is older than this, in milliseconds. */
const patience = 5000
const orders = {
  replay: { name: 'Replay', words: 'The service processes the parked inputs in order. If the input at fault fails again, the device stays parked.' },
  discard: { name: 'Discard', words: 'The service drops the input at fault for ever, and processes the inputs after it.' },
}

export class Services {
  constructor(failed) {
    this.failed = failed
    this.dialog = $('confirm')
    $('confirm-cancel').addEventListener('click', () => this.dialog.close())
    $('confirm-do').addEventListener('click', () => this.carryOut())
  }

  open() { say($('letters-lead'), 'Reading …') }

  close() { if (this.dialog.open) this.dialog.close() }

  async refresh(signal) {
    const [consumers, letters] = await Promise.all([
      get('v1/consumers', signal), get(path('v1/dead-letters', { limit: 100 }), signal)])
    writeConsumers($('consumer-rows'), consumers.items)
    const parked = byDevice(letters.items, letters.next !== null)
    keyed($('letter-rows'), parked, letter => `${letter.service} ${letter.key}`, letter => this.row(letter), fill)
    show($('letters-table'), parked.length > 0)
    show($('letters-orders'), credentials.mayOperate)
    say($('letters-lead'), parked.length === 0 ? 'No device is parked: every service has processed its inputs.'
      : `${letters.next ? 'At least ' : ''}${plural(parked.length, 'device is parked', 'devices are parked')}. A parked device gets no further events of this service.${
        credentials.mayOperate ? '' : ' A key with the scope operate can replay or discard the input at fault.'}`)
  }

  row(letter) {
    const device = letter.key.replace(/^device:/, '')
    return h('tr', {},
      h('th', { scope: 'row' }, h('a', { href: toDevice(device) }, device)), h('td', {}, letter.service),
      h('td', {}), h('td', {}),
      credentials.mayOperate && h('td', { class: 'orders' }, Object.entries(orders).map(([order, { name }]) =>
        h('button', { type: 'button', onclick: () => this.confirm(order, letter) }, name))))
  }

  confirm(order, letter) {
    // A second try after a failure has the same key, so that the service acts once.
    this.order = { order, letter, key: idempotencyKey() }
    say($('confirm-title'), `${orders[order].name} the dead letter of ${letter.key} in ${letter.service}?`)
    say($('confirm-words'), orders[order].words)
    say($('confirm-fault'), '')
    say($('confirm-do'), orders[order].name)
    $('confirm-do').disabled = false
    this.dialog.showModal()
    $('confirm-cancel').focus()
  }

  async carryOut() {
    const { order, letter, key } = this.order
    $('confirm-do').disabled = true
    say($('confirm-fault'), '')
    try {
      const { taken } = await send('POST', `v1/dead-letters/${segment(letter.service)}/${segment(letter.key)}/${order}`, undefined, { idempotency: key, patience: 90_000 })
      this.dialog.close()
      say($('letters-done'), `${letter.service} has processed ${plural(taken, 'input', 'inputs')} of ${letter.key}.`)
      await this.refresh()
    } catch (error) {
      say($('confirm-fault'), error.status === 403 ? 'This key lacks the scope operate.'
        : error.status === 0 ? 'ops does not answer. Try again.' : error.message)
    } finally { $('confirm-do').disabled = false }
  }
}

/** Returns the input at fault of each parked device and service, with the number of inputs that wait behind it. If the list
 *  is cut, there may be more of them. */
function byDevice(letters, isCut) {
  const parked = Map.groupBy(letters, letter => `${letter.service} ${letter.key}`)
  return [...parked.values()].map(all => ({
    ...all.find(letter => letter.reason) ?? all[0], waiting: all.length - 1, isCut }))
}

function fill(element, letter) {
  const [, , reason, since] = element.children
  const behind = letter.waiting > 0 && `${letter.isCut ? 'at least ' : ''}${plural(letter.waiting, 'input waits', 'inputs wait')} behind it`
  say(reason, [letter.reason ?? '–', behind].filter(Boolean).join('; '))
  since.replaceChildren(dateAndTime(letter.parkedAt), ...(letter.position
    ? [' ', h('a', { class: 'why', href: to('services', { why: letter.position }), 'aria-label': `Why is ${letter.key} parked?` }, 'why?')] : []))
}

/** Fills the table of consumers. */
export function writeConsumers(table, consumers) {
  keyed(table, consumers, each => each.name,
    each => h('tr', {}, h('th', { scope: 'row' }, each.name), h('td', { class: 'number' }), h('td')),
    (row, each) => {
      const behind = each.partitions.filter(partition => partition.lag > 0).length
      const unowned = each.partitions.filter(partition => !partition.owner).length
      // Append times are real time. A short wait is normal.
      const waiting = each.waitingSince === null ? 0 : Date.now() - Date.parse(each.waitingSince)
      row.className = waiting > patience ? 'is-behind' : ''
      say(row.children[1], number(each.lag))
      say(row.children[2], each.waitingSince === null ? (unowned > 0 ? `up to date; ${unowned} of ${each.partitions.length} partitions have no owner` : 'up to date')
        : `${span(waiting)}, behind in ${behind} of ${each.partitions.length} partitions`)
    })
}
